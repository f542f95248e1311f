//! TLS as the flags say: versions, suites, certificates by host name.

use std::sync::Arc;

use apiserver::testing::TestServer;
use rustls::{ClientConfig, ProtocolVersion, RootCertStore};
use rustls_pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// Returns what a client of these versions agrees with the server on: the version, the suite, and the certificate.
async fn handshake(
    server: &TestServer,
    name: &str,
    versions: &[&'static rustls::SupportedProtocolVersion],
    roots: RootCertStore,
) -> Option<(ProtocolVersion, String, Vec<u8>)> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let stream = TcpStream::connect(server.address()).await.unwrap();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.ok()?;
    let (_, state) = stream.get_ref();
    let suite = format!("{:?}", state.negotiated_cipher_suite().unwrap().suite());
    let protocol = String::from_utf8(state.alpn_protocol().unwrap().to_vec()).unwrap();
    let certificate = state.peer_certificates().unwrap()[0].to_vec();
    Some((state.protocol_version().unwrap(), format!("{suite} {protocol}"), certificate))
}

fn roots(server: &TestServer, others: &[&rcgen::Certificate]) -> RootCertStore {
    use rustls_pki_types::pem::PemObject as _;
    let mut roots = RootCertStore::empty();
    let own = rustls_pki_types::CertificateDer::pem_slice_iter(server.ca_pem().as_bytes()).flatten();
    roots.add_parsable_certificates(own);
    for other in others {
        roots.add(other.der().clone()).unwrap();
    }
    roots
}

#[tokio::test]
async fn versions_suites_and_protocols_are_limited() {
    use rustls::version::{TLS12, TLS13};
    let newest = TestServer::builder().memory().flag("--tls-min-version=VersionTLS13").start().await.unwrap();
    assert!(handshake(&newest, "localhost", &[&TLS12], roots(&newest, &[])).await.is_none());
    let agreed = handshake(&newest, "localhost", &[&TLS12, &TLS13], roots(&newest, &[])).await.unwrap();
    assert_eq!(agreed.0, ProtocolVersion::TLSv1_3);

    let limited = TestServer::builder()
        .memory()
        .flag("--tls-cipher-suites=TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305")
        .flag("--disable-http2-serving")
        .start()
        .await
        .unwrap();
    let agreed = handshake(&limited, "localhost", &[&TLS12], roots(&limited, &[])).await.unwrap();
    assert_eq!(agreed.1, "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 http/1.1");
    for (flag, reason) in [
        ("--tls-min-version=VersionTLS10", "lowest version is VersionTLS12"),
        ("--tls-min-version=1.2", "unknown tls version"),
        ("--tls-cipher-suites=TLS_RSA_WITH_AES_128_CBC_SHA", "not built in"),
        ("--tls-curve-preferences=25", "use 29 (X25519)"),
        ("--tls-sni-cert-key=x", "comma separated certificate and key"),
        ("--tls-sni-cert-key=/nope.crt,/nope.key", "cannot read /nope.crt"),
    ] {
        let refused = TestServer::builder().memory().flag(flag).start().await.err().unwrap();
        assert!(refused.to_string().contains(reason), "{flag}: {refused}");
    }
}

#[tokio::test]
async fn each_host_name_has_its_certificate() {
    use rustls::version::TLS13;
    let directory = tempfile::tempdir().unwrap();
    let make = |file: &str, names: &[&str]| {
        let key = rcgen::KeyPair::generate().unwrap();
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let certificate = rcgen::CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
        let [certificate_path, key_path] =
            ["crt", "key"].map(|kind| directory.path().join(format!("{file}.{kind}")));
        std::fs::write(&certificate_path, certificate.pem()).unwrap();
        std::fs::write(&key_path, key.serialize_pem()).unwrap();
        (certificate, format!("{},{}", certificate_path.display(), key_path.display()))
    };
    let (first, first_files) = make("first", &["api.example.com"]);
    let (second, second_files) = make("second", &["a.example.org", "b.example.org"]);
    let server = TestServer::builder()
        .memory()
        .flag(format!("--tls-sni-cert-key={first_files}"))
        .flag(format!("--tls-sni-cert-key={second_files}:*.example.org"))
        .start()
        .await
        .unwrap();
    let shown = async |name: &str| {
        let agreed = handshake(&server, name, &[&TLS13], roots(&server, &[&first, &second])).await;
        agreed.map(|(_, _, certificate)| certificate)
    };
    assert_eq!(shown("api.example.com").await.unwrap(), first.der().to_vec());
    assert_eq!(shown("API.example.com").await.unwrap(), first.der().to_vec());
    assert_eq!(shown("b.example.org").await.unwrap(), second.der().to_vec());
    let own = shown("localhost").await.unwrap();
    assert!(own != first.der().to_vec() && own != second.der().to_vec());
    // Any other name is shown the server's own certificate, which is not valid for it.
    assert!(shown("c.example.net").await.is_none());
}
