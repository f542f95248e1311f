//! Ships, ports, arrivals and the plug-in, as clients see them.

#![allow(clippy::unwrap_used, reason = "test code")]

use apiserver::testing::{Kubectl, TestCluster, TestServer};

const EMMA: &str = "
apiVersion: fleet.example.dev/v1
kind: Ship
metadata: {name: emma}
";
const ARRIVAL: &str = "create --raw /apis/fleet.example.dev/v1/namespaces/default/ships/emma/arrival -f -";

/// Returns the body of an arrival in a port.
fn port(name: &str) -> String {
    format!(r#"{{"apiVersion": "fleet.example.dev/v1", "kind": "Port", "metadata": {{"name": "{name}"}}}}"#)
}

async fn start() -> TestServer {
    let builder = TestServer::builder().memory().storage_map(&fleet::STORAGE_MAP);
    builder.customize(fleet::customize).start().await.unwrap()
}

/// Checks that a ship arrives, and that ports are counted.
async fn check(kubectl: &Kubectl) {
    kubectl.run_with_input("create -f -", EMMA).await;
    assert_eq!(kubectl.run("get ports -o name").await, "");
    let answer = kubectl.run_with_input(ARRIVAL, &port("lisbon")).await;
    assert!(answer.contains(r#""status":"Success""#), "{answer}");
    let spec = kubectl.run("get ship emma -o jsonpath={.spec}").await;
    assert_eq!(spec, r#"{"port":"lisbon"}"#);
    kubectl.run_with_input("create -f -", &EMMA.replace("emma}", "jane}\nspec: {port: lisbon}")).await;
    let table = kubectl.run("get ports --no-headers").await;
    assert_eq!(table.split_whitespace().take(2).collect::<Vec<_>>(), ["lisbon", "2"], "{table}");
    assert_eq!(kubectl.run("get port lisbon -o jsonpath={.kind}{.ships}").await, "Port2");
    let none = kubectl.run("get ports --field-selector=metadata.name=cork -o name").await;
    assert_eq!(none, "");
    kubectl.run("create namespace north").await;
    kubectl.run_with_input("create -n north -f -", &EMMA.replace("emma}", "jane}\nspec: {port: cork}")).await;
    assert_eq!(
        kubectl
            .run("get ports -A -o jsonpath={range.items[*]}{.metadata.namespace}/{.metadata.name}{','}{end}")
            .await,
        "default/lisbon,north/cork,"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ships_arrive_in_ports_which_are_counted() {
    let server = start().await;
    check(&server.kubectl()).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ships_arrive_behind_a_main_server() {
    let mut cluster = TestCluster::start_customized(&[&fleet::STORAGE_MAP], fleet::customize).await.unwrap();
    check(&cluster.kubectl()).await;
    cluster.stop_extension().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_arrivals_and_writes_of_ports_are_refused() {
    let server = start().await;
    let kubectl = server.kubectl();
    let missing = kubectl.fail_with_input(ARRIVAL, &port("lisbon")).await;
    assert!(missing.contains(r#"ships.fleet.example.dev "emma" not found"#), "{missing}");
    kubectl.run_with_input("create -f -", EMMA).await;
    let unnamed = kubectl.fail_with_input(ARRIVAL, &port("")).await;
    assert!(unnamed.contains("metadata.name: Required value: the port"), "{unnamed}");
    let other = kubectl.fail_with_input(ARRIVAL, EMMA).await;
    assert!(other.contains("Port"), "another kind: {other}");
    kubectl.run_with_input(ARRIVAL, &port("lisbon")).await;
    let twice = kubectl.fail_with_input(ARRIVAL, &port("cork")).await;
    assert!(twice.contains("the ship is in lisbon"), "{twice}");
    let created = kubectl.fail_with_input("create -f -", &port("cork")).await;
    assert!(created.contains("MethodNotAllowed") || created.contains("does not allow"), "{created}");
    let absent = kubectl.fail("get port cork").await;
    assert!(absent.contains(r#"ports.fleet.example.dev "cork" not found"#), "{absent}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_ships_are_in_the_home_port_of_their_namespace() {
    let server = start().await;
    let kubectl = server.kubectl();
    kubectl.run("annotate namespace default fleet.example.dev/home-port=cork").await;
    let dry = "create --dry-run=server -o jsonpath={.spec.port} -f -";
    kubectl.until(dry, EMMA, "cork").await;
    let elsewhere = EMMA.replace("emma}", "emma}\nspec: {port: lisbon}");
    assert_eq!(kubectl.run_with_input(dry, &elsewhere).await, "lisbon");
    server.stop().await;
}
