use super::https_peer::{HttpsPeer, Received};
use super::*;

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
    let told = review(&mut connection, "told", json!([])).await;
    assert_eq!(told["error"], "[invalid bearer token, it is stolen]");
    server.stop().await;
}

#[tokio::test]
async fn what_is_no_answer_is_no_user_and_is_not_kept() {
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
