//! Group versions that extension servers serve.

use std::time::{Duration, Instant};

use apiserver::testing::TestServer;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::client::{ADMIN, Connection, Protocol, request, tls};
use crate::custom_resources::{Client, condition};

mod extension;
mod hostile;
mod local;
mod loopback;
mod routing;

use extension::{Behavior, Extension, GROUP};

const SERVICES: &str = "/api/v1/namespaces/default/services";
const API_SERVICES: &str = "/apis/apiregistration.k8s.io/v1/apiservices";
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

fn flunders() -> String {
    format!("/apis/{GROUP}/v1/namespaces/default/flunders")
}

fn api_service_path() -> String {
    format!("{API_SERVICES}/v1.{GROUP}")
}

fn api_service(extension: &Extension, service: &str) -> Value {
    json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": { "name": format!("v1.{GROUP}") },
        "spec": {
            "group": GROUP, "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10,
            "caBundle": extension.ca_bundle,
            "service": { "namespace": "default", "name": service, "port": extension.address.port() },
        },
    })
}

/// Returns a service at this machine.
fn local_service(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": name },
        "spec": { "type": "ExternalName", "externalName": "localhost" },
    })
}

/// Starts a server with an available extension server behind it.
async fn started() -> (TestServer, Client, Extension) {
    let extension = Extension::start("wardle").await;
    let server = TestServer::builder().memory().reach_local_workloads().start().await.unwrap();
    let mut client = Client::connect(&server).await;
    client.expect(201, "POST", SERVICES, local_service("wardle")).await;
    client.expect(201, "POST", API_SERVICES, api_service(&extension, "wardle")).await;
    client.until(&api_service_path(), |found| condition(found, "Available") == "True").await;
    (server, client, extension)
}

fn reason(object: &Value) -> (&str, &str) {
    let text = |field: &str| object["status"]["conditions"][0][field].as_str().unwrap_or_default();
    (text("reason"), text("message"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_are_forwarded_with_the_user_that_this_server_knows() {
    let (server, mut client, _extension) = started().await;
    let found = client.get(&api_service_path()).await;
    assert_eq!(reason(&found), ("Passed", "all checks passed"));

    for protocol in [Protocol::Http1, Protocol::Http2] {
        let mut connection = Connection::open(&server, protocol).await;
        let request = Request::post(format!("{}?dryRun=All", flunders()))
            .header("host", "localhost")
            .header("authorization", "Bearer admin-token")
            .header("content-type", "application/json")
            .header("X-Remote-User", "system:anonymous")
            .header("X-Remote-Group", "system:nodes")
            .header("X-Remote-Extra-Key", "value")
            .header("X-Remote-Uid", "u")
            .header("x-forwarded-for", "203.0.113.7")
            .header("x-kept", "kept");
        let answer = connection.send(request.body(Full::new("{}".into())).unwrap()).await;
        let shown = answer.json();
        assert_eq!(shown["method"], "POST", "{shown}");
        assert_eq!(shown["target"], format!("{}?dryRun=All", flunders()));
        assert_eq!((&shown["body"], &shown["version"]), (&json!("{}"), &json!("HTTP/2.0")));
        let headers = &shown["headers"];
        assert_eq!(headers["x-remote-user"], json!(["admin"]));
        assert_eq!(headers["x-remote-group"], json!(["system:masters", "system:authenticated"]));
        assert_eq!(headers["x-kept"], json!(["kept"]));
        assert_eq!(
            headers["x-forwarded-for"],
            json!(["203.0.113.7, 127.0.0.1"]),
            "the client's own is added"
        );
        for absent in ["authorization", "x-remote-extra-key"] {
            assert_eq!(headers.get(absent), None, "{absent}");
        }
        assert_ne!(headers["x-remote-uid"], json!(["u"]));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn discovery_and_openapi_show_extension_servers() {
    let (_server, mut client, extension) = started().await;
    let group_path = format!("/apis/{GROUP}");
    let group = client.until(&group_path, |found| found["kind"] == "APIGroup").await;
    assert_eq!(group["preferredVersion"]["version"], "v1");
    let listed = client.get("/apis").await;
    let names: Vec<&str> =
        listed["groups"].as_array().unwrap().iter().map(|group| group["name"].as_str().unwrap()).collect();
    assert!(names.contains(&GROUP) && names.contains(&"apps"), "{names:?}");

    let version = async |client: &mut Client| {
        let request = request("GET", "/apis", &[ADMIN, ("accept", AGGREGATED)], &Value::Null);
        let list = client.0.send(request).await.json();
        let groups = list["items"].as_array().unwrap();
        let group = groups.iter().find(|group| group["metadata"]["name"] == GROUP);
        group.unwrap()["versions"][0].clone()
    };
    let until = async |client: &mut Client, freshness: &str| {
        let begun = Instant::now();
        loop {
            let found = version(client).await;
            if found["freshness"] == freshness {
                return found;
            }
            assert!(begun.elapsed() < Duration::from_secs(20), "it is still {found}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let current = until(&mut client, "Current").await;
    assert_eq!(current["version"], "v1");
    assert_eq!(current["resources"][0]["resource"], "flunders");

    let resources = client.get(&format!("/apis/{GROUP}/v1")).await;
    assert_eq!(resources["resources"][0]["name"], "flunders");
    let index = client.get("/openapi/v3").await;
    let url = format!("/openapi/v3/apis/{GROUP}/v1?hash=abc");
    assert_eq!(index["paths"][format!("apis/{GROUP}/v1")]["serverRelativeURL"], url);
    assert_eq!(index["paths"].get("apis/other.example.com/v1"), None, "another group's");
    assert_eq!(client.get(&url).await["target"], url);

    extension.set(Behavior::Fail);
    let mut object = client.get(&api_service_path()).await;
    object["spec"]["versionPriority"] = json!(11);
    object["spec"]["insecureSkipTLSVerify"] = json!(true);
    object["spec"].as_object_mut().unwrap().remove("caBundle");
    client.expect(200, "PUT", &api_service_path(), object).await;
    client.until(&api_service_path(), |found| condition(found, "Available") == "False").await;
    let stale = until(&mut client, "Stale").await;
    assert_eq!(stale, json!({ "version": "v1", "freshness": "Stale" }));
    // Servers that are not available are asked, too.
    extension.set(Behavior::ServeOnlyDiscovery);
    assert_eq!(until(&mut client, "Current").await, current);
    assert_eq!(condition(&client.get(&api_service_path()).await, "Available"), "False");

    client.expect(200, "DELETE", &api_service_path(), Value::Null).await;
    client.until(&group_path, |found| found["kind"] != "APIGroup").await;
    assert_eq!(client.send("GET", &flunders(), &Value::Null).await.status, 404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn services_that_are_not_there_say_why() {
    let extension = Extension::start("wardle").await;
    let server = TestServer::builder().memory().reach_local_workloads().start().await.unwrap();
    let mut client = Client::connect(&server).await;
    client.expect(201, "POST", API_SERVICES, api_service(&extension, "wardle")).await;
    let wanted = async |client: &mut Client, reason_word: &str| {
        client.until(&api_service_path(), |found| reason(found).0 == reason_word).await
    };
    let found = wanted(&mut client, "ServiceNotFound").await;
    assert_eq!(reason(&found).1, r#"service/wardle in "default" is not present"#);
    let answer = client.send("GET", &flunders(), &Value::Null).await;
    assert_eq!((answer.status, answer.text().as_str()), (503, "service unavailable\n"));

    let port = extension.address.port();
    let mut service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": "wardle" },
        "spec": { "ports": [{ "port": 1 }] },
    });
    client.expect(201, "POST", SERVICES, service.clone()).await;
    let found = wanted(&mut client, "ServicePortError").await;
    assert_eq!(reason(&found).1, format!(r#"service/wardle in "default" is not listening on port {port}"#));
    client.expect(200, "DELETE", &format!("{SERVICES}/wardle"), Value::Null).await;
    service["spec"]["ports"] = json!([{ "port": port, "name": "https" }]);
    client.expect(201, "POST", SERVICES, service).await;
    let found = wanted(&mut client, "EndpointsNotFound").await;
    assert_eq!(reason(&found).1, r#"cannot find endpointslices for service/wardle in "default""#);
    let slice = json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": { "name": "wardle", "labels": { "kubernetes.io/service-name": "wardle" } },
        "endpoints": [{ "addresses": ["10.1.2.3"], "conditions": { "ready": false } }],
        "ports": [{ "name": "https", "port": 443 }],
    });
    client.expect(201, "POST", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", slice).await;
    let found = wanted(&mut client, "MissingEndpoints").await;
    let text = r#"endpointslices for service/wardle in "default" have no addresses with port name "https""#;
    assert_eq!(reason(&found).1, text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watches_are_streamed_and_protocols_changed() {
    let (server, _client, _extension) = started().await;
    let mut watcher = Connection::open(&server, Protocol::Http2).await;
    let mut events = watcher.stream(&format!("{}?watch=true", flunders())).await;
    let mut text = String::new();
    while !text.contains("event 2\n") {
        let frame = tokio::time::timeout(Duration::from_secs(10), events.frame()).await.expect("an event");
        text.push_str(&String::from_utf8_lossy(&frame.unwrap().unwrap().into_data().unwrap()));
    }
    assert!(text.starts_with("event 0\n"), "{text}");

    let mut stream = tls(&server, "http/1.1").await;
    let head = format!(
        "GET {}/x/exec HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer admin-token\r\n\
         connection: Upgrade\r\nupgrade: SPDY/3.1\r\n\r\n",
        flunders()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(stream.read_u8().await.unwrap());
    }
    let answer = String::from_utf8(answer).unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 101") && answer.to_lowercase().contains("upgrade: spdy/3.1"),
        "{answer}"
    );
    stream.write_all(b"there and back").await.unwrap();
    let mut echoed = [0; 14];
    stream.read_exact(&mut echoed).await.unwrap();
    assert_eq!(&echoed, b"there and back");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_extension_server_disturbs_nobody_else() {
    let (_server, mut client, extension) = started().await;
    extension.set(Behavior::Redirect);
    let answer = client.send("GET", &flunders(), &Value::Null).await;
    let text = "the backend attempted to redirect this request, which is not permitted\n";
    assert_eq!((answer.status, answer.text().as_str()), (502, text));

    for behavior in [Behavior::Endless, Behavior::Hang, Behavior::Plain] {
        extension.set(behavior);
        // Another object of the same group version: checked and fetched anew.
        client.expect(200, "DELETE", &api_service_path(), Value::Null).await;
        client.expect(201, "POST", API_SERVICES, api_service(&extension, "wardle")).await;
        let begun = Instant::now();
        assert_eq!(client.get("/apis").await["kind"], "APIGroupList");
        assert_eq!(client.get("/api/v1/namespaces/default").await["kind"], "Namespace");
        assert!(begun.elapsed() < Duration::from_secs(2), "{behavior:?}: {:?}", begun.elapsed());
    }
    client.until(&api_service_path(), |found| condition(found, "Available") == "True").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificates_and_loops_are_refused() {
    let (server, mut client, extension) = started().await;
    let other = Extension::start("another").await;
    let mut object = client.get(&api_service_path()).await;
    object["spec"]["caBundle"] = json!(other.ca_bundle);
    client.expect(200, "PUT", &api_service_path(), object).await;
    let found = client.until(&api_service_path(), |found| condition(found, "Available") == "False").await;
    let (word, message) = reason(&found);
    assert_eq!(word, "FailedDiscoveryCheck");
    assert!(message.contains("failing or missing response from https://localhost:"), "{message}");

    let mut object = client.get(&api_service_path()).await;
    object["spec"]["caBundle"] = json!(extension.ca_bundle);
    object["spec"]["service"]["port"] = json!(server.address().port());
    client.expect(200, "PUT", &api_service_path(), object).await;
    let own = |found: &Value| reason(found).1.contains("is this server's own");
    client.until(&api_service_path(), own).await;
}
