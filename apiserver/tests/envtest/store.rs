//! The program in the place of etcd, its clients, and servers beside other programs.

use std::net::TcpListener;
use std::process::Command;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams};
use registry_core::storage::testing::etcd::Etcd;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::environment::{Environment, PROGRAM, ask};
use crate::{names, until};

/// Clients that say nothing, or nonsense, do not keep others from an answer.
#[tokio::test]
async fn health_checks_are_answered_beside_hostile_clients() {
    let mut environment = Environment::new();
    let etcd = environment.start_etcd().await;
    let mut silent = Vec::new();
    for _ in 0..32 {
        silent.push(TcpStream::connect(("127.0.0.1", environment.etcd_port)).await.unwrap());
    }
    environment.etcd_is_healthy().await;
    let long = [b"GET /".as_slice(), &vec![b'a'; 100_000], b" HTTP/1.1\r\n\r\n"].concat();
    for (request, expected) in [
        (&b"\0\r\n\r\n"[..], "HTTP/1.1 400 "),
        (b"GET /metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 404 "),
        (b"POST /v3/kv/range HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", "HTTP/1.1 405 "),
        (&long, "HTTP/1.1 400 "),
    ] {
        // A client that still sends may miss the answer.
        if let Some(answer) = ask(environment.etcd_port, request).await {
            assert!(answer.starts_with(expected), "{answer}");
        }
    }
    // HTTP/2, which clients of etcd speak: settings, and the reason why there is no more.
    let answer = ask(environment.etcd_port, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
    drop(silent);
    assert!(answer.is_none_or(|answer| answer.contains("takes the place of etcd and keeps nothing")));
    environment.etcd_is_healthy().await;
    environment.signal(etcd, "INT");
    environment.ended(etcd).await;
    assert_eq!(names(&environment.etcd_directory()), [""; 0]);
}

#[test]
fn a_command_line_that_cannot_be_followed_is_refused() {
    let environment = Environment::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = format!("--listen-client-urls=http://{}", taken.local_addr().unwrap());
    for (flag, reason) in [
        (taken.as_str(), "etcd: cannot listen on 127.0.0.1:"),
        ("--cert-file=a", "etcd: --cert-file is not supported without a store"),
        ("serve", "etcd: 'serve' is not a valid flag"),
        ("--listen-client-urls=https://127.0.0.1:1", "etcd: --listen-client-urls: "),
    ] {
        let output = Command::new(environment.program("etcd")).arg(flag).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{flag}: {stderr}");
        assert!(stderr.starts_with(reason), "{stderr}");
    }
}

/// Over a real etcd the objects are in it, and the server is what it is under its own name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_etcd_keeps_the_objects() {
    let etcd = Etcd::start().await.unwrap();
    let url = etcd.options().endpoints[0].clone();
    let mut environment = Environment::new();
    let flags = environment.server_flags(&url);
    for start in ["first", "second"] {
        let server = environment.start("kube-apiserver", &flags);
        environment.server_is_healthy().await;
        let maps: Api<ConfigMap> = Api::namespaced(environment.client().await, "default");
        let map: ConfigMap = serde_json::from_value(serde_json::json!({"metadata": {"name": "a"}})).unwrap();
        if start == "first" {
            until("the map is created", async || maps.create(&PostParams::default(), &map).await.is_ok())
                .await;
        } else {
            assert!(maps.get_opt("a").await.unwrap().is_some(), "{}", environment.log("kube-apiserver"));
        }
        environment.signal(server, "TERM");
        assert!(environment.ended(server).await.success());
        assert!(environment.log("kube-apiserver").contains("backend=\"etcd3\""));
    }
    assert_eq!(names(&environment.work()), [""; 0]);
}

/// Both are started at once, and the store answers late.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_waits_for_the_program_at_its_etcd_servers() {
    let mut environment = Environment::new();
    let server = environment.start("kube-apiserver", &environment.server_flags(&environment.etcd_url()));
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    environment.start_etcd().await;
    environment.server_is_healthy().await;
    assert!(environment.log("kube-apiserver").contains("objects are kept in memory"));
    environment.signal(server, "TERM");
    assert!(environment.ended(server).await.success());
}

/// A program that answers something else is not taken for one that keeps nothing, and neither is that one under another name of
/// the server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_answer_of_a_program_without_a_store_puts_objects_into_memory() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let bodies = [r#"{"etcdserver":"3.6.0"}"#, r#"{"orlop":{"storage":"disk"}}"#, "", "[", "\"memory\""];
        for body in bodies.iter().cycle() {
            let (mut connection, _) = listener.accept().await.unwrap();
            let mut request = [0; 4096];
            let _ = connection.read(&mut request).await;
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            let _ = connection.write_all(head.as_bytes()).await;
        }
    });
    let mut environment = Environment::new();
    for _ in 0..5 {
        let server = environment.start("kube-apiserver", &environment.server_flags(&url));
        until("it waits for etcd", async || {
            environment.log("kube-apiserver").contains("etcd does not answer")
        })
        .await;
        environment.signal(server, "TERM");
        environment.ended(server).await;
    }
    environment.start_etcd().await;
    let flags = environment.server_flags(&environment.etcd_url());
    let server = environment.start_program(std::path::Path::new(PROGRAM), "apiserver", &flags);
    until("it waits for etcd", async || environment.log("apiserver").contains("etcd does not answer")).await;
    environment.signal(server, "TERM");
    environment.ended(server).await;
}
