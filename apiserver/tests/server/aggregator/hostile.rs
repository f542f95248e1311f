//! Misbehavior of clients and extension servers.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use apiserver::testing::TestServer;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::{
    AGGREGATED, API_SERVICES, Behavior, Extension, GROUP, SERVICES, api_service, api_service_path, flunders,
    local_service, started,
};
use crate::client::{ADMIN, Connection, Protocol, request, tls};
use crate::custom_resources::{Client, condition};
use crate::peer::acceptor;

/// Sends a request as it is, over HTTP/1.1, and returns the response.
async fn raw(server: &TestServer, request: &str) -> String {
    let mut stream = tls(server, "http/1.1").await;
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // The server may end the connection without notice.
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8(answer).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_header_of_a_client_names_a_user() {
    let (server, _client, _extension) = started().await;
    let token = "authorization: Bearer admin-token\r\nhost: localhost\r\nconnection: close\r\n";
    for smuggled in [
        "X-Remote-User: system:admin",
        "x-remote-user: a\r\nX-REMOTE-USER: b\r\nX-Remote-User:c",
        "X-Remote-Group: system:masters\r\nX-Remote-Group: other",
        "X-Remote-Uid: 0",
        "X-Remote-Extra-Scopes: all\r\nX-Remote-Extra-%73copes: all",
        "connection: X-Remote-User, x-remote-group, x-remote-extra-a\r\nX-Remote-Extra-A: b",
        "connection: authorization\r\nX-Remote-Extra-A: b",
    ] {
        let request = format!("GET {} HTTP/1.1\r\n{token}{smuggled}\r\n\r\n", flunders());
        let answer = raw(&server, &request).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{smuggled}: {answer}");
        let shown: Value = serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
        let headers = shown["headers"].as_object().unwrap();
        assert_eq!(headers["x-remote-user"], json!(["admin"]), "{smuggled}");
        assert_eq!(
            headers["x-remote-group"],
            json!(["system:masters", "system:authenticated"]),
            "{smuggled}"
        );
        let others =
            headers.keys().filter(|name| name.starts_with("x-remote-extra") || *name == "authorization");
        assert_eq!(others.count(), 0, "{smuggled}: {headers:?}");
        assert_ne!(headers.get("x-remote-uid"), Some(&json!(["0"])), "{smuggled}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parameters_that_were_not_authorized_are_not_forwarded() {
    let (_server, mut client, _extension) = started().await;
    for (query, forwarded) in
        [("?a=1&watch=true;&b=%32", "?a=1&b=%32"), ("?a=%zz", "?"), ("?b=2&a=+%31&&b", "?b=2&a=+%31&&b")]
    {
        let shown = client.get(&format!("{}{query}", flunders())).await;
        assert_eq!(shown["target"], format!("{}{forwarded}", flunders()), "{query}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn trailers_are_not_forwarded() {
    let (server, _client, _extension) = started().await;
    let request = format!(
        "POST {} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer admin-token\r\nconnection: close\r\n\
         trailer: X-Remote-User\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{{}}\r\n0\r\n\
         X-Remote-User: other\r\nX-Remote-Group: system:nodes\r\n\r\n",
        flunders()
    );
    let answer = raw(&server, &request).await;
    let shown: Value = serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    assert_eq!((&shown["body"], &shown["trailers"]), (&json!("{}"), &json!(0)), "{answer}");
    assert_eq!(shown["headers"]["x-remote-user"], json!(["admin"]));
    assert_eq!(shown["headers"].get("trailer"), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_breaks_off_ends_the_clients_too() {
    let (_server, mut client, extension) = started().await;
    extension.set(Behavior::Reset);
    let request = request("GET", &flunders(), &[ADMIN], &Value::Null);
    assert!(client.0.try_send(request).await.is_none(), "half an answer must not look like a whole one");
    extension.set(Behavior::Serve);
    assert_eq!(client.get(&flunders()).await["method"], "GET");
}

/// Starts a server that answers everything with 1xx responses without end.
async fn flooding() -> (SocketAddr, String) {
    let (acceptor, pem) = acceptor("wardle.default.svc");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                let hints = "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n".repeat(100);
                while stream.write_all(hints.as_bytes()).await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            });
        }
    });
    (address, STANDARD.encode(pem))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn interim_responses_without_end_are_no_answer() {
    let (_server, mut client, _extension) = started().await;
    let (address, bundle) = flooding().await;
    let mut object = client.get(&api_service_path()).await;
    object["spec"]["service"]["port"] = address.port().into();
    object["spec"]["caBundle"] = bundle.into();
    client.expect(200, "PUT", &api_service_path(), object).await;
    let begun = Instant::now();
    assert_eq!(client.get("/api/v1/namespaces/default").await["kind"], "Namespace");
    let answer = client.send("GET", &format!("{}?timeout=1s", flunders()), &Value::Null).await;
    assert!(answer.status >= 500, "{}: {}", answer.status, answer.text());
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    let is_unavailable = |found: &Value| condition(found, "Available") == "False";
    let found = client.until_within(&api_service_path(), Duration::from_secs(30), is_unavailable).await;
    assert_eq!(super::reason(&found).0, "FailedDiscoveryCheck");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lies_in_discovery_reach_nobody() {
    let extension = Extension::start("wardle").await;
    extension.set(Behavior::Lie);
    let server = TestServer::builder().memory().reach_local_workloads().start().await.unwrap();
    let mut client = Client::connect(&server).await;
    client.expect(201, "POST", SERVICES, local_service("wardle")).await;
    client.expect(201, "POST", API_SERVICES, api_service(&extension, "wardle")).await;
    let is_listed = |found: &Value| {
        let mut groups = found["groups"].as_array().into_iter().flatten();
        groups.any(|group| group["name"] == GROUP)
    };
    client.until("/apis", is_listed).await;
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    let begun = Instant::now();
    let list = loop {
        let request = request("GET", "/apis", &[ADMIN, ("accept", AGGREGATED)], &Value::Null);
        let list = connection.send(request).await.json();
        if list.to_string().contains("flunders") {
            break list;
        }
        assert!(begun.elapsed() < Duration::from_secs(10), "{list}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    let group = |name: &str| {
        let mut groups = list["items"].as_array().unwrap().iter();
        groups.find(|group| group["metadata"]["name"] == name).unwrap()["versions"][0].clone()
    };
    let kind = json!({ "group": "", "version": "", "kind": "" });
    let taken = json!([{
        "resource": "flunders", "responseKind": kind, "scope": "", "singularResource": "", "verbs": [], "shortNames": ["fl"],
    }]);
    assert_eq!(group(GROUP)["resources"], taken);
    assert!(!group("apps").to_string().contains("stolen"));
    // The binary form can be made of it.
    let binary = AGGREGATED.replace("application/json", "application/vnd.kubernetes.protobuf");
    let request = request("GET", "/apis", &[ADMIN, ("accept", &binary)], &Value::Null);
    assert_eq!(connection.send(request).await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_openapi_document_has_the_paths_of_extension_servers_and_no_others() {
    let (server, mut client, _extension) = started().await;
    let path = format!("/apis/{GROUP}/v1/flunders");
    let is_merged = |found: &Value| found["paths"].get(&path).is_some();
    let document = client.until_within("/openapi/v2", Duration::from_secs(30), is_merged).await;
    assert_eq!(document["paths"][&path]["get"]["operationId"], "listFlunder");
    assert!(!document.to_string().contains("stolen"), "other servers' paths");
    let definitions = &document["definitions"];
    let meta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
    assert!(definitions[meta]["properties"].is_object(), "this server's own");
    assert_eq!(definitions[format!("{meta}_v2")]["description"], "another one");
    let used = &definitions["com.example.Flunder"]["properties"]["metadata"]["$ref"];
    assert_eq!(used, &json!(format!("#/definitions/{meta}_v2")));
    assert_eq!(definitions.get("com.example.Unused"), None);
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    let protobuf = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
    let request = request("GET", "/openapi/v2", &[ADMIN, ("accept", protobuf)], &Value::Null);
    let answer = connection.send(request).await;
    assert!(answer.status == 200 && String::from_utf8_lossy(&answer.body).contains("com.example.Flunder"));
    client.expect(200, "DELETE", &api_service_path(), Value::Null).await;
    client.until_within("/openapi/v2", Duration::from_secs(30), |found| !is_merged(found)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_api_services_are_quiet() {
    let (_server, mut client, extension) = started().await;
    let names: Vec<String> = (0..50).map(|number| format!("g{number}.example.com")).collect();
    for name in &names {
        let mut object = api_service(&extension, "wardle");
        object["metadata"]["name"] = format!("v1.{name}").into();
        object["spec"]["group"] = name.as_str().into();
        client.expect(201, "POST", API_SERVICES, object).await;
    }
    // They are all checked. What the server shows at their paths is the request, with status 200.
    for name in &names {
        let path = format!("{API_SERVICES}/v1.{name}");
        client
            .until_within(&path, Duration::from_secs(30), |found| condition(found, "Available") == "True")
            .await;
    }
    // Until their documents have been fetched, too.
    let mut before = extension.requests();
    for _ in 0..60 {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let now = extension.requests();
        if std::mem::replace(&mut before, now) == now {
            break;
        }
    }
    for number in 0..20 {
        let object = json!({ "metadata": { "name": format!("c{number}") } });
        client.expect(201, "POST", "/api/v1/namespaces/default/configmaps", object).await;
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    // Each is checked every 30 seconds: at most once in this time.
    let asked = extension.requests() - before;
    assert!(asked <= 51, "{asked} requests at rest");
}
