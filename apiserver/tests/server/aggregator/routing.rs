//! Connections to the endpoints of services, and the identity that extension servers see.

use std::collections::BTreeSet;
use std::net::{SocketAddr, UdpSocket};

use apiserver::testing::TestServer;
use serde_json::{Value, json};

use super::{
    API_SERVICES, Extension, SERVICES, api_service, api_service_path, flunders, local_service, reason,
};
use crate::custom_resources::{Client, condition};

const SLICES: &str = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";

/// Returns an address of this machine that endpoints may have. Nothing is sent.
fn own_address() -> SocketAddr {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.connect("192.0.2.1:9").expect("a machine with a network");
    SocketAddr::new(socket.local_addr().unwrap().ip(), 0)
}

/// Reads until a request is refused.
async fn refusal(client: &mut Client, path: &str) -> (u16, String) {
    loop {
        let answer = client.send("GET", path, &Value::Null).await;
        if answer.status != 200 {
            return (answer.status, answer.text());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_are_spread_over_ready_endpoints() {
    // They have different certificates, which therefore are not verified.
    let first = Extension::start_at("wardle", own_address(), None).await;
    let second = Extension::start_at("wardle", own_address(), None).await;
    let server = TestServer::builder().memory().flag("--enable-aggregator-routing").start().await.unwrap();
    let mut client = Client::connect(&server).await;
    let service =
        json!({ "metadata": { "name": "wardle" }, "spec": { "ports": [{ "name": "https", "port": 443 }] } });
    client.expect(201, "POST", SERVICES, service).await;
    let mut object = api_service(&first, "wardle");
    object["spec"]["service"]["port"] = 443.into();
    object["spec"].as_object_mut().unwrap().remove("caBundle");
    object["spec"]["insecureSkipTLSVerify"] = true.into();
    client.expect(201, "POST", API_SERVICES, object).await;
    client.until(&api_service_path(), |found| reason(found).0 == "EndpointsNotFound").await;
    let slice = |name: &str, extension: &Extension, ready: bool| {
        json!({
            "metadata": { "name": name, "labels": { "kubernetes.io/service-name": "wardle" } },
            "addressType": "IPv4",
            "endpoints": [{ "addresses": [extension.address.ip().to_string()], "conditions": { "ready": ready } }],
            "ports": [{ "name": "https", "port": extension.address.port() }],
        })
    };
    client.expect(201, "POST", SLICES, slice("a", &first, true)).await;
    client.expect(201, "POST", SLICES, slice("b", &second, true)).await;
    client.until(&api_service_path(), |found| condition(found, "Available") == "True").await;
    let mut reached = BTreeSet::new();
    let path = flunders();
    while reached.len() < 2 {
        let shown = client.get(&path).await;
        assert_eq!(shown["version"], "HTTP/2.0");
        reached.insert(shown["at"].as_str().unwrap().to_owned());
    }
    client.expect(200, "PUT", &format!("{SLICES}/b"), slice("b", &second, false)).await;
    // Once the change has arrived, only the first one is used.
    let only = first.address.to_string();
    let mut in_turn = 0;
    while in_turn < 30 {
        let shown = client.get(&path).await;
        in_turn = if shown["at"] == only.as_str() { in_turn + 1 } else { 0 };
    }
    client.expect(200, "DELETE", &format!("{SLICES}/a"), Value::Null).await;
    assert_eq!(refusal(&mut client, &path).await, (503, "service unavailable\n".to_owned()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_go_to_where_the_service_is_now() {
    let first = Extension::start("wardle").await;
    let other = SocketAddr::new("127.0.0.2".parse().unwrap(), first.address.port());
    let second = Extension::start_at("wardle", other, None).await;
    let server = TestServer::builder().memory().reach_local_workloads().start().await.unwrap();
    let mut client = Client::connect(&server).await;
    let mut service = local_service("wardle");
    service["spec"]["externalName"] = first.address.ip().to_string().into();
    let created = client.expect(201, "POST", SERVICES, service).await;
    let mut object = api_service(&first, "wardle");
    object["spec"].as_object_mut().unwrap().remove("caBundle");
    object["spec"]["insecureSkipTLSVerify"] = true.into();
    client.expect(201, "POST", API_SERVICES, object).await;
    client.until(&api_service_path(), |found| condition(found, "Available") == "True").await;
    let path = flunders();
    assert_eq!(client.get(&path).await["at"], first.address.to_string());

    // Connections to the first one stay open, but nothing is sent there once the change has arrived.
    let mut moved = created;
    moved["spec"]["externalName"] = second.address.ip().to_string().into();
    client.expect(200, "PUT", &format!("{SERVICES}/wardle"), moved).await;
    client.until(&path, |shown| shown["at"] == second.address.to_string()).await;
    assert_eq!(client.get(&path).await["at"], second.address.to_string());

    client.expect(200, "DELETE", &format!("{SERVICES}/wardle"), Value::Null).await;
    assert_eq!(refusal(&mut client, &path).await, (503, "service unavailable\n".to_owned()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn extension_servers_can_verify_who_names_the_user() {
    let server = TestServer::builder().memory().reach_local_workloads().start().await.unwrap();
    let mut client = Client::connect(&server).await;
    let path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
    let published = client.until(path, |found| found["kind"] == "ConfigMap").await;
    let data = |key: &str| published["data"][key].as_str().unwrap_or_default().to_owned();
    assert_eq!(data("requestheader-allowed-names"), r#"["front-proxy-client"]"#);
    assert_eq!(data("requestheader-username-headers"), r#"["X-Remote-User"]"#);
    assert_eq!(data("requestheader-uid-headers"), r#"["X-Remote-Uid"]"#);
    assert_eq!(data("requestheader-group-headers"), r#"["X-Remote-Group"]"#);
    assert_eq!(data("requestheader-extra-headers-prefix"), r#"["X-Remote-Extra-"]"#);
    let authority = data("requestheader-client-ca-file");
    let any = "127.0.0.1:0".parse().unwrap();
    let extension = Extension::start_at("wardle", any, Some(&authority)).await;
    client.expect(201, "POST", SERVICES, local_service("wardle")).await;
    client.expect(201, "POST", API_SERVICES, api_service(&extension, "wardle")).await;
    client.until(&api_service_path(), |found| condition(found, "Available") == "True").await;
    assert_eq!(client.get(&flunders()).await["headers"]["x-remote-user"], json!(["admin"]));

    // One that trusts other clients is not available.
    let strict = Extension::start_at("wardle", any, Some(&data("client-ca-file"))).await;
    let mut object = client.get(&api_service_path()).await;
    object["spec"]["service"]["port"] = strict.address.port().into();
    object["spec"]["caBundle"] = strict.ca_bundle.clone().into();
    client.expect(200, "PUT", &api_service_path(), object).await;
    client.until(&api_service_path(), |found| condition(found, "Available") == "False").await;
}
