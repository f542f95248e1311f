//! Uses the zoo as a new user would, with both storage backends, through kubectl and kube-rs's `Api<Enclosure>`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "test code")]

use apiserver::testing::{Kubectl, TestServer};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use registry_core::storage::testing::etcd::Etcd;
use serde_json::json;
use zoo::zoo::enclosure::Enclosure;

const NORTH: &str = "
apiVersion: zoo.example.dev/v1
kind: Enclosure
metadata: {name: north}
spec: {species: Penguin, animals: 2, keeper: ada}
";

/// Starts a zoo server on the embedded store, or on the given etcd.
async fn zoo(etcd: Option<&Etcd>) -> TestServer {
    let builder = TestServer::builder().storage_map(&zoo::STORAGE_MAP);
    let builder = match etcd {
        Some(etcd) => builder.etcd(&etcd.options().endpoints[0], "/registry"),
        None => builder,
    };
    builder.start().await.unwrap()
}

/// Splits the rows of a table into words.
fn rows(table: &str) -> Vec<Vec<&str>> {
    table.lines().map(|line| line.split_whitespace().collect()).collect()
}

#[tokio::test]
async fn kubectl_looks_after_enclosures() {
    look_after_enclosures(zoo(None).await).await;
}

#[tokio::test]
async fn kubectl_looks_after_enclosures_in_etcd() {
    let etcd = Etcd::start().await.unwrap();
    look_after_enclosures(zoo(Some(&etcd)).await).await;
}

async fn look_after_enclosures(server: TestServer) {
    let kubectl = server.kubectl();
    let explained = kubectl.run("explain enclosure.spec").await;
    assert!(explained.contains("The desired state") && explained.contains("species"), "{explained}");

    assert_eq!(
        kubectl.run_with_input("apply -f -", NORTH).await,
        "enclosure.zoo.example.dev/north created\n"
    );
    // The species was stored in lower case; kubectl applies the original again, and nothing changes.
    kubectl.run_with_input("apply -f -", &NORTH.replace("Penguin", "penguin")).await;
    let mut watch = kubectl.watch("get enc --watch --no-headers");
    watch.line_with("north").await;
    kubectl.run("scale enclosure north --replicas=4").await;
    kubectl
        .run(
            r#"patch enc north --subresource=status --type=merge -p {"status":{"phase":"Open","animals":4}}"#,
        )
        .await;
    let open = watch.line_with("Open").await;
    assert_eq!(rows(&open)[0][..4], ["north", "penguin", "4", "Open"]);

    let table = kubectl.run("get enclosures -o wide").await;
    assert_eq!(rows(&table)[0], ["NAME", "SPECIES", "ANIMALS", "PHASE", "KEEPER", "AGE"]);
    assert_eq!(rows(&table)[1][..5], ["north", "penguin", "4", "Open", "ada"]);
    assert!(kubectl.run("get all").await.contains("enclosure.zoo.example.dev/north"));
    assert_eq!(kubectl.run("get enc north -o jsonpath={.spec.animals}").await, "4");
    selecting_and_refusing(&kubectl).await;
    assert!(kubectl.run("delete enc north").await.contains("\"north\" deleted"));
    server.stop().await;
}

async fn selecting_and_refusing(kubectl: &Kubectl) {
    for (selector, found) in [("spec.keeper=ada", "north"), ("status.phase=Closed", "")] {
        let command = format!("get enc --field-selector {selector} -o jsonpath={{.items[*].metadata.name}}");
        assert_eq!(kubectl.run(&command).await, found, "{selector}");
    }
    let unknown = kubectl.fail("get enc --field-selector spec.zork=ada").await;
    assert!(unknown.contains("field label not supported: spec.zork"), "{unknown}");
    kubectl
        .run(r#"patch enc north --type=json -p [{"op":"replace","path":"/spec/keeper","value":"bob"}]"#)
        .await;
    let immutable = kubectl.fail(r#"patch enc north --type=merge -p {"spec":{"species":"lion"}}"#).await;
    assert!(immutable.contains("spec.species: Invalid value: \"lion\": field is immutable"), "{immutable}");
    let negative = kubectl.fail("scale enc north --replicas=-1").await;
    assert!(!negative.is_empty());
}

#[tokio::test]
async fn kube_rs_needs_no_further_code() {
    use_kube_rs(zoo(None).await).await;
}

#[tokio::test]
async fn kube_rs_needs_no_further_code_over_etcd() {
    let etcd = Etcd::start().await.unwrap();
    use_kube_rs(zoo(Some(&etcd)).await).await;
}

async fn use_kube_rs(server: TestServer) {
    let kubeconfig = kube::config::Kubeconfig::read_from(server.kubeconfig_path()).unwrap();
    let config =
        kube::Config::from_custom_kubeconfig(kubeconfig, &kube::config::KubeConfigOptions::default())
            .await
            .unwrap();
    let enclosures: Api<Enclosure> = Api::default_namespaced(kube::Client::try_from(config).unwrap());
    let south = json!({
        "apiVersion": "zoo.example.dev/v1", "kind": "Enclosure",
        "metadata": {"name": "south"}, "spec": {"species": "lion", "animals": 1},
    });
    let created =
        enclosures.create(&PostParams::default(), &serde_json::from_value(south).unwrap()).await.unwrap();
    assert_eq!(created.spec.species, "lion");
    let keeper = Patch::Merge(json!({"spec": {"keeper": "rosa"}}));
    enclosures.patch("south", &PatchParams::default(), &keeper).await.unwrap();
    let rosas = enclosures.list(&ListParams::default().fields("spec.keeper=rosa")).await.unwrap();
    assert_eq!(rosas.items.len(), 1);
    enclosures.delete("south", &DeleteParams::default()).await.unwrap();
    assert!(enclosures.get_opt("south").await.unwrap().is_none());
    server.stop().await;
}
