//! Connections through the server: logs, streams and proxied requests, to a kubelet and a pod on this machine.

use apiserver::testing::TestServer;
use http::Request;
use http_body_util::Empty;
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::client::{ADMIN, Answer, Connection, Protocol, request, tls};
use super::peer;

const POD: &str = "/api/v1/namespaces/default/pods/web";

/// An administrator.
struct Admin(Connection);

impl Admin {
    async fn connect(server: &TestServer) -> Self {
        Self(Connection::open(server, Protocol::Http2).await)
    }

    async fn ask(&mut self, method: &str, path: &str, body: &Value) -> Answer {
        let impersonation = [("impersonate-user", "admin"), ("impersonate-group", "system:masters")];
        let headers = [&[ADMIN, ("x-own", "mine")][..], &impersonation].concat();
        self.0.send(request(method, path, &headers, body)).await
    }

    async fn get(&mut self, path: &str) -> Answer {
        self.ask("GET", path, &Value::Null).await
    }

    /// Creates a node with its kubelet at one port, and a pod on it that serves at another one.
    async fn set_up(&mut self, kubelet: u16, pod: u16) {
        let meta = |name: &str| json!({"name": name});
        let node = json!({
            "metadata": meta("n1"),
            "status": {
                "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
                "daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet}},
            },
        });
        assert_eq!(self.ask("POST", "/api/v1/nodes", &node).await.status, 201);
        let account = json!({"metadata": meta("default")});
        self.ask("POST", "/api/v1/namespaces/default/serviceaccounts", &account).await;
        let web = json!({"metadata": meta("web"), "spec": {"nodeName": "n1", "containers": [
            {"name": "c", "image": "x", "ports": [{"containerPort": pod}]},
        ]}});
        let made = self.ask("POST", "/api/v1/namespaces/default/pods", &web).await;
        assert_eq!(made.status, 201, "{}", made.text());
        let status = json!({"status": {"phase": "Running", "podIP": "127.0.0.1"}});
        let patched = self.ask("PATCH", &format!("{POD}/status"), &status).await;
        assert_eq!(patched.json()["status"]["podIPs"], json!([{"ip": "127.0.0.1"}]), "{}", patched.text());
    }
}

async fn server_with_peers() -> (TestServer, Admin) {
    let kubelet = peer::start(true).await;
    let pod = peer::start(false).await;
    let server =
        TestServer::builder().memory().without_controllers().reach_local_workloads().start().await.unwrap();
    let mut admin = Admin::connect(&server).await;
    admin.set_up(kubelet.port(), pod.port()).await;
    (server, admin)
}

#[tokio::test]
async fn logs_come_from_the_kubelet() {
    let (server, mut admin) = server_with_peers().await;
    let log = admin.get(&format!("{POD}/log?tailLines=3&follow=true")).await;
    assert_eq!((log.status, log.headers["content-type"].to_str().unwrap()), (200, "text/plain"));
    assert_eq!(log.json()["target"], "/containerLogs/default/web/c?follow=true&tailLines=3");
    assert_eq!(log.json()["authorization"], "", "the client's credentials stay here");
    let refused = admin.get(&format!("{POD}/log?container=zork")).await;
    assert_eq!(refused.json()["message"], "container zork is not valid for pod web");
    let log = admin.get(&format!("{POD}/log?sinceTime=2026-01-02T05:04:05%2B02:00")).await;
    assert_eq!(log.json()["target"], "/containerLogs/default/web/c?sinceTime=2026-01-02T03%3A04%3A05Z");
    let refused = admin.get(&format!("{POD}/log?sinceTime=x")).await;
    let reason = r#"parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006""#;
    assert_eq!((refused.status, &refused.json()["message"]), (400, &json!(reason)));
    server.stop().await;
}

#[tokio::test]
async fn requests_are_passed_on_to_pods_services_and_nodes() {
    let (server, mut admin) = server_with_peers().await;
    let echoed = admin.ask("POST", &format!("{POD}/proxy/a%2Fb/c?x=1"), &json!({"k": 1})).await;
    assert_eq!((echoed.status, echoed.headers["x-peer"].to_str().unwrap()), (200, "yes"));
    assert!(!echoed.headers.contains_key("access-control-allow-origin"));
    let echoed = echoed.json();
    assert_eq!((&echoed["method"], &echoed["target"]), (&json!("POST"), &json!("/a%2Fb/c?x=1")));
    assert_eq!((&echoed["body"], &echoed["own"]), (&json!("{\"k\":1}"), &json!("mine")));
    assert_eq!((&echoed["authorization"], &echoed["impersonate"]), (&json!(""), &json!("")));
    assert_eq!(echoed["forwarded"], format!("{POD}/proxy/a%2Fb/c"));

    // The client follows redirects, through the proxy again.
    let away = admin.get(&format!("{POD}/proxy/away")).await;
    assert_eq!(
        (away.status, away.headers["location"].to_str().unwrap()),
        (302, &*format!("{POD}/proxy/home?x=1"))
    );
    let root = admin.get(&format!("{POD}/proxy?q=1")).await;
    assert_eq!(
        (root.status, root.headers["location"].to_str().unwrap()),
        (301, &*format!("{POD}/proxy/?q=1"))
    );
    assert_eq!(admin.get(&format!("{POD}/proxy/")).await.json()["target"], "/");

    let node = admin.get("/api/v1/nodes/n1/proxy/pods").await;
    assert_eq!(node.json()["target"], "/pods", "{}", node.text());

    let port = admin.get(POD).await.json()["spec"]["containers"][0]["ports"][0]["containerPort"].clone();
    let service = json!({"metadata": {"name": "web"}, "spec": {"ports": [{"name": "http", "port": 80}]}});
    admin.ask("POST", "/api/v1/namespaces/default/services", &service).await;
    let path = "/api/v1/namespaces/default/services/web:80/proxy/x";
    let nobody = admin.get(path).await;
    assert_eq!(nobody.json()["message"], "no endpoints available for service \"web:80\"");
    let endpoints = json!({"metadata": {"name": "web"}, "subsets": [{
        "ports": [{"name": "http", "port": port}],
        "addresses": [{"ip": "10.9.9.9", "targetRef": {"kind": "Pod", "name": "web", "namespace": "default"}}],
    }]});
    admin.ask("POST", "/api/v1/namespaces/default/endpoints", &endpoints).await;
    assert_eq!(admin.get(path).await.status, 503, "the address is not the pod's");
    let slice = json!({
        "metadata": {"name": "web-1", "labels": {"kubernetes.io/service-name": "web"}}, "addressType": "IPv4",
        "ports": [{"name": "http", "port": port}],
        "endpoints": [{"addresses": ["127.0.0.1"], "targetRef": {"kind": "Pod", "name": "web", "namespace": "default"}}],
    });
    let made = admin.ask("POST", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", &slice).await;
    if made.status == 201 {
        assert_eq!(admin.get(path).await.json()["target"], "/x");
    }
    server.stop().await;
}

#[tokio::test]
async fn proxied_bodies_have_no_limit() {
    let (server, mut admin) = server_with_peers().await;
    let body = Value::from("x".repeat(4 << 20));
    let echoed = admin.ask("POST", &format!("{POD}/proxy/upload"), &body).await;
    assert_eq!(echoed.status, 200);
    assert_eq!(echoed.json()["body"].as_str().unwrap().len(), body.to_string().len());
    let stored = admin.ask("POST", "/api/v1/namespaces/default/configmaps", &body).await;
    assert_eq!(stored.status, 413, "other bodies have one");
    server.stop().await;
}

#[tokio::test]
async fn streams_are_upgraded_and_passed_on_as_bytes() {
    let (server, mut admin) = server_with_peers().await;
    let exec = format!("{POD}/exec?command=ls&command=-l&stdout=true");
    let refused = admin.get(&exec).await;
    assert_eq!((refused.status, &refused.json()["message"]), (400, &json!("Upgrade request required")));

    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(tls(&server, "http/1.1").await)).await.unwrap();
    tokio::spawn(connection.with_upgrades());
    let request = Request::post(&exec)
        .header("host", "localhost")
        .header("authorization", "Bearer admin-token")
        .header("connection", "Upgrade")
        .header("upgrade", "SPDY/3.1");
    let mut answer = sender.send_request(request.body(Empty::<Bytes>::new()).unwrap()).await.unwrap();
    assert_eq!(answer.status(), http::StatusCode::SWITCHING_PROTOCOLS);
    assert_eq!(answer.headers()["upgrade"], "SPDY/3.1");
    assert_eq!(answer.headers()["x-stream-protocol-version"], "v4.channel.k8s.io");
    let mut stream = TokioIo::new(hyper::upgrade::on(&mut answer).await.unwrap());
    let hello = "hello from /exec/default/web/c?output=1&command=ls&command=-l\n";
    let mut greeting = vec![0; hello.len()];
    stream.read_exact(&mut greeting).await.unwrap();
    assert_eq!(String::from_utf8_lossy(&greeting), hello);
    stream.write_all(b"shout").await.unwrap();
    let mut shouted = [0; 5];
    stream.read_exact(&mut shouted).await.unwrap();
    assert_eq!(&shouted, b"SHOUT");
    // An open stream does not prevent the shutdown.
    server.stop().await;
}

#[tokio::test]
async fn workloads_at_local_addresses_are_not_reached() {
    let pod = peer::start(false).await;
    let server = TestServer::builder().memory().start().await.unwrap();
    let mut admin = Admin::connect(&server).await;
    admin.set_up(1, pod.port()).await;
    for path in [format!("{POD}/proxy/"), format!("/api/v1/nodes/n1:{}/proxy/x", pod.port())] {
        let refused = admin.get(&path).await;
        assert_eq!(
            (refused.status, &refused.json()["message"]),
            (400, &json!("address not allowed")),
            "{path}"
        );
    }
    for (number, address) in [
        "127.0.0.1",
        "169.254.169.254",
        "224.0.0.1",
        "0.0.0.0",
        "::1",
        "fe80::1",
        "::ffff:169.254.169.254",
        "localhost",
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("local{number}");
        let node = json!({
            "metadata": {"name": name},
            "status": {"addresses": [{"type": "InternalIP", "address": address}]},
        });
        assert_eq!(admin.ask("POST", "/api/v1/nodes", &node).await.status, 201);
        // The kubelet by default, by its port, and another port.
        for target in [name.clone(), format!("{name}:10250"), format!("https:{name}:8443")] {
            let path = format!("/api/v1/nodes/{target}/proxy/metrics");
            let refused = admin.get(&path).await;
            let message = refused.json()["message"].clone();
            assert_eq!((refused.status, message), (400, json!("address not allowed")), "{path} {address}");
        }
    }
    let dead = admin.get(&format!("{POD}/log")).await;
    assert_eq!(dead.status, 500, "{}", dead.text());
    let why = dead.json()["message"].as_str().unwrap().to_owned();
    assert!(why.starts_with("Get \"https://127.0.0.1:1/containerLogs/default/web/c\": dial tcp"), "{why}");
    server.stop().await;
}

/// Starts a pod that answers each request with the bytes that its path numbers.
async fn start_hostile(answers: Vec<Vec<u8>>) -> std::net::SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let answers = std::sync::Arc::new(answers);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let answers = answers.clone();
            tokio::spawn(async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(stream.read_u8().await.unwrap());
                }
                let path = String::from_utf8(head).unwrap().split(' ').nth(1).unwrap().to_owned();
                let number: usize = path.trim_start_matches('/').parse().unwrap();
                // Fails where the server has had enough.
                let _ = stream.write_all(&answers[number]).await;
            });
        }
    });
    address
}

#[tokio::test]
async fn answers_of_hostile_backends_end_their_own_request_only() {
    let head = |lines: &str, body: &str| format!("HTTP/1.1 {lines}\r\n\r\n{body}").into_bytes();
    let lines: Vec<String> =
        (0..20_000).map(|number| format!("\r\nx-{number}: {}", "y".repeat(100))).collect();
    let many_headers = lines.concat();
    let long_header = format!("200 OK\r\nx: {}", "y".repeat(4 * 1024 * 1024));
    let cases = [
        ("hints", head("103 Early Hints\r\nlink: x", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"), 200),
        // The length counts for nothing (RFC 9112, 6.3).
        (
            "both lengths",
            head("200 OK\r\ncontent-length: 9\r\ntransfer-encoding: chunked", "2\r\nok\r\n0\r\n\r\n"),
            200,
        ),
        ("two lengths", head("200 OK\r\ncontent-length: 2\r\ncontent-length: 3", "ok!"), 503),
        ("no HTTP", b"\0\x01\x02garbage\r\n\r\n".to_vec(), 503),
        ("nothing", Vec::new(), 503),
        ("unasked", head("101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: zork", ""), 503),
        ("many headers", head(&format!("200 OK{many_headers}"), "ok"), 503),
        ("a long header", head(&long_header, "ok"), 503),
    ];
    let pod = start_hostile(cases.iter().map(|(_, answer, _)| answer.clone()).collect()).await;
    let server =
        TestServer::builder().memory().without_controllers().reach_local_workloads().start().await.unwrap();
    let mut admin = Admin::connect(&server).await;
    admin.set_up(1, pod.port()).await;
    for (number, (name, _, status)) in cases.iter().enumerate() {
        let answer = admin.get(&format!("{POD}/proxy/{number}")).await;
        assert_eq!(answer.status, *status, "{name}: {}", answer.text());
        if *status == 200 {
            assert_eq!(answer.text(), "ok", "{name}");
        } else {
            let message = answer.json()["message"].as_str().unwrap().to_owned();
            assert!(message.starts_with("error trying to reach service: "), "{name}: {message}");
        }
    }
    // All of them came over this connection.
    assert_eq!(admin.get("/version").await.status, 200);
    server.stop().await;
}
