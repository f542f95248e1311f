//! A low limit on open files.

use std::fs::File;
use std::net::SocketAddr;
use std::time::Duration;

use kube::api::PostParams;
use kube::config::Kubeconfig;
use tempfile::TempDir;
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpSocket, TcpStream};

use crate::process::Process;
use crate::{PATIENCE, config_map};

/// Allows 128 connections, of which one address gets half.
const LIMIT: usize = 256;
const SHARE: usize = 64;

fn start_limited(home: &TempDir, prepare: &str) -> Process {
    let directory = home.path().join("data");
    let log = File::create(directory.with_extension("log")).unwrap();
    let mut process = Process::spawn_prepared(&directory, &[], prepare, log.into());
    process.announced();
    process
}

fn address(process: &Process) -> SocketAddr {
    let kubeconfig = Kubeconfig::read_from(process.kubeconfig()).unwrap();
    let server = kubeconfig.clusters[0].cluster.clone().unwrap().server.unwrap();
    server.trim_start_matches("https://").parse().unwrap()
}

/// A connection from another address of this machine, over which nothing is sent.
async fn connect(server: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
    socket.connect(server).await.unwrap()
}

/// Returns whether the server has closed the connection, which it does at once or not for a while.
async fn is_closed(stream: &mut TcpStream) -> bool {
    tokio::time::timeout(Duration::from_secs(3), stream.read_u8()).await.is_ok()
}

#[tokio::test]
async fn connections_of_one_address_leave_descriptors_for_others_and_for_storage() {
    let home = TempDir::new().unwrap();
    let process = start_limited(&home, &format!("ulimit -n {LIMIT}"));
    let server = address(&process);
    let maps = process.config_maps().await;
    let mut hostile = Vec::new();
    for _ in 0..2 * LIMIT {
        hostile.push(connect(server).await);
    }
    // Connections are accepted in order: when the last one is closed, all have been accepted or closed.
    assert!(is_closed(hostile.last_mut().unwrap()).await, "one address does not get everything");
    let open = futures::future::join_all(hostile.iter_mut().map(is_closed)).await;
    let open = open.into_iter().filter(|is_closed| !is_closed).count();
    assert!((SHARE / 2..=SHARE).contains(&open), "{open} of {} connections stay open", hostile.len());

    // Another client connects, and writes.
    let client = crate::client(process.kubeconfig()).await;
    let others: kube::Api<k8s_openapi::api::core::v1::ConfigMap> = kube::Api::default_namespaced(client);
    for number in 0..20 {
        let object = config_map(&format!("map-{number}"), "");
        tokio::time::timeout(PATIENCE, others.create(&PostParams::default(), &object))
            .await
            .unwrap()
            .unwrap();
    }
    maps.get("map-19").await.unwrap();
    let logged = process.logged();
    assert_eq!(logged.matches("the limit on open files allows few connections").count(), 1, "{logged}");
    assert_eq!(logged.matches("connections were refused").count(), 1, "{logged}");
    assert!(!logged.contains("Too many open files"), "{logged}");
}

#[tokio::test]
async fn the_limit_on_open_files_is_raised_as_far_as_it_may() {
    let home = TempDir::new().unwrap();
    let process = start_limited(&home, &format!("ulimit -S -n {LIMIT}"));
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", process.id())).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let [soft, hard] = [3, 4].map(|column| line.split_whitespace().nth(column).unwrap());
    assert_eq!(soft, hard, "{line}");
}
