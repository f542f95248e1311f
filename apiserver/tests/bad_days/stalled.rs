//! Watch clients that stall: their memory is bounded, and they get an error when they have missed events.

use std::sync::Arc;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::config::Kubeconfig;
use registry_core::storage::Revision;
use rustls_pki_types::CertificateDer;
use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::process::Process;
use crate::{PATIENCE, config_map};

const TOKEN: &str = "stalled-token";
const CLIENTS: usize = 20;
const WRITES: usize = 150;
const OBJECT_BYTES: usize = 200_000;
/// Number of events that the cache keeps.
const HISTORY_EVENTS: usize = 20;
/// Buffering everything for every client would take 600 MB; the history, and the bytes on their way to each
/// client, are much less.
const MAX_GROWTH_BYTES: usize = 150 << 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_stand_still_cost_bounded_memory_and_learn_that_they_fell_off() {
    let home = TempDir::new().unwrap();
    let tokens = home.path().join("tokens.csv");
    std::fs::write(&tokens, format!("{TOKEN},admin,admin,system:masters\n")).unwrap();
    let flags = [
        format!("--token-auth-file={}", tokens.display()),
        format!("--watch-cache-sizes=configmaps#{HISTORY_EVENTS}"),
    ];
    let process = Process::start_with(&home.path().join("data"), &[&flags[0], &flags[1]]);
    let maps = process.config_maps().await;
    maps.create(&PostParams::default(), &config_map("large", "")).await.unwrap();
    // The memory that the store and the cache need for the same load without these clients is not counted.
    let revision = write(&maps, 0).await;
    let before = process.resident_bytes();
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        clients.push(watch(&process, revision).await);
    }
    write(&maps, 1).await;
    let growth = process.resident_bytes().saturating_sub(before);
    assert!(growth < MAX_GROWTH_BYTES, "{CLIENTS} clients that stand still cost {} MiB", growth >> 20);
    let output = read_to_end(clients.pop().unwrap()).await;
    assert!(output.contains(r#""type":"MODIFIED""#), "what was on its way arrives");
    let last = output.rsplit(r#"{"type":"#).next().unwrap();
    assert!(last.starts_with(r#""ERROR""#) && last.contains(r#""code":410"#), "{last}");
}

async fn write(maps: &Api<ConfigMap>, round: usize) -> Revision {
    let mut revision = 0;
    for number in 0..WRITES {
        let data = json!({"round": round.to_string(), "number": number.to_string(), "value": "x".repeat(OBJECT_BYTES)});
        let patch = Patch::Merge(json!({"data": data}));
        let patched = maps.patch("large", &PatchParams::default(), &patch).await.unwrap();
        revision = patched.metadata.resource_version.unwrap().parse().unwrap();
    }
    revision
}

/// Requests a watch, and reads only the head of the response.
async fn watch(process: &Process, revision: Revision) -> TlsStream<TcpStream> {
    let kubeconfig = Kubeconfig::read_from(process.kubeconfig()).unwrap();
    let cluster = kubeconfig.clusters[0].cluster.clone().unwrap();
    let address = cluster.server.unwrap().trim_start_matches("https://").to_owned();
    let options = kube::config::KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options);
    let mut roots = rustls::RootCertStore::empty();
    for certificate in config.await.unwrap().root_cert.unwrap() {
        roots.add(CertificateDer::from(certificate)).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls =
        rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let tls = tls.with_root_certificates(roots).with_no_client_auth();
    let stream = TcpStream::connect(address).await.unwrap();
    let mut stream =
        TlsConnector::from(Arc::new(tls)).connect("localhost".try_into().unwrap(), stream).await.unwrap();
    let path = format!("/api/v1/namespaces/default/configmaps?watch=true&resourceVersion={revision}");
    let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
    stream
}

/// Returns everything up to the last chunk of the response.
async fn read_to_end(mut stream: TlsStream<TcpStream>) -> String {
    let begun = Instant::now();
    let mut output = Vec::new();
    while !output.ends_with(b"0\r\n\r\n") {
        assert!(begun.elapsed() < PATIENCE, "the watch does not end");
        let read = tokio::time::timeout(Duration::from_secs(20), stream.read_buf(&mut output)).await;
        assert_ne!(read.expect("something comes").unwrap(), 0, "the answer breaks off");
    }
    String::from_utf8(output).unwrap()
}
