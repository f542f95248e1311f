use super::https_peer::{HttpsPeer, Received};
use super::*;
use crate::tls_server::{ClientCertificate, TlsServer};

fn kubeconfig(peer: &HttpsPeer) -> String {
    use base64::Engine as _;
    let authority = base64::prelude::BASE64_STANDARD.encode(peer.ca_pem());
    json!({
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "s", "user": "u"}}],
        "clusters": [{"name": "s", "cluster": {
            "server": format!("{}/review", peer.url()), "certificate-authority-data": authority,
        }}],
        "users": [{"name": "u", "user": {"token": "of-the-server"}}],
    })
    .to_string()
}

/// Knows the token `good`, and is asked in the version that it is asked in.
fn knows_good(received: &Received) -> (u16, String) {
    let review: Value = serde_json::from_slice(&received.body).unwrap();
    assert_eq!((&review["kind"], received.path.as_str()), (&json!("TokenReview"), "/review"));
    assert_eq!(received.headers["authorization"], "Bearer of-the-server");
    let status = match review["spec"]["token"].as_str().unwrap() {
        "good" => json!({"authenticated": true, "user": {
            "username": "wilma", "uid": "w", "groups": ["webhook"], "extra": {"k": ["v"]},
        }}),
        "vault" => json!({"authenticated": true, "user": {"username": "wilma"}, "audiences": ["vault"]}),
        "nameless" => json!({"authenticated": true, "user": {}}),
        "told" => json!({"authenticated": false, "error": "it is stolen"}),
        _ => json!({"authenticated": false}),
    };
    (200, json!({"apiVersion": review["apiVersion"], "kind": "TokenReview", "status": status}).to_string())
}

async fn start(directory: &std::path::Path, peer: &HttpsPeer) -> (TestServer, Connection) {
    let path = write(directory, "webhook.kubeconfig", &kubeconfig(peer));
    let builder = TestServer::builder().memory();
    let builder = builder.flag(format!("--authentication-token-webhook-config-file={path}"));
    let server = builder.flag("--authentication-token-webhook-version=v1").start().await.unwrap();
    let connection = Connection::open(&server, Protocol::Http2).await;
    (server, connection)
}

#[tokio::test]
async fn the_webhook_is_asked_about_tokens_that_nobody_else_knows() {
    let directory = tempfile::tempdir().unwrap();
    let peer = HttpsPeer::start(knows_good).await;
    let (server, mut connection) = start(directory.path(), &peer).await;
    assert_eq!(user_of(&mut connection, "alice-token").await.unwrap()["username"], "alice");
    assert_eq!(peer.received().len(), 0, "the token file comes first");
    let user = user_of(&mut connection, "good").await.unwrap();
    assert_eq!((&user["username"], &user["uid"]), (&json!("wilma"), &json!("w")));
    assert_eq!(
        (&user["groups"], &user["extra"]),
        (&json!(["webhook", "system:authenticated"]), &json!({"k": ["v"]}))
    );
    let asked: Value = serde_json::from_slice(&peer.received()[0].body).unwrap();
    assert_eq!(asked["apiVersion"], "authentication.k8s.io/v1");
    assert_eq!(asked["spec"]["audiences"], json!(["https://kubernetes.default.svc"]));

    for _ in 0..5 {
        assert!(user_of(&mut connection, "good").await.is_ok());
        assert_eq!(user_of(&mut connection, "bad").await, Err(401));
    }
    assert_eq!(peer.received().len(), 2, "answers are kept");
    for refused in ["vault", "nameless", "told", "wilma"] {
        assert_eq!(user_of(&mut connection, refused).await, Err(401), "{refused}");
    }
    let vault = review(&mut connection, "vault", json!(["vault", "x"])).await;
    assert_eq!((&vault["authenticated"], &vault["audiences"]), (&json!(true), &json!(["vault"])));
    let message = review(&mut connection, "told", json!([])).await;
    assert_eq!(message["error"], "[invalid bearer token, it is stolen]");
    server.stop().await;
}

#[tokio::test]
async fn an_unreadable_answer_is_no_user_and_is_not_kept() {
    let directory = tempfile::tempdir().unwrap();
    let peer = HttpsPeer::start(|_| (403, "go away".to_owned())).await;
    let (server, mut connection) = start(directory.path(), &peer).await;
    assert_eq!(user_of(&mut connection, "good").await, Err(401));
    for answer in [
        "garbage".to_owned(),
        "x".repeat(2 << 20),
        json!({"kind": "SubjectAccessReview", "status": {"authenticated": true, "user": {"username": "x"}}})
            .to_string(),
        json!({"kind": "TokenReview", "status": {"authenticated": "true", "user": {"username": "x"}}})
            .to_string(),
        json!({"kind": "TokenReview"}).to_string(),
    ] {
        let token = format!("token-{}", answer.len());
        peer.answer(move |_| (200, answer.clone()));
        assert_eq!(user_of(&mut connection, &token).await, Err(401));
    }
    peer.answer(knows_good);
    assert!(user_of(&mut connection, "good").await.is_ok());
    server.stop().await;
}

#[tokio::test]
async fn the_webhook_gets_a_token_that_is_read_again_when_it_changes() {
    let directory = tempfile::tempdir().unwrap();
    let peer = HttpsPeer::start(|received| {
        let shown = received.headers["authorization"].to_str().unwrap().to_owned();
        let user = json!({"authenticated": true, "user": {"username": shown}});
        (200, json!({"kind": "TokenReview", "status": user}).to_string())
    })
    .await;
    let token_file = write(directory.path(), "token", "first\n");
    let config = kubeconfig(&peer).replace("\"token\":\"of-the-server\"", "\"tokenFile\":\"token\"");
    let path = write(directory.path(), "webhook.kubeconfig", &config);
    let builder = TestServer::builder().memory().flag("--authentication-token-webhook-cache-ttl=0s");
    let builder = builder.flag(format!("--authentication-token-webhook-config-file={path}"));
    let server = builder.start().await.unwrap();
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    let shown = user_of(&mut connection, "any").await.unwrap()["username"].clone();
    assert_eq!(shown, "Bearer first");
    // A file that is gone or empty for a moment changes nothing.
    for (content, wanted) in [("", "Bearer first"), ("second", "Bearer second")] {
        std::fs::write(&token_file, content).unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(1200)).await;
        let mut shown = Value::Null;
        for _ in 0..40 {
            shown = user_of(&mut connection, "any").await.unwrap()["username"].clone();
            if shown == wanted {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(250)).await;
        }
        assert_eq!(shown, wanted);
    }
    server.stop().await;
}

/// Writes a certificate of this authority for a user, with its key.
fn write_certificate(directory: &std::path::Path, authority: &rcgen::Issuer<'_, rcgen::KeyPair>, user: &str) {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut parameters = rcgen::CertificateParams::default();
    parameters.distinguished_name = rcgen::DistinguishedName::new();
    parameters.distinguished_name.push(rcgen::DnType::CommonName, user);
    parameters.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ClientAuth];
    let certificate = parameters.signed_by(&key, authority).unwrap();
    // The key first: until both are there they do not belong together, and nothing changes.
    write(directory, "client.key", &key.serialize_pem());
    write(directory, "client.crt", &certificate.pem());
}

#[tokio::test]
async fn the_webhook_sees_a_renewed_client_certificate() {
    use http_body_util::BodyExt as _;

    let directory = tempfile::tempdir().unwrap();
    let key = rcgen::KeyPair::generate().unwrap();
    let mut parameters = rcgen::CertificateParams::default();
    parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority_pem = parameters.self_signed(&key).unwrap().pem();
    let authority = rcgen::Issuer::from_ca_cert_pem(&authority_pem, key).unwrap();
    let answer = |request: Request<hyper::body::Incoming>| async move {
        let ClientCertificate(shown) = request.extensions().get::<ClientCertificate>().unwrap().clone();
        let shown = shown.unwrap();
        let (_, certificate) = x509_parser::parse_x509_certificate(&shown).unwrap();
        let name = certificate.subject().iter_common_name().next().unwrap().as_str().unwrap().to_owned();
        request.into_body().collect().await?;
        let status = json!({"authenticated": true, "user": {"username": name}});
        let review = json!({"kind": "TokenReview", "status": status}).to_string();
        Ok::<_, hyper::Error>(http::Response::new(Full::new(Bytes::from(review))))
    };
    let peer = TlsServer::start(&["127.0.0.1"], Some(&authority_pem), answer).await;
    write_certificate(directory.path(), &authority, "first");
    let config = json!({
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "s", "user": "u"}}],
        "clusters": [{"name": "s", "cluster": {
            "server": peer.url("/review"), "certificate-authority-data": peer.ca_bundle(),
        }}],
        "users": [{"name": "u", "user": {"client-certificate": "client.crt", "client-key": "client.key"}}],
    });
    let path = write(directory.path(), "webhook.kubeconfig", &config.to_string());
    let builder = TestServer::builder().memory().flag("--authentication-token-webhook-cache-ttl=0s");
    let builder = builder.flag(format!("--authentication-token-webhook-config-file={path}"));
    let server = builder.start().await.unwrap();
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    for _ in 0..3 {
        assert_eq!(user_of(&mut connection, "any").await.unwrap()["username"], "first");
    }
    assert_eq!(peer.connections(), 1, "the connection is used again");
    write_certificate(directory.path(), &authority, "second");
    let begun = std::time::Instant::now();
    while user_of(&mut connection, "any").await.unwrap()["username"] != "second" {
        assert!(begun.elapsed().as_secs() < 20, "the new certificate is not presented");
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert_eq!(peer.connections(), 2);
    server.stop().await;
}

/// Opens a connection from this address of this machine.
async fn open_from(server: &TestServer, address: [u8; 4]) -> Connection {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind((address, 0).into()).unwrap();
    let stream = socket.connect(server.address()).await.unwrap();
    let connector = tokio_rustls::TlsConnector::from(Arc::new(server.client_tls(&["h2"])));
    let stream = connector.connect("localhost".try_into().unwrap(), stream).await.unwrap();
    Connection::over(stream, Protocol::Http2).await
}

#[tokio::test]
async fn unknown_tokens_from_one_address_lock_nobody_out() {
    use http_body_util::BodyExt as _;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Maximum number of concurrent reviews for an address.
    const AT_ONCE: usize = 32;
    let (hanging, known) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let counted = (hanging.clone(), known.clone());
    let answer = move |request: Request<hyper::body::Incoming>| {
        let (hanging, known) = counted.clone();
        async move {
            let body = request.into_body().collect().await?.to_bytes();
            let review: Value = serde_json::from_slice(&body).unwrap();
            match review["spec"]["token"].as_str().unwrap() {
                "good" => {}
                "known" => drop(known.fetch_add(1, Ordering::SeqCst)),
                _ => {
                    hanging.fetch_add(1, Ordering::SeqCst);
                    std::future::pending::<()>().await;
                }
            }
            let status = json!({"authenticated": true, "user": {"username": review["spec"]["token"]}});
            let review = json!({"kind": "TokenReview", "status": status}).to_string();
            Ok::<_, hyper::Error>(http::Response::new(Full::new(Bytes::from(review))))
        }
    };
    let peer = TlsServer::start(&["127.0.0.1"], None, answer).await;
    let directory = tempfile::tempdir().unwrap();
    let config = json!({
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "s", "user": "u"}}],
        "clusters": [{"name": "s", "cluster": {
            "server": peer.url("/review"), "certificate-authority-data": peer.ca_bundle(),
        }}],
        "users": [{"name": "u", "user": {}}],
    });
    let path = write(directory.path(), "webhook.kubeconfig", &config.to_string());
    let builder = TestServer::builder().memory().flag("--authentication-token-webhook-cache-ttl=1ms");
    let builder = builder.flag(format!("--authentication-token-webhook-config-file={path}"));
    let server = builder.start().await.unwrap();
    let mut first = open_from(&server, [127, 0, 0, 1]).await;
    assert_eq!(user_of(&mut first, "known").await.unwrap()["username"], "known");

    // One address shows more tokens than are reviewed for it at once, and the webhook answers none.
    let Connection::Http2 { sender, .. } = &first else { panic!("another protocol") };
    let mut flood = tokio::task::JoinSet::new();
    for number in 0..AT_ONCE + 2 {
        let mut connection = Connection::Http2 { sender: sender.clone(), server: None, is_over: false };
        flood.spawn(async move {
            let bearer = format!("Bearer unknown-{number}");
            send(&mut connection, ("POST", REVIEW), &[("authorization", &bearer)], json!({})).await
        });
    }
    while hanging.load(Ordering::SeqCst) < AT_ONCE {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let mut second = open_from(&server, [127, 0, 0, 2]).await;
    assert_eq!(user_of(&mut second, "good").await.unwrap()["username"], "good");
    // A token that was accepted before is reviewed again beside them, also for the same address.
    assert_eq!(user_of(&mut first, "known").await.unwrap()["username"], "known");
    assert_eq!(known.load(Ordering::SeqCst), 2);

    // A token that waits too long is answered with 503, not 401.
    let refused = flood.join_next().await.unwrap().unwrap();
    assert_eq!((refused.status, &refused.headers["retry-after"]), (503, &"1".parse().unwrap()));
    let refused = refused.json();
    assert_eq!(refused["reason"], "ServiceUnavailable");
    assert_eq!(refused["message"], "too many tokens wait for their review, please try again later");
    drop(flood);
    server.stop().await;
}
