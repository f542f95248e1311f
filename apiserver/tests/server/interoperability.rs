//! Servers of one cluster that do not serve the same resources.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use apiserver::testing::{TestServer, TestServerBuilder};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use parking_lot::Mutex;
use rcgen::{CertificateParams, DnType, Issuer, KeyPair};
use registry_core::storage::mvcc::Mvcc as _;
use registry_core::storage::testing::etcd::Etcd;
use serde_json::{Value, json};

use crate::client::{ADMIN, Connection, Protocol, request};
use crate::servers::{refusal, start, until};
use crate::tls_server::TlsServer;

const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const OWN: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList;profile=nopeer";
const SERVER_NAME: &str = "kubernetes.default.svc";

/// The files of a cluster: one authority for servers, and one for the identity that they present to each other.
struct Files(tempfile::TempDir);

impl Files {
    /// Makes the files. The servers trust these certificates (PEM) of other servers, too.
    fn new(others: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let names = [SERVER_NAME, "localhost", "127.0.0.1"].map(str::to_owned).to_vec();
        let authority = issue(path, "serving", &CertificateParams::new(names).unwrap());
        write(path, "peer-ca.crt", &format!("{authority}{others}"));
        let mut proxy = CertificateParams::default();
        proxy.distinguished_name.push(DnType::CommonName, "front-proxy-client");
        issue(path, "proxy", &proxy);
        Self(directory)
    }

    /// Starts a server of this name over an etcd.
    async fn start(&self, etcd: &Etcd, name: &str, flags: &[&str]) -> TestServer {
        let path = self.0.path().display();
        let own = [
            format!("--tls-cert-file={path}/serving.crt"),
            format!("--tls-private-key-file={path}/serving.key"),
            format!("--proxy-client-cert-file={path}/proxy.crt"),
            format!("--proxy-client-key-file={path}/proxy.key"),
            format!("--requestheader-client-ca-file={path}/proxy-ca.crt"),
            format!("--peer-ca-file={path}/peer-ca.crt"),
        ];
        let headers = [
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-uid-headers=X-Remote-Uid",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            "--peer-advertise-ip=127.0.0.1",
        ];
        let builder = TestServer::builder().etcd(&etcd.options().endpoints[0], "/registry");
        let builder = builder.without_controllers().token("olga-token", "olga", "system:masters,ops");
        let builder = builder.customize(|server| server.host_name(name));
        let flags = own.iter().map(String::as_str).chain(headers).chain(flags.iter().copied());
        flags.fold(builder, TestServerBuilder::flag).start().await.unwrap()
    }
}

/// Makes an authority, and writes it and a certificate of it with its key and chain. Returns the authority (PEM).
fn issue(directory: &Path, name: &str, parameters: &CertificateParams) -> String {
    let mut own = CertificateParams::default();
    own.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    own.distinguished_name.push(DnType::CommonName, format!("{name}-ca"));
    let own_key = KeyPair::generate().unwrap();
    let authority = own.self_signed(&own_key).unwrap().pem();
    let key = KeyPair::generate().unwrap();
    let certificate = parameters.signed_by(&key, &Issuer::new(own, own_key)).unwrap().pem();
    write(directory, &format!("{name}-ca.crt"), &authority);
    write(directory, &format!("{name}.crt"), &format!("{certificate}{authority}"));
    write(directory, &format!("{name}.key"), &key.serialize_pem());
    authority
}

fn write(directory: &Path, name: &str, text: &str) {
    std::fs::write(directory.join(name), text).unwrap();
}

/// Returns the groups that a server shows in this form.
async fn groups(server: &TestServer, form: &str) -> Vec<Value> {
    let mut connection = Connection::open(server, Protocol::Http2).await;
    let request = request("GET", "/apis", &[ADMIN, ("accept", form)], &Value::Null);
    connection.send(request).await.json()["items"].as_array().unwrap().clone()
}

fn has_group(groups: &[Value], name: &str) -> bool {
    groups.iter().any(|group| group["metadata"]["name"] == name)
}

async fn metrics(server: &TestServer) -> String {
    let mut connection = Connection::open(server, Protocol::Http2).await;
    connection.get("/metrics", Some("admin-token")).await.text()
}

fn job(name: &str) -> Value {
    let container = json!({ "name": "c", "image": "i" });
    let template = json!({ "spec": { "restartPolicy": "Never", "containers": [container] } });
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": name }, "spec": { "template": template },
    })
}

/// Creates an object that has the name of its author.
async fn the_user_is_forwarded(connection: &mut Connection) {
    let key = KeyPair::generate().unwrap();
    let wanted = CertificateParams::default().serialize_request(&key).unwrap().pem().unwrap();
    let signing = json!({
        "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": { "name": "a" },
        "spec": {
            "request": STANDARD.encode(wanted), "signerName": "example.com/signer", "usages": ["client auth"],
        },
    });
    let path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    let olga = [("authorization", "Bearer olga-token")];
    let answer = connection.send(request("POST", path, &olga, &signing)).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let spec = &answer.json()["spec"];
    assert_eq!(spec["username"], "olga");
    assert!(spec["groups"].as_array().unwrap().contains(&json!("ops")), "{spec}");
}

/// Creates and deletes a definition, of which each server sees only its own side.
async fn custom_resources_are_every_servers_own(servers: [&TestServer; 2]) {
    let version = json!({ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": { "type": "object" } } });
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "toys.example.com" },
        "spec": {
            "group": "example.com", "scope": "Cluster", "versions": [version],
            "names": { "plural": "toys", "kind": "Toy" },
        },
    });
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    for (method, path, body, is_shown) in [
        ("POST", definitions.to_owned(), definition, true),
        ("DELETE", format!("{definitions}/toys.example.com"), Value::Null, false),
    ] {
        servers[0].call(method, &path, &body).await.unwrap();
        for server in servers {
            until("the custom group", async || {
                (has_group(&groups(server, AGGREGATED).await, "example.com") == is_shown).then_some(())
            })
            .await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn resources_of_another_server_are_forwarded_to_it_and_shown_in_discovery() {
    let (etcd, files) = (Etcd::start().await.unwrap(), Files::new(""));
    let whole = files.start(&etcd, "whole", &[]).await;
    let lacking = "--runtime-config=batch/v1=false,certificates.k8s.io/v1=false";
    let part = files.start(&etcd, "part", &[lacking]).await;
    whole.call("POST", JOBS, &job("a")).await.unwrap();
    // A server that is ready knows the others.
    let read = part.call("GET", JOBS, &Value::Null).await.unwrap();
    assert_eq!((&read["kind"], &read["items"][0]["metadata"]["name"]), (&json!("JobList"), &json!("a")));

    // Writes and watches are forwarded, too, with the user.
    let mut connection = Connection::open(&part, Protocol::Http2).await;
    let mut events = connection.stream(&format!("{JOBS}?watch=true&resourceVersion=0")).await;
    part.call("POST", JOBS, &job("b")).await.unwrap();
    let mut received = String::new();
    while !received.contains("\"name\":\"b\"") {
        let frame = tokio::time::timeout(Duration::from_secs(20), events.frame()).await.expect("an event");
        received += &String::from_utf8_lossy(frame.unwrap().unwrap().data_ref().unwrap());
    }
    the_user_is_forwarded(&mut connection).await;
    let alice = [("authorization", "Bearer alice-token")];
    assert_eq!(connection.send(request("GET", JOBS, &alice, &Value::Null)).await.status, 403);

    // A request is forwarded once, and only to a server with the resource.
    let forwarded = [ADMIN, ("x-kubernetes-peer-proxied", "true")];
    assert_eq!(connection.send(request("GET", JOBS, &forwarded, &Value::Null)).await.status, 404);
    let nowhere = "/apis/nothing.example.com/v1/things";
    assert_eq!(connection.send(request("GET", nowhere, &[ADMIN], &Value::Null)).await.status, 404);
    let counted = metrics(&part).await;
    let line = r#"apiserver_rerouted_request_total{code="201",group="batch",resource="jobs",version="v1"} 1"#;
    assert!(counted.contains(line), "{counted}");
    assert!(
        counted.contains(r#"apiserver_rerouted_request_total{code="200",group="",resource="",version=""}"#)
    );

    // Both servers show the same.
    until("the groups differ", async || {
        let (all, same) = (groups(&whole, AGGREGATED).await, groups(&part, AGGREGATED).await);
        (all == same && has_group(&all, "batch")).then_some(())
    })
    .await;
    assert!(!has_group(&groups(&part, OWN).await, "certificates.k8s.io"));
    assert!(has_group(&groups(&whole, OWN).await, "certificates.k8s.io"));

    custom_resources_are_every_servers_own([&whole, &part]).await;

    whole.stop().await;
    until("jobs are still forwarded", async || {
        let answer = connection.send(request("GET", JOBS, &[ADMIN], &Value::Null)).await;
        (answer.status == 404).then_some(())
    })
    .await;
    assert!(!has_group(&groups(&part, AGGREGATED).await, "certificates.k8s.io"));
    part.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_authorities_of_other_servers_follow_their_file() {
    let (etcd, files) = (Etcd::start().await.unwrap(), Files::new(""));
    let whole = files.start(&etcd, "whole", &[]).await;
    let directory = files.0.path();
    let trusted = std::fs::read_to_string(directory.join("peer-ca.crt")).unwrap();
    let stranger = std::fs::read_to_string(directory.join("proxy-ca.crt")).unwrap();
    let part = files.start(&etcd, "part", &["--runtime-config=batch/v1=false"]).await;
    let mut connection = Connection::open(&part, Protocol::Http2).await;
    let mut status = async || connection.send(request("GET", JOBS, &[ADMIN], &Value::Null)).await.status;
    assert_eq!(status().await, 200);

    // A file without a certificate does not replace what is trusted; the server looks once a second.
    for broken in ["", "no certificate"] {
        write(directory, "peer-ca.crt", broken);
        tokio::time::sleep(Duration::from_secs(3)).await;
        assert_eq!(status().await, 200, "{broken:?}");
    }
    // Connections that the old authority has checked are not used any more.
    write(directory, "peer-ca.crt", &stranger);
    until("the old authority is still trusted", async || (status().await == 503).then_some(())).await;
    write(directory, "peer-ca.crt", &trusted);
    until("the authority is not trusted again", async || (status().await == 200).then_some(())).await;
    part.stop().await;
    whole.stop().await;
}

/// Starts a peer that claims what it does not serve, and shows the requests that it receives. Discovery hangs, or the resource
/// `hangs` only.
async fn liar(is_silent: bool) -> (TlsServer, Arc<Mutex<Vec<String>>>) {
    let requests = Arc::new(Mutex::new(Vec::new()));
    let received = requests.clone();
    let server = TlsServer::start(&[SERVER_NAME], None, move |request: Request<Incoming>| {
        let path = request.uri().path().to_owned();
        received.lock().push(path.clone());
        async move {
            if is_silent || path.ends_with("/hangs") {
                std::future::pending::<()>().await;
            }
            let groups = |items: Value| json!({ "kind": "APIGroupDiscoveryList", "items": items });
            let body = match path.as_str() {
                "/api" => groups(json!([group("", &["secrets"])])),
                "/apis" => {
                    let lies = group("lies.example.com", &["things", "hangs"]);
                    groups(json!([7, group("apps", &["deployments"]), lies]))
                }
                _ => json!({ "headers": shown(&request) }),
            };
            Ok::<_, Infallible>(answer(&body))
        }
    })
    .await;
    (server, requests)
}

fn group(name: &str, resources: &[&str]) -> Value {
    let resource = |name: &&str| json!({ "resource": name, "verbs": ["get"] });
    let resources: Vec<Value> = resources.iter().map(resource).collect();
    json!({ "metadata": { "name": name }, "versions": [{ "version": "v1", "resources": resources }] })
}

fn shown(request: &Request<Incoming>) -> Value {
    let text = |value: &http::HeaderValue| Value::from(String::from_utf8_lossy(value.as_bytes()));
    request.headers().iter().map(|(name, value)| (name.to_string(), text(value))).collect()
}

fn answer(body: &Value) -> Response<Full<Bytes>> {
    Response::new(Full::new(Bytes::from(body.to_string())))
}

/// Makes a peer known, at this address.
async fn announce(server: &TestServer, etcd: &Etcd, name: &str, ip: &Value, port: u16) {
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": { "name": name, "labels": { "apiserver.kubernetes.io/identity": "kube-apiserver" } },
        "spec": {
            "holderIdentity": format!("{name}_1"), "leaseDurationSeconds": 3600,
            "renewTime": "2999-01-01T00:00:00.000000Z",
        },
    });
    place(etcd, name, ip, port).await;
    server.call("POST", LEASES, &lease).await.unwrap();
}

/// Writes the record of a peer's address.
async fn place(etcd: &Etcd, name: &str, ip: &Value, port: u16) {
    let engine = etcd.connect().await;
    let key = format!("/registry/peerserverleases/{name}");
    let subset = json!({ "addresses": [{ "ip": ip }], "ports": [{ "port": port }] });
    let record = json!({ "kind": "Endpoints", "apiVersion": "v1", "subsets": [subset] });
    let present = engine.get(&key).await.unwrap().key_value.map_or(0, |present| present.mod_revision);
    engine.put_if(&key, present, record.to_string().into(), None).await.unwrap();
}

fn local(address: SocketAddr) -> Value {
    address.ip().to_string().into()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_server_disturbs_only_what_no_other_serves() {
    const THINGS: &str = "/apis/lies.example.com/v1/things";
    let ((lying, received), (hanging, _), (stranger, strangers)) =
        (liar(false).await, liar(true).await, liar(false).await);
    let etcd = Etcd::start().await.unwrap();
    let files = Files::new(&format!("{}{}", lying.ca_pem, hanging.ca_pem));
    let server = files.start(&etcd, "own", &["--request-timeout=8s"]).await;
    announce(&server, &etcd, "a-hanging", &local(hanging.address), hanging.address.port()).await;
    announce(&server, &etcd, "b-nowhere", &json!("peer.example.com"), 443).await;
    announce(&server, &etcd, "c-stranger", &local(stranger.address), stranger.address.port()).await;
    announce(&server, &etcd, "d-metadata", &json!("169.254.169.254"), 443).await;
    announce(&server, &etcd, "e-own", &local(server.address()), server.address().port()).await;
    announce(&server, &etcd, "f-lying", &local(lying.address), lying.address.port()).await;

    let mut connection = Connection::open(&server, Protocol::Http2).await;
    let mut get = async |path: &str, headers: &[(&str, &str)]| {
        connection.send(request("GET", path, &[&[ADMIN], headers].concat(), &Value::Null)).await
    };
    let begun = Instant::now();
    let smuggled = [("x-remote-user", "eve"), ("x-remote-group", "devils")];
    let shown = loop {
        let found = get(THINGS, &smuggled).await;
        if found.status == 200 {
            break found.json();
        }
        assert!(found.status == 404 && begun.elapsed() < Duration::from_secs(30), "{}", found.text());
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!(shown["headers"]["x-remote-user"], "admin");
    assert!(!shown.to_string().contains("devils"), "{shown}");
    assert_eq!(shown["headers"]["authorization"], Value::Null);
    assert_eq!(shown["headers"]["x-kubernetes-peer-proxied"], "true");
    // Nobody else's claims count where this server serves itself.
    for (path, kind) in [("/apis/apps/v1/deployments", "DeploymentList"), ("/api/v1/secrets", "SecretList")] {
        assert_eq!(get(path, &[]).await.json()["kind"], kind);
    }
    assert!(received.lock().iter().all(|path| !path.contains("deployments") && !path.contains("secrets")));
    assert!(strangers.lock().is_empty(), "a certificate of another authority");
    let late = get("/apis/lies.example.com/v1/hangs", &[]).await;
    assert_eq!(late.status, 504, "{}", late.text());
    until("failures are not counted", async || {
        let counted = metrics(&server).await;
        let errors = ["hostport_resolution", "fetch_discovery"];
        let line = |error: &&str| {
            counted.contains(&format!("apiserver_peer_discovery_sync_errors_total{{type=\"{error}\"}}"))
        };
        errors.iter().all(line).then_some(())
    })
    .await;

    // It ends, or something else has its address.
    place(&etcd, "f-lying", &json!("peer.example.com"), 443).await;
    let refused = get(THINGS, &[]).await;
    let text = "Error getting ip and port info of the remote server while proxying";
    assert_eq!((refused.status, &refused.json()["message"]), (503, &json!(text)));
    for address in [stranger.address, server.address(), "127.0.0.1:1".parse().unwrap()] {
        place(&etcd, "f-lying", &local(address), address.port()).await;
        let refused = get(THINGS, &[]).await;
        assert_eq!(refused.status, 503, "{address}: {}", refused.text());
    }
    let counted = metrics(&server).await;
    let line = r#"apiserver_peer_proxy_errors_total{group="lies.example.com",resource="things",type="endpoint_resolution",version="v1"} 1"#;
    assert!(counted.contains(line), "{counted}");
    server.stop().await;
}

#[tokio::test]
async fn flags_of_other_servers_need_the_feature_and_an_identity() {
    let refused = refusal(&["--peer-ca-file=/dev/null"]).await;
    assert!(refused.contains("--peer-ca-file requires --proxy-client-cert-file"), "{refused}");
    let gate = "--feature-gates=UnknownVersionInteroperabilityProxy=false";
    for flag in ["--peer-ca-file=/dev/null", "--peer-advertise-ip=192.0.2.1", "--peer-advertise-port=6443"] {
        let refused = refusal(&[gate, flag]).await;
        let name = flag.split('=').next().unwrap();
        let text = format!("{name} requires UnknownVersionInteroperabilityProxy feature to be turned on");
        assert!(refused.contains(&text), "{refused}");
    }
}

#[tokio::test]
async fn the_published_address_is_that_of_the_flags() {
    let annotation = async |flags: &[&str]| {
        let server = start(flags).await;
        let leases = server.call("GET", LEASES, &Value::Null).await.unwrap();
        server.stop().await;
        leases["items"][0]["metadata"]["annotations"]["kubernetes.io/peer-advertise-address"].clone()
    };
    let flags = ["--peer-advertise-ip=192.0.2.7", "--peer-advertise-port=7443"];
    assert_eq!(annotation(&flags).await, "192.0.2.7:7443");
    assert_eq!(annotation(&[]).await, Value::Null);
}
