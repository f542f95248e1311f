//! The end of a server whose clients do not take part in it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use kube::api::WatchParams;
use rustls::pki_types::ServerName;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::process::Process;

/// Less than the time that the end of connections takes if clients are waited for, which is 10 s.
const SHORT: Duration = Duration::from_secs(5);

/// Opens a connection, sends these bytes over it, and never reads.
async fn silent(process: &Process, protocol: &str, bytes: &[u8]) -> TlsStream<TcpStream> {
    let kubeconfig = std::fs::read_to_string(process.kubeconfig()).unwrap();
    let address = kubeconfig.lines().find_map(|line| line.trim().strip_prefix("server: https://")).unwrap();
    let pki = process.kubeconfig().parent().unwrap().join("pki");
    let read = |name: &str| std::fs::read(pki.join(name)).unwrap();
    let mut roots = rustls::RootCertStore::empty();
    let certificates = |pem: Vec<u8>| {
        use rustls::pki_types::pem::PemObject as _;
        rustls::pki_types::CertificateDer::pem_slice_iter(&pem).map(Result::unwrap).collect::<Vec<_>>()
    };
    roots.add_parsable_certificates(certificates(read("ca.crt")));
    let key = {
        use rustls::pki_types::pem::PemObject as _;
        rustls::pki_types::PrivateKeyDer::from_pem_slice(&read("admin.key")).unwrap()
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let mut config = builder
        .unwrap()
        .with_root_certificates(roots)
        .with_client_auth_cert(certificates(read("admin.crt")), key)
        .unwrap();
    config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    stream.flush().await.unwrap();
    stream
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn open_watches_and_silent_clients_do_not_hold_up_the_end_of_a_server_in_memory() {
    let home = TempDir::new().unwrap();
    let mut process =
        Process::spawn_in(home.path(), "server", &["--storage-backend=memory", "--secure-port=0"]);
    process.announced();
    let maps = process.config_maps().await;
    let mut watched = maps.watch(&WatchParams::default(), "0").await.unwrap().boxed();
    // The preface of HTTP/2 with empty settings, and a watch over HTTP/1.1.
    let settings = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00";
    let watch = b"GET /api/v1/namespaces?watch=1 HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let _silent = (silent(&process, "h2", settings).await, silent(&process, "http/1.1", watch).await);
    let begun = Instant::now();
    process.signal("TERM");
    assert!(process.ended().await.success());
    let took = begun.elapsed();
    assert!(took < SHORT, "{took:?}: {}", process.logged());
    println!("ended after {took:?}");
    while let Some(event) = watched.next().await {
        assert!(event.is_ok(), "the watch ends in order: {event:?}");
    }
}
