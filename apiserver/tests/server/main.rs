//! A whole server, over TLS as clients use it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::float_cmp,
    clippy::cast_precision_loss,
    unreachable_pub,
    reason = "helpers of tests fail as tests do, and counts are small whole numbers"
)]

mod aggregator;
mod authentication;
mod authored;
mod authorization;
mod authorization_webhook;
mod bootstrap_policy;
mod browser;
mod certificates;
mod client;
mod cluster_policy;
mod combined_rights;
mod connecting;
mod conversion_webhooks;
mod custom_resources;
mod egress;
mod elections;
mod empty_lists;
mod emulation;
mod etcd_overrides;
mod evictions;
mod external_signer;
mod extremes;
mod fairness;
mod flags;
mod gated_controllers;
mod gates;
#[path = "../support/grpc_server.rs"]
mod grpc_server;
mod head;
mod hostile;
mod identities;
mod interoperability;
mod konnectivity;
mod large_bodies;
mod metrics;
mod nodes;
mod optional_apis;
mod overload;
mod peer;
mod plain_http;
mod policies;
mod published;
mod raw_http2;
mod refused_bodies;
mod retired_versions;
mod rights;
mod rule_metrics;
mod running_servers;
mod selectable_fields;
mod servers;
mod service_accounts;
mod service_addresses;
mod shards;
mod shutdown;
mod special_kinds;
mod storage_encoding;
mod storage_versions;
mod tls_options;
#[path = "../support/tls_server.rs"]
mod tls_server;
mod websocket_watches;
mod zoo;
mod zpages;

use std::time::{Duration, Instant};

use apiserver::testing::TestServer;
use client::{Connection, Protocol};

#[tokio::test]
async fn both_protocols_serve_version_and_health() {
    let server = TestServer::start().await;
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let mut connection = Connection::open(&server, protocol).await;
        let version = connection.get("/version", None).await;
        assert_eq!(version.status, 200);
        assert_eq!(version.json()["minor"], "36");
        assert_eq!(version.json()["gitVersion"], concat!("v1.36.2+orlop.", env!("CARGO_PKG_VERSION")));
        assert_eq!(version.headers["server"], apiserver::version::SERVER_VERSION);
        assert_eq!(version.headers["cache-control"], "no-cache, private");
        assert_eq!(version.headers["audit-id"].len(), 36);
        assert_eq!(connection.get("/healthz", None).await.text(), "ok");
        let ready = connection.get("/readyz?verbose", None).await.text();
        assert!(
            ready.contains("[+]etcd-readiness ok") && ready.ends_with("readyz check passed\n"),
            "{ready}"
        );
    }
    server.stop().await;
}

#[tokio::test]
async fn only_the_right_credentials_come_in() {
    let server = TestServer::builder().token("ops-token", "olga", "ops,dev").start().await.unwrap();
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    for (token, path, status, message) in [
        (
            None,
            "/api/v1/pods",
            403,
            "pods is forbidden: User \"system:anonymous\" cannot list resource \"pods\"",
        ),
        (Some("zork"), "/version", 401, "Unauthorized"),
        (Some("alice-token"), "/metrics", 403, "forbidden: User \"alice\" cannot get path \"/metrics\""),
        (Some("ops-token"), "/api/v1/nodes/n", 403, "nodes \"n\" is forbidden: User \"olga\" cannot get"),
    ] {
        let answer = connection.get(path, token).await;
        assert_eq!(answer.status, status, "{path}");
        let found = answer.json()["message"].as_str().unwrap().to_owned();
        assert!(found.starts_with(message), "{found}");
    }
    let admin = connection.get("/api/v1/nodes/n", Some(server.admin_token())).await;
    assert_ne!(admin.status, 403);

    let strict = TestServer::builder().flag("--anonymous-auth=false").start().await.unwrap();
    let mut connection = Connection::open(&strict, Protocol::Http1).await;
    assert_eq!(connection.get("/healthz", None).await.status, 401);
    assert_eq!(connection.get("/healthz", Some("alice-token")).await.status, 200);
}

#[tokio::test]
async fn the_kubeconfig_works_and_survives_a_restart() {
    let server = TestServer::start().await;
    let first = std::fs::read_to_string(server.kubeconfig_path()).unwrap();
    let info = kube_client(&server).await.apiserver_version().await.expect("kube-rs gets in");
    assert_eq!(info.git_version, apiserver::version::GIT_VERSION);
    // The certificate authenticates an administrator, not the anonymous user.
    let request = http::Request::get("/metrics").body(Vec::new()).unwrap();
    let metrics = kube_client(&server).await.request_text(request).await.expect("only administrators may");
    assert!(metrics.contains("kubernetes_build_info{"));

    let directory = server.directory().clone();
    server.stop().await;
    let again = TestServer::builder().directory(&directory).start().await.unwrap();
    let second = std::fs::read_to_string(again.kubeconfig_path()).unwrap();
    let without_port = |text: &str| text.lines().filter(|line| !line.contains("server:")).collect::<String>();
    assert_eq!(without_port(&first), without_port(&second), "the same identities");
    kube_client(&again).await.apiserver_version().await.expect("and they still get in");
}

#[tokio::test]
async fn oversized_requests_are_refused_and_the_server_lives() {
    let server = TestServer::start().await;
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let mut connection = Connection::open(&server, protocol).await;
        let answer = connection.send(client::post("/api/v1/nodes", vec![b' '; 4 << 20])).await;
        assert_eq!(answer.status, 413);
        assert_eq!(answer.json()["reason"], "RequestEntityTooLarge");

        let mut connection = Connection::open(&server, protocol).await;
        let mut large = client::post("/version", Vec::new());
        let value = "x".repeat(70_000).parse().unwrap();
        large.headers_mut().insert("x-large", value);
        let answer = connection.send(large).await;
        assert_eq!(answer.status, 431);
        assert_eq!(answer.json()["kind"], "Status");

        // Far above the limits of the protocol layer itself.
        let mut connection = Connection::open(&server, protocol).await;
        let mut huge = client::post("/version", Vec::new());
        huge.headers_mut().insert("x-huge", "x".repeat(1 << 20).parse().unwrap());
        if let Some(answer) = connection.try_send(huge).await {
            assert!((400..500).contains(&answer.status), "{}", answer.status);
        }
        let mut connection = Connection::open(&server, protocol).await;
        assert_eq!(connection.get("/livez", None).await.status, 200);
    }
}

#[tokio::test]
async fn garbage_and_silence_hurt_nobody() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let server = TestServer::start().await;
    let mut plain = tokio::net::TcpStream::connect(server.address()).await.unwrap();
    plain.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    let _ = tokio::time::timeout(Duration::from_secs(5), plain.read_to_end(&mut answer)).await.unwrap();
    let _silent = tokio::net::TcpStream::connect(server.address()).await.unwrap();
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    assert_eq!(connection.get("/livez", None).await.status, 200);
    let stopping = tokio::time::timeout(Duration::from_secs(5), server.stop());
    stopping.await.expect("a silent connection does not hold the server up");
}

#[tokio::test]
async fn a_refused_body_does_not_cost_the_connection() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let server = TestServer::start().await;
    let mut stream = client::tls(&server, "http/1.1").await;
    for _ in 0..3 {
        // Only the headers, so that the response is sent before the body has arrived.
        let head = "POST /api/v1/nodes HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000\r\n\r\n";
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        stream.write_all(&[b' '; 1000]).await.unwrap();
        stream.flush().await.unwrap();
        let mut answer = [0; 4096];
        let length = stream.read(&mut answer).await.expect("the connection lives");
        let answer = String::from_utf8_lossy(&answer[..length]);
        assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
        assert!(!answer.contains("connection: close"), "{answer}");
    }
}

#[tokio::test]
async fn the_end_is_announced_before_it_comes() {
    let server = TestServer::builder().flag("--shutdown-delay-duration=1s").start().await.unwrap();
    let address = server.address();
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    assert_eq!(connection.get("/readyz", None).await.status, 200);

    let begun = Instant::now();
    server.begin_shutdown();
    let ready = connection.get("/readyz?verbose", None).await;
    assert_eq!(ready.status, 500);
    assert!(ready.text().contains("[-]shutdown failed: reason withheld"));
    assert_eq!(connection.get("/livez", None).await.status, 200, "alive, and still serving");
    let mut late = Connection::open(&server, Protocol::Http1).await;
    assert_eq!(late.get("/version", None).await.status, 200, "new connections are taken during the delay");

    server.stop().await;
    assert!(begun.elapsed() >= Duration::from_secs(1));
    assert!(begun.elapsed() < Duration::from_secs(10), "open connections without requests end at once");
    assert!(tokio::net::TcpStream::connect(address).await.is_err(), "nobody listens any more");
}

#[tokio::test]
async fn contradictions_and_taken_ports_are_told() {
    let taken = TestServer::start().await;
    let port = format!("--secure-port={}", taken.address().port());
    let refused = Box::pin(TestServer::builder().flag(port).start()).await.err().unwrap();
    assert!(refused.to_string().contains("cannot listen on 127.0.0.1"), "{refused}");
    for (switch, message) in [
        ("zork.example.dev/v1=true", "unknown api groups zork.example.dev/v1"),
        ("apps/v3=true", "group version apps/v3 that has not been registered"),
    ] {
        let unknown = TestServer::builder().flag(format!("--runtime-config={switch}"));
        let refused = unknown.start().await.err().unwrap();
        assert!(refused.to_string().contains(message), "{refused}");
    }
}

#[tokio::test]
async fn flags_that_cannot_be_used_are_told_before_anything_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let (data, file) = (directory.path().join("data"), directory.path().join("file"));
    std::fs::write(&file, "[").unwrap();
    let (data_dir, file) = (format!("--data-dir={}", data.display()), file.display());
    for (flags, named) in [
        (&["--enable-admission-plugins=Nope".to_owned()][..], "\"Nope\" is not an admission plug-in"),
        (&["--disable-admission-plugins=,Nope".to_owned()], "is not an admission plug-in"),
        (
            &["--enable-admission-plugins=Priority", "--disable-admission-plugins=Priority"]
                .map(str::to_owned),
            "Priority is both",
        ),
        (&["--enable-admission-plugins=EventRateLimit".to_owned()], "needs a configuration"),
        (&["--runtime-config=zork.example.dev/v1=true".to_owned()], "unknown api groups"),
        (&["--request-timeout=0".to_owned()], "--request-timeout"),
        (&["--audit-log-path=-".to_owned(), "--audit-log-mode=".to_owned()], "invalid audit log mode"),
        (&[format!("--admission-control-config-file={file}")], "--admission-control-config-file"),
        (&[format!("--audit-policy-file={file}")], "file"),
        (&[format!("--token-auth-file={file}")], "file"),
    ] {
        let arguments = ["apiserver".to_owned(), data_dir.clone()].into_iter().chain(flags.iter().cloned());
        let options = apiserver::options::Options::from_arguments(arguments).unwrap();
        let Err(refused) = Box::pin(apiserver::Server::builder().options(options).build()).await else {
            panic!("{flags:?}")
        };
        assert!(refused.to_string().contains(named), "{flags:?}: {refused}");
        assert!(!data.exists(), "{flags:?}");
    }
}

async fn kube_client(server: &TestServer) -> kube::Client {
    let kubeconfig = kube::config::Kubeconfig::read_from(server.kubeconfig_path()).unwrap();
    let options = kube::config::KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap();
    kube::Client::try_from(config).unwrap()
}
