//! Authentication of requests: certificates that expire, headers that cannot be read, and the server's own
//! identity.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use apiserver::testing::TestServer;
use http::{HeaderValue, Request};
use http_body_util::Full;
use hyper::body::Bytes;
use rcgen::{CertificateParams, DistinguishedName, DnType, Issuer, KeyPair, SigningKey as _};
use rustls::ClientConfig;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use x509_parser::prelude::{FromDer as _, X509Certificate};

use super::client::{Answer, Connection, Protocol, showing, tls, tls_with};

/// Connections last beyond a refusal.
const LASTING: &str = "--feature-gates=UnauthenticatedHTTP2DOSMitigation=false";
const REVIEW: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

/// Returns the server's own authority.
fn authority(server: &TestServer) -> Issuer<'static, KeyPair> {
    let read =
        |file: &str| std::fs::read_to_string(server.directory().path().join("pki").join(file)).unwrap();
    Issuer::from_ca_cert_pem(&read("ca.crt"), KeyPair::from_pem(&read("ca.key")).unwrap()).unwrap()
}

fn now_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// Returns a certificate of the administrator `zora`, valid between these times.
fn issue(server: &TestServer, key: &KeyPair, seconds: (u64, u64)) -> CertificateDer<'static> {
    issue_to(server, key, ("zora", "system:masters"), seconds)
}

/// Returns a connection of a user with a certificate of the server's authority.
pub async fn connect_as(server: &TestServer, user: &str, group: &str) -> Connection {
    let key = KeyPair::generate().unwrap();
    let certificate = issue_to(server, &key, (user, group), (now_seconds() - 60, now_seconds() + 3600));
    connect(server, &showing(server, certificate, &key)).await
}

fn issue_to(
    server: &TestServer,
    key: &KeyPair,
    (user, group): (&str, &str),
    seconds: (u64, u64),
) -> CertificateDer<'static> {
    let moment = |seconds| rcgen::date_time_ymd(1970, 1, 1) + Duration::from_secs(seconds);
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name = DistinguishedName::new();
    parameters.distinguished_name.push(DnType::CommonName, user);
    parameters.distinguished_name.push(DnType::OrganizationName, group);
    parameters.not_before = moment(seconds.0);
    parameters.not_after = moment(seconds.1);
    parameters.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ClientAuth];
    parameters.signed_by(key, &authority(server)).unwrap().der().clone()
}

async fn connect(server: &TestServer, config: &Arc<ClientConfig>) -> Connection {
    Connection::over(tls_with(server, config.clone()).await, Protocol::Http2).await
}

/// Returns the user of a request according to the server, or its refusal.
async fn review(
    connection: &mut Connection,
    headers: &[(&'static str, &[u8])],
) -> Result<String, (u16, String)> {
    let mut request =
        Request::post(REVIEW).header("host", "localhost").header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, HeaderValue::from_bytes(value).unwrap());
    }
    let body = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let answer = connection.send(request.body(Full::new(Bytes::from(body.to_string()))).unwrap()).await;
    let text = |answer: &Answer, pointer: &str| {
        answer.json().pointer(pointer).and_then(serde_json::Value::as_str).unwrap_or_default().to_owned()
    };
    match answer.status {
        201 => Ok(text(&answer, "/status/userInfo/username")),
        status => Err((status, text(&answer, "/message"))),
    }
}

#[tokio::test]
async fn a_client_certificate_ends_on_living_connections_and_resumed_sessions() {
    let server = TestServer::builder().memory().flag(LASTING).start().await.unwrap();
    let key = KeyPair::generate().unwrap();
    let end = now_seconds() + 6;
    let config = showing(&server, issue(&server, &key, (end - 3600, end)), &key);
    let mut living = connect(&server, &config).await;
    assert_eq!(review(&mut living, &[]).await.as_deref(), Ok("zora"));

    let refusal = loop {
        match review(&mut living, &[]).await {
            Ok(user) => assert_eq!(user, "zora"),
            Err(refusal) => break refusal,
        }
        assert!(now_seconds() < end + 60, "the certificate goes on");
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    assert!(now_seconds() >= end, "too early");
    assert_eq!(refusal.0, 401);
    assert!(refusal.1.starts_with("Unauthorized: the client certificate expired at "), "{}", refusal.1);
    let token: &[(&str, &[u8])] = &[("authorization", b"Bearer alice-token")];
    assert_eq!(review(&mut living, token).await.as_deref(), Ok("alice"), "a token still counts");

    let resumed = tls_with(&server, config.clone()).await;
    assert_eq!(resumed.get_ref().1.handshake_kind(), Some(rustls::HandshakeKind::Resumed));
    let mut resumed = Connection::over(resumed, Protocol::Http2).await;
    assert_eq!(review(&mut resumed, &[]).await, Err(refusal));
    server.stop().await;
}

#[tokio::test]
async fn a_client_certificate_does_not_count_before_its_beginning() {
    let server = TestServer::builder().memory().flag(LASTING).start().await.unwrap();
    let key = KeyPair::generate().unwrap();
    let start = now_seconds() + 6;
    let config = showing(&server, issue(&server, &key, (start, start + 3600)), &key);
    let mut connection = connect(&server, &config).await;
    let (status, message) = review(&mut connection, &[]).await.unwrap_err();
    assert_eq!(status, 401);
    assert!(message.starts_with("Unauthorized: the client certificate is not valid before "), "{message}");
    while let Err((status, message)) = review(&mut connection, &[]).await {
        assert_eq!(status, 401, "{message}");
        assert!(now_seconds() < start + 60, "it never begins: {message}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(now_seconds() >= start, "too early");
    server.stop().await;
}

/// Returns the same certificate in version 1: without extensions, signed again.
fn as_version_1(
    server: &TestServer,
    certificate: &CertificateDer<'_>,
    validity: &[u8; 32],
) -> CertificateDer<'static> {
    fn tagged(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
        let content = parts.concat();
        let [high, low] = u16::try_from(content.len()).unwrap().to_be_bytes();
        [&[tag, 0x82, high, low][..], &content].concat()
    }
    const ECDSA_WITH_SHA256: &[u8] =
        &[0x30, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02];
    let (_, parsed) = X509Certificate::from_der(certificate).unwrap();
    let names = (parsed.issuer().as_raw(), parsed.subject().as_raw());
    let serial = tagged(0x02, &[&[1]]);
    let content =
        tagged(0x30, &[&serial, ECDSA_WITH_SHA256, names.0, validity, names.1, parsed.public_key().raw]);
    let signature = authority(server).key().sign(&content).unwrap();
    tagged(0x30, &[&content, ECDSA_WITH_SHA256, &tagged(0x03, &[&[0], &signature])]).into()
}

const PRESENT: &[u8; 32] = b"\x30\x1e\x17\x0d200101000000Z\x17\x0d490101000000Z";
const PAST: &[u8; 32] = b"\x30\x1e\x17\x0d200101000000Z\x17\x0d210101000000Z";
const FUTURE: &[u8; 32] = b"\x30\x1e\x17\x0d470101000000Z\x17\x0d490101000000Z";

#[tokio::test]
async fn a_certificate_of_version_1_counts_if_an_authority_has_issued_it() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let other = TestServer::builder().memory().start().await.unwrap();
    let key = KeyPair::generate().unwrap();
    let always = (0, now_seconds() + 3600);
    let own = issue(&server, &key, always);
    let good = as_version_1(&server, &own, PRESENT);
    let newest = showing(&server, good.clone(), &key);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS12])
        .unwrap();
    let mut roots = rustls::RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(server.ca_pem().as_bytes()) {
        roots.add(certificate.unwrap()).unwrap();
    }
    let mut old = builder.with_root_certificates(roots).with_no_client_auth();
    old.alpn_protocols = vec![b"h2".to_vec()];
    old.client_auth_cert_resolver = newest.client_auth_cert_resolver.clone();
    for config in [newest, Arc::new(old)] {
        let mut connection = connect(&server, &config).await;
        assert_eq!(review(&mut connection, &[]).await.as_deref(), Ok("zora"));
    }

    let mut forged = good.to_vec();
    let last = forged.len() - 1;
    forged[last] ^= 1;
    let mut renamed = good.to_vec();
    let name = renamed.windows(4).position(|part| part == b"zora").unwrap();
    renamed[name] = b'Z';
    // Signed by another authority, with the name of this one.
    let stolen = as_version_1(&other, &own, PRESENT);
    let strange = as_version_1(&other, &issue(&other, &key, always), PRESENT);
    let not_issued = "is of X.509 version 1, and none of the authorities has issued it directly";
    for (certificate, reason) in [
        (forged.into(), not_issued),
        (renamed.into(), not_issued),
        (stolen, not_issued),
        (strange, not_issued),
        (as_version_1(&server, &own, PAST), "the client certificate expired at 2021-01-01T00:00:00Z"),
        (as_version_1(&server, &own, FUTURE), "is not valid before 2047-01-01T00:00:00Z"),
    ] {
        let mut connection = connect(&server, &showing(&server, certificate, &key)).await;
        let (status, message) = review(&mut connection, &[]).await.unwrap_err();
        assert!(status == 401 && message.contains(reason), "{message}");
    }
    server.stop().await;
    other.stop().await;
}

#[tokio::test]
async fn certificates_that_do_not_count_are_refused_with_a_reason() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let other = TestServer::builder().memory().start().await.unwrap();
    let key = KeyPair::generate().unwrap();
    let always = (0, now_seconds() + 3600);
    let mut connection = connect(&server, &showing(&server, issue(&other, &key, always), &key)).await;
    let (status, message) = review(&mut connection, &[]).await.unwrap_err();
    assert_eq!(status, 401, "{message}");
    let reason =
        "Unauthorized: the client certificate is not accepted: x509: certificate signed by unknown authority";
    assert_eq!(message, reason);
    // With a key that does not belong to the certificate, the handshake fails, whatever the version.
    let mine = issue(&server, &key, always);
    for certificate in [as_version_1(&server, &mine, PRESENT), mine] {
        let config = showing(&server, certificate, &KeyPair::generate().unwrap());
        let stream = tls_with(&server, config).await;
        let request = Request::get("/version").body(Full::default()).unwrap();
        let mut connection = Connection::over(stream, Protocol::Http2).await;
        assert!(connection.try_send(request).await.is_none());
    }
}

#[tokio::test]
async fn impersonation_never_falls_back_to_the_callers_rights() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let admin: (&str, &[u8]) = ("authorization", b"Bearer admin-token");
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let mut connection = Connection::open(&server, protocol).await;
        let named = review(&mut connection, &[admin, ("impersonate-user", "jürgen".as_bytes())]).await;
        assert_eq!(named.as_deref(), Ok("jürgen"));
        let carol: (&str, &[u8]) = ("impersonate-user", b"carol");
        for unreadable in [
            &[("impersonate-user", &b"j\xfcrgen"[..])][..],
            &[("impersonate-user", b"")],
            &[carol, carol],
            &[carol, ("impersonate-group", b"\xff")],
            &[carol, ("impersonate-extra-k", b"\xff")],
        ] {
            let headers: Vec<_> = [&[admin], unreadable].concat();
            let (status, message) = review(&mut connection, &headers).await.unwrap_err();
            assert_eq!(status, 400, "{unreadable:?}: {message}");
        }
        for (credentials, status) in [
            (&[("authorization", &b"Bearer j\xfcrgen"[..])][..], 401),
            (&[admin, ("authorization", b"Bearer alice-token")], 400),
            // Another scheme shows no token, as in kube-apiserver: the request is anonymous.
            (&[("authorization", b"Basic YTpi")], 403),
        ] {
            // A request without a user may end its connection.
            let mut connection = Connection::open(&server, protocol).await;
            let refused = review(&mut connection, credentials).await.unwrap_err();
            assert_eq!(refused.0, status, "{credentials:?}: {}", refused.1);
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn proxies_never_reach_the_server_itself() {
    let server = TestServer::builder().memory().reach_local_workloads().start().await.unwrap();
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    let port = server.address().port();
    for (index, address) in ["127.0.0.1", "127.0.0.2", "0.0.0.0", "::1", "localhost"].into_iter().enumerate()
    {
        let name = format!("n{index}");
        let node = json!({"metadata": {"name": name}, "status": {
            "addresses": [{"type": "InternalIP", "address": address}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        }});
        let made = connection.call("POST", "/api/v1/nodes", &node).await;
        assert_eq!(made.status, 201, "{}", made.text());
        let path = format!("/api/v1/nodes/{name}/proxy/api/v1/secrets");
        let refused = connection.call("GET", &path, &json!(null)).await;
        assert_eq!(refused.status, 400, "{address}: {}", refused.text());
        let message = refused.json()["message"].as_str().unwrap().to_owned();
        assert!(message.ends_with("is this server's own"), "{address}: {message}");
    }
    server.stop().await;
}

#[tokio::test]
async fn http1_requests_need_one_host() {
    let server = TestServer::builder().memory().start().await.unwrap();
    for (host, status) in [
        ("", "400 Bad Request"),
        ("host: a\r\nhost: b\r\n", "400 Bad Request"),
        ("host: a b\r\n", "400 Bad Request"),
        ("host: localhost\r\n", "200 OK"),
    ] {
        let mut stream = tls(&server, "http/1.1").await;
        stream.write_all(format!("GET /livez HTTP/1.1\r\n{host}\r\n").as_bytes()).await.unwrap();
        let mut answer = vec![0; 4096];
        let read = stream.read(&mut answer).await.unwrap();
        let answer = String::from_utf8_lossy(&answer[..read]).into_owned();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{host:?}: {answer}");
        if status.starts_with("400") {
            assert!(answer.contains("connection: close"), "{answer}");
            assert!(answer.contains("400 Bad Request: "), "{answer}");
        }
    }
    let mut stream = tls(&server, "http/1.1").await;
    stream.write_all(b"GET /livez HTTP/1.0\r\n\r\n").await.unwrap();
    let mut answer = vec![0; 4096];
    let read = stream.read(&mut answer).await.unwrap();
    assert!(answer[..read].starts_with(b"HTTP/1.0 200"), "HTTP/1.0 has no host");
    server.stop().await;
}
