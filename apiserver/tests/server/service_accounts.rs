//! Service account tokens: requested, used, reviewed, verified by others, and ended with the objects they are
//! bound to.

use apiserver::testing::TestServer;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject as _;
use serde_json::{Value, json};

use super::client::{Answer, Connection, Protocol, request};

const ACCOUNT: &str = "/api/v1/namespaces/default/serviceaccounts/robot";

async fn post(connection: &mut Connection, path: &str, token: &str, body: Value) -> Answer {
    let user = ("authorization", &*format!("Bearer {token}"));
    connection.send(request("POST", path, &[user], &body)).await
}

async fn delete(connection: &mut Connection, path: &str) {
    assert_eq!(connection.call("DELETE", path, &Value::Null).await.status, 200);
}

/// Returns a token of the account `robot`, which is created if it is missing.
async fn token(connection: &mut Connection, spec: Value) -> String {
    let account = json!({"metadata": {"name": "robot"}});
    post(connection, "/api/v1/namespaces/default/serviceaccounts", "admin-token", account).await;
    let made = post(connection, &format!("{ACCOUNT}/token"), "admin-token", json!({"spec": spec})).await;
    assert_eq!(made.status, 201, "{}", made.text());
    made.json()["status"]["token"].as_str().unwrap().to_owned()
}

/// Returns the user that the server takes the holder of a token for.
async fn who(connection: &mut Connection, token: &str) -> (u16, Value) {
    let answer =
        post(connection, "/apis/authentication.k8s.io/v1/selfsubjectreviews", token, json!({})).await;
    (answer.status, answer.json()["status"]["userInfo"].clone())
}

/// Returns a part of a token, as JSON.
fn part(token: &str, index: usize) -> Value {
    let part = token.split('.').nth(index).unwrap();
    serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

#[tokio::test]
async fn a_token_is_its_account_and_outlives_a_restart_of_the_server() {
    let server = TestServer::start().await;
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    let token = token(&mut connection, json!({})).await;
    let (status, user) = who(&mut connection, &token).await;
    assert_eq!((status, &user["username"]), (201, &json!("system:serviceaccount:default:robot")));
    let groups = ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"];
    assert_eq!(user["groups"], json!(groups));
    let claims = part(&token, 1);
    assert_eq!(claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap(), 3600);
    assert_eq!(
        user["extra"]["authentication.kubernetes.io/credential-id"][0],
        format!("JTI={}", claims["jti"].as_str().unwrap())
    );

    let directory = server.directory().clone();
    server.stop().await;
    let server = TestServer::builder().directory(&directory).start().await.unwrap();
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    assert_eq!(who(&mut connection, &token).await.0, 201);

    // Other parties find the key that it was signed with.
    let configuration = connection.get("/.well-known/openid-configuration", Some(&token)).await.json();
    assert_eq!(configuration["issuer"], claims["iss"]);
    assert_eq!(configuration["jwks_uri"], format!("{}/openid/v1/jwks", server.url()));
    let keys = connection.get("/openid/v1/jwks", Some(&token)).await;
    assert_eq!(keys.headers["content-type"], "application/jwk-set+json");
    assert_eq!(keys.json()["keys"][0]["kid"], part(&token, 0)["kid"]);
    assert_eq!(connection.get("/openid/v1/jwks", Some("alice-token")).await.status, 403);

    delete(&mut connection, ACCOUNT).await;
    assert_eq!(who(&mut connection, &token).await.0, 401, "its account is gone");
    server.stop().await;
}

#[tokio::test]
async fn a_token_is_only_good_for_whom_it_is_meant_and_while_its_pod_is_there() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    let for_others = token(&mut connection, json!({"audiences": ["vault"]})).await;
    assert_eq!(who(&mut connection, &for_others).await.0, 401);
    let mut review = async |token: &str, audiences: Value| {
        let spec = json!({"spec": {"token": token, "audiences": audiences}});
        let path = "/apis/authentication.k8s.io/v1/tokenreviews";
        post(&mut connection, path, "admin-token", spec).await.json()["status"].clone()
    };
    let known = review(&for_others, json!(["vault", "x"])).await;
    assert_eq!((&known["authenticated"], &known["audiences"]), (&json!(true), &json!(["vault"])));
    let unknown = review(&for_others, json!(["zork"])).await;
    let why =
        "[invalid bearer token, token audiences [\"vault\"] is invalid for the target audiences [\"zork\"]]";
    assert_eq!(unknown, json!({"user": {}, "error": why}));

    let pod = json!({"metadata": {"name": "p"}, "spec": {
        "serviceAccountName": "robot", "containers": [{"name": "c", "image": "x"}],
    }});
    assert_eq!(
        post(&mut connection, "/api/v1/namespaces/default/pods", "admin-token", pod).await.status,
        201
    );
    let bound = json!({"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "p"}, "expirationSeconds": 3607});
    let bound = token(&mut connection, bound).await;
    let claims = part(&bound, 1);
    assert_eq!(claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap(), 365 * 24 * 3600);
    let (status, user) = who(&mut connection, &bound).await;
    assert_eq!((status, &user["extra"]["authentication.kubernetes.io/pod-name"]), (201, &json!(["p"])));
    delete(&mut connection, "/api/v1/namespaces/default/pods/p").await;
    assert_eq!(who(&mut connection, &bound).await.0, 401);

    let short = json!({"spec": {"expirationSeconds": 5}});
    let short = post(&mut connection, &format!("{ACCOUNT}/token"), "admin-token", short).await;
    assert!(short.text().contains("may not specify a duration less than 10 minutes"), "{}", short.text());
    server.stop().await;
}

/// Returns a token of the account `robot` as controllers create them for Secrets, signed with this server's
/// key.
fn token_for_secret(server: &TestServer, account_uid: &str) -> String {
    let key = PrivateKeyDer::from_pem_file(server.directory().path().join("pki/sa.key")).unwrap();
    let random = SystemRandom::new();
    let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, key.secret_der(), &random).unwrap();
    let claims = json!({
        "iss": "kubernetes/serviceaccount",
        "kubernetes.io/serviceaccount/namespace": "default",
        "kubernetes.io/serviceaccount/secret.name": "kept",
        "kubernetes.io/serviceaccount/service-account.name": "robot",
        "kubernetes.io/serviceaccount/service-account.uid": account_uid,
        "sub": "system:serviceaccount:default:robot",
    });
    let [header, claims] =
        [json!({"alg": "ES256"}), claims].map(|part| BASE64_URL_SAFE_NO_PAD.encode(part.to_string()));
    let signed = format!("{header}.{claims}");
    let signature = key.sign(&random, signed.as_bytes()).unwrap();
    format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature))
}

#[tokio::test]
async fn a_token_in_a_secret_is_good_while_the_secret_has_it() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    token(&mut connection, json!({})).await;
    let account = connection.get(ACCOUNT, Some("admin-token")).await.json();
    let kept = token_for_secret(&server, account["metadata"]["uid"].as_str().unwrap());
    assert_eq!(who(&mut connection, &kept).await.0, 401, "no secret has it");

    let (secrets, secret) = ("/api/v1/namespaces/default/secrets", "/api/v1/namespaces/default/secrets/kept");
    let mut object = json!({
        "metadata": {"name": "kept", "annotations": {"kubernetes.io/service-account.name": "robot"}},
        "type": "kubernetes.io/service-account-token", "stringData": {"token": kept},
    });
    assert_eq!(post(&mut connection, secrets, "admin-token", object.clone()).await.status, 201);
    let (status, user) = who(&mut connection, &kept).await;
    assert_eq!((status, &user["username"]), (201, &json!("system:serviceaccount:default:robot")));
    assert_eq!((&user["uid"], &user["extra"]), (&account["metadata"]["uid"], &Value::Null));
    let noted = connection.get(secret, Some("admin-token")).await.json();
    let last_used = noted["metadata"]["labels"]["kubernetes.io/legacy-token-last-used"].as_str().unwrap();
    let tracking =
        "/api/v1/namespaces/kube-system/configmaps/kube-apiserver-legacy-service-account-token-tracking";
    let since = connection.get(tracking, Some("admin-token")).await.json()["data"]["since"].clone();
    assert_eq!(since.as_str().unwrap().len(), "2026-01-31".len());
    assert!(since.as_str().unwrap() <= last_used, "{since} {last_used}");
    who(&mut connection, &kept).await;
    let again = connection.get(secret, Some("admin-token")).await.json();
    assert_eq!(
        again["metadata"]["resourceVersion"], noted["metadata"]["resourceVersion"],
        "noted once a day"
    );

    // Not for other audiences; not after it was invalidated; not if the Secret has another one, or none.
    let review = json!({"spec": {"token": kept, "audiences": ["zork"]}});
    let reviewed =
        post(&mut connection, "/apis/authentication.k8s.io/v1/tokenreviews", "admin-token", review).await;
    assert_eq!(reviewed.json()["status"].get("authenticated"), None);
    delete(&mut connection, secret).await;
    assert_eq!(who(&mut connection, &kept).await.0, 401);
    object["metadata"]["labels"] = json!({"kubernetes.io/legacy-token-invalid-since": "2026-01-31"});
    assert_eq!(post(&mut connection, secrets, "admin-token", object.clone()).await.status, 201);
    assert_eq!(who(&mut connection, &kept).await.0, 401);
    delete(&mut connection, secret).await;
    object["metadata"]["labels"] = Value::Null;
    object["stringData"]["token"] = json!("another");
    assert_eq!(post(&mut connection, secrets, "admin-token", object).await.status, 201);
    assert_eq!(who(&mut connection, &kept).await.0, 401);
    server.stop().await;
}

#[tokio::test]
async fn forged_tokens_are_refused() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let stranger = TestServer::builder().memory().start().await.unwrap();
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    let good = token(&mut connection, json!({})).await;
    let foreign = token(&mut Connection::open(&stranger, Protocol::Http2).await, json!({})).await;
    let [header, claims, signature] = good.split('.').collect::<Vec<_>>()[..] else { unreachable!() };
    let unsigned = BASE64_URL_SAFE_NO_PAD.encode(r#"{"alg":"none"}"#);
    let mut raised = part(&good, 1);
    raised["kubernetes.io"]["serviceaccount"]["name"] = json!("admin");
    raised["sub"] = json!("system:serviceaccount:default:admin");
    let raised = BASE64_URL_SAFE_NO_PAD.encode(raised.to_string());
    let forged = [
        foreign,
        format!("{header}.{raised}.{signature}"),
        format!("{unsigned}.{claims}."),
        format!("{unsigned}.{claims}.{signature}"),
        format!("{header}.{claims}.{}", signature.chars().rev().collect::<String>()),
        format!("{header}.{claims}"),
    ];
    for token in forged {
        assert_eq!(who(&mut connection, &token).await.0, 401, "{token}");
    }
    assert_eq!(who(&mut connection, &good).await.0, 201);
    stranger.stop().await;
    server.stop().await;
}
