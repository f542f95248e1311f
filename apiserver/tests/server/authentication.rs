//! Each authenticator, over TLS, with what attackers show.

mod bootstrap_tokens;
mod front_proxies;
mod https_peer;
mod issuer;
mod oidc;
mod token_webhook;

use std::sync::Arc;
use std::time::Duration;

use apiserver::testing::TestServer;
use http::Request;
use http_body_util::Full;
use hyper::body::Bytes;
use rcgen::{BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair};
use rustls::ClientConfig;
use rustls_pki_types::pem::PemObject as _;
use serde_json::{Value, json};

use super::client::{Answer, Connection, Protocol, request, showing};

const REVIEW: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const TOKEN_REVIEW: &str = "/apis/authentication.k8s.io/v1/tokenreviews";
/// Maximum time that a test waits for something that must happen.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A certificate authority.
struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name = DistinguishedName::new();
        parameters.distinguished_name.push(DnType::CommonName, name);
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = parameters.self_signed(&key).unwrap().pem();
        Self { pem, issuer: Issuer::new(parameters, key) }
    }

    /// Returns the TLS configuration of a client that shows a certificate with this common name.
    fn client(&self, server: &TestServer, common_name: &str) -> Arc<ClientConfig> {
        let key = KeyPair::generate().unwrap();
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name = DistinguishedName::new();
        parameters.distinguished_name.push(DnType::CommonName, common_name);
        parameters.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ClientAuth];
        let certificate = parameters.signed_by(&key, &self.issuer).unwrap().der().clone();
        showing(server, certificate, &key)
    }
}

async fn connect(server: &TestServer, config: Arc<ClientConfig>) -> Connection {
    Connection::open_with(server, config).await
}

async fn send(
    connection: &mut Connection,
    (method, path): (&str, &str),
    headers: &[(&str, &str)],
    body: Value,
) -> Answer {
    connection.send(request(method, path, headers, &body)).await
}

/// Returns the user that the server takes the sender of these headers for, or the status of its refusal.
async fn who(connection: &mut Connection, headers: &[(&str, &str)]) -> Result<Value, u16> {
    let answer = send(connection, ("POST", REVIEW), headers, json!({})).await;
    match answer.status {
        201 => Ok(answer.json()["status"]["userInfo"].clone()),
        status => Err(status),
    }
}

/// Returns the user of a token, or the status of its refusal.
async fn user_of(connection: &mut Connection, token: &str) -> Result<Value, u16> {
    who(connection, &[("authorization", &format!("Bearer {token}"))]).await
}

/// Returns the status of a review of a token by an administrator.
async fn review(connection: &mut Connection, token: &str, audiences: Value) -> Value {
    let body = json!({"spec": {"token": token, "audiences": audiences}});
    let admin = [("authorization", "Bearer admin-token")];
    send(connection, ("POST", TOKEN_REVIEW), &admin, body).await.json()["status"].clone()
}

/// Writes a file of a test, and returns its path.
fn write(directory: &std::path::Path, name: &str, text: &str) -> String {
    let path = directory.join(name);
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[tokio::test]
async fn browsers_show_their_token_as_a_subprotocol_of_a_websocket() {
    use base64::Engine as _;
    let server = TestServer::builder().memory().start().await.unwrap();
    let mut connection = Connection::open(&server, Protocol::Http1).await;
    let encoded = |token: &str| {
        let token = base64::prelude::BASE64_URL_SAFE_NO_PAD.encode(token);
        format!("base64url.bearer.authorization.k8s.io.{token}")
    };
    let mut named = async |protocols: &str| {
        let headers =
            [("connection", "upgrade"), ("upgrade", "websocket"), ("sec-websocket-protocol", protocols)];
        who(&mut connection, &headers).await.map(|user| user["username"].clone())
    };
    assert_eq!(named(&format!("{}, v4.channel.k8s.io", encoded("alice-token"))).await, Ok(json!("alice")));
    assert_eq!(named(&format!("{}, v4.channel.k8s.io", encoded("zork"))).await, Err(401));
    assert_eq!(named(&encoded("alice-token")).await, Err(401), "there must be another one");
    assert_eq!(named("v4.channel.k8s.io").await, Err(403), "anonymous");
    server.stop().await;
}

#[tokio::test]
async fn the_header_of_a_token_is_read_as_by_kubernetes() {
    const WARNING: &str = "299 - \"the provided Authorization header contains extra space before the bearer token, and is ignored\"";
    for is_anonymous_allowed in [true, false] {
        let builder = TestServer::builder().memory();
        let builder = builder.flag(format!("--anonymous-auth={is_anonymous_allowed}"));
        let server = builder.start().await.unwrap();
        let nobody = if is_anonymous_allowed { "system:anonymous" } else { "" };
        for protocol in [Protocol::Http1, Protocol::Http2] {
            for (header, user, is_warned) in [
                ("Bearer alice-token", "alice", false),
                ("BEARER alice-token", "alice", false),
                ("Bearer alice-token x", "alice", false),
                ("Bearer  alice-token", nobody, true),
                ("Bearer   alice-token x", nobody, true),
                ("Bearer", nobody, false),
                ("alice-token", nobody, false),
                ("Basic YWxpY2U6YWxpY2UtdG9rZW4=", nobody, false),
                ("Digest username=\"alice\", response=\"0\"", nobody, false),
                ("Bearer zork", "", false),
            ] {
                let mut connection = Connection::open(&server, protocol).await;
                let shown = [("authorization", header)];
                // Not allowed to anybody, so that the refusal names the user.
                let answer = send(&mut connection, ("GET", "/zork"), &shown, Value::Null).await;
                let (status, name) = if user.is_empty() { (401, "Unauthorized") } else { (403, user) };
                assert_eq!(answer.status, status, "{header}: {}", answer.text());
                assert!(answer.text().contains(name), "{header}: {}", answer.text());
                let warnings: Vec<_> = answer.headers.get_all("warning").iter().collect();
                assert_eq!(warnings, if is_warned { vec![WARNING] } else { vec![] }, "{header}");
            }
        }
        server.stop().await;
    }
}

/// Clients of Kubernetes' test environments trust the certificates that these put into `--cert-dir`.
#[tokio::test]
async fn a_certificate_that_is_put_into_the_directory_is_served() {
    let directory = tempfile::tempdir().unwrap();
    let (serving, clients) = (Authority::new("serving-ca"), Authority::new("client-ca"));
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = certificate.signed_by(&key, &serving.issuer).unwrap();
    write(directory.path(), "apiserver.crt", &certificate.pem());
    write(directory.path(), "apiserver.key", &key.serialize_pem());
    let client_ca = write(directory.path(), "client-cert-auth-ca.crt", &clients.pem);
    for _start in ["first", "second"] {
        let server = TestServer::builder()
            .memory()
            .flag(format!("--cert-dir={}", directory.path().display()))
            .flag(format!("--client-ca-file={client_ca}"))
            .flag("--authorization-mode=RBAC")
            .flag("--allow-privileged=true")
            .flag("--disable-admission-plugins=ServiceAccount")
            .start()
            .await
            .unwrap();
        let mut config = (*clients.client(&server, "envtest")).clone();
        let mut roots = rustls::RootCertStore::empty();
        let authority = rustls_pki_types::CertificateDer::from_pem_slice(serving.pem.as_bytes());
        roots.add(authority.unwrap()).unwrap();
        let verifier = rustls::client::WebPkiServerVerifier::builder_with_provider(
            Arc::new(roots),
            Arc::new(rustls::crypto::ring::default_provider()),
        );
        config.dangerous().set_certificate_verifier(verifier.build().unwrap());
        let mut connection = connect(&server, Arc::new(config)).await;
        assert_eq!(who(&mut connection, &[]).await.unwrap()["username"], "envtest");
        server.stop().await;
    }
}
