use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::*;

const SECRETS: &str = "/api/v1/namespaces/kube-system/secrets";
const TOKEN: &str = "abcdef.0123456789abcdef";
const ADMIN: [(&str, &str); 1] = [("authorization", "Bearer admin-token")];

fn secret(change: impl FnOnce(&mut Value)) -> Value {
    let mut secret = json!({
        "metadata": { "name": "bootstrap-token-abcdef" },
        "type": "bootstrap.kubernetes.io/token",
        "stringData": {
            "token-id": "abcdef", "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true",
            "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
        },
    });
    change(&mut secret);
    secret
}

#[tokio::test]
async fn a_machine_joins_with_the_token_of_a_secret_as_long_as_it_is_there() {
    let server = TestServer::builder().memory().flag("--enable-bootstrap-token-auth").start().await.unwrap();
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    assert_eq!(user_of(&mut connection, TOKEN).await, Err(401), "nobody knows it");
    let made = send(&mut connection, ("POST", SECRETS), &ADMIN, secret(|_| ())).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let user = user_of(&mut connection, TOKEN).await.unwrap();
    assert_eq!(user["username"], "system:bootstrap:abcdef");
    let groups =
        ["system:bootstrappers", "system:bootstrappers:kubeadm:default-node-token", "system:authenticated"];
    assert_eq!(user["groups"], json!(groups));
    let known = review(&mut connection, TOKEN, json!([])).await;
    assert_eq!((&known["authenticated"], &known["user"]["username"]), (&json!(true), &user["username"]));
    let elsewhere = review(&mut connection, TOKEN, json!(["vault"])).await;
    assert_eq!(elsewhere, json!({"user": {}, "error": "invalid bearer token"}), "it is for this server only");

    for wrong in
        ["abcdef.0123456789abcdeg", "abcdeg.0123456789abcdef", "abcdef.", "abcdef.0123456789abcdef.x"]
    {
        assert_eq!(user_of(&mut connection, wrong).await, Err(401), "{wrong}");
    }
    let path = format!("{SECRETS}/bootstrap-token-abcdef");
    for (patch, status) in [
        (json!({"data": {"expiration": BASE64_STANDARD.encode("2020-01-01T00:00:00Z")}}), Err(401)),
        (json!({"data": {"expiration": BASE64_STANDARD.encode("2099-01-01T00:00:00Z")}}), Ok(())),
        (json!({"data": {"auth-extra-groups": BASE64_STANDARD.encode("system:masters")}}), Err(401)),
        (json!({"data": {"auth-extra-groups": null}}), Ok(())),
        (json!({"data": {"usage-bootstrap-authentication": BASE64_STANDARD.encode("false")}}), Err(401)),
    ] {
        let headers = [ADMIN[0], ("content-type", "application/merge-patch+json")];
        let mut request = Request::patch(&path).header("host", "localhost");
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let request = request.body(Full::new(Bytes::from(patch.to_string()))).unwrap();
        assert_eq!(connection.send(request).await.status, 200, "{patch}");
        let begun = std::time::Instant::now();
        // The cache follows the store.
        while user_of(&mut connection, TOKEN).await.map(|_| ()) != status {
            assert!(begun.elapsed() < TIMEOUT, "{patch}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn bootstrap_tokens_are_off_by_default() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    assert_eq!(send(&mut connection, ("POST", SECRETS), &ADMIN, secret(|_| ())).await.status, 201);
    assert_eq!(user_of(&mut connection, TOKEN).await, Err(401));
    server.stop().await;
}
