use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::signature::RSA_PKCS1_SHA256;

use crate::egress::Proxy;
use crate::servers::until;

use super::issuer::{TokenIssuer, configuration, now_seconds, unsigned};
use super::*;

async fn start(directory: &std::path::Path, issuer: &TokenIssuer, jwt: &Value) -> (TestServer, Connection) {
    let path = write(directory, "authentication.json", &configuration(issuer, jwt, &Value::Null));
    let builder = TestServer::builder().memory().flag(format!("--authentication-config={path}"));
    let server = builder.start().await.unwrap();
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    let good = issuer.elliptic.token(&issuer.claims());
    assert_eq!(issuer.fetches(), 0, "keys are not fetched before the first token");
    user_of(&mut connection, &good).await.expect("the first token waits for the issuer's keys");
    (server, connection)
}

#[tokio::test]
async fn tokens_of_the_issuer_name_users_and_no_others_do() {
    let directory = tempfile::tempdir().unwrap();
    let issuer = TokenIssuer::start().await;
    let (server, mut connection) = start(directory.path(), &issuer, &json!({})).await;
    let claims = issuer.claims();
    for token in [
        issuer.elliptic.token(&claims),
        issuer.rsa_token("RS256", &claims),
        issuer.rsa_token("PS256", &claims),
        // Without a key id all keys are tried.
        issuer.elliptic.sign(&unsigned(&json!({"alg": "ES256"}), &claims.to_string())),
    ] {
        let user = user_of(&mut connection, &token).await.unwrap();
        assert_eq!(
            (&user["username"], &user["groups"]),
            (&json!("oidc:jane"), &json!(["system:authenticated"]))
        );
    }
    let with = |field: &str, value: Value| {
        let mut changed = claims.clone();
        changed[field] = value;
        issuer.elliptic.token(&changed)
    };
    let now = now_seconds();
    let mut bad = vec![
        ("another audience", with("aud", json!("other"))),
        ("no audience", with("aud", Value::Null)),
        ("another issuer", with("iss", json!("https://issuer.example.com"))),
        ("the issuer with a slash", with("iss", json!(format!("{}/", issuer.peer.url())))),
        ("expired", with("exp", json!(now - 1))),
        ("no expiry", with("exp", Value::Null)),
        ("not valid yet", with("nbf", json!(now + 300))),
        ("no name", with("sub", Value::Null)),
        ("a name that is not a string", with("sub", json!(["jane"]))),
        ("too large", with("filler", json!("x".repeat(16 * 1024)))),
    ];
    bad.extend(forged(&issuer, &claims));
    for (what, token) in bad {
        assert_eq!(user_of(&mut connection, &token).await, Err(401), "{what}");
    }
    let review = review(&mut connection, &with("exp", json!(now - 1)), json!([])).await;
    let error = review["error"].as_str().unwrap();
    assert!(
        error.starts_with("[invalid bearer token, oidc: verify token: oidc: token is expired"),
        "{error}"
    );
    server.stop().await;
}

/// Returns tokens that the issuer has not signed, or that do not say clearly what it has signed.
fn forged(issuer: &TokenIssuer, claims: &Value) -> Vec<(&'static str, String)> {
    let text = claims.to_string();
    let good = issuer.elliptic.token(claims);
    let [header, payload, signature] = good.split('.').collect::<Vec<_>>()[..] else { unreachable!() };
    let with_header = |header: Value| issuer.elliptic.sign(&unsigned(&header, &text));
    let hmac = {
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &issuer.public_modulus());
        let unsigned = unsigned(&json!({"alg": "HS256", "kid": "r1"}), &text);
        let tag = ring::hmac::sign(&key, unsigned.as_bytes());
        format!("{unsigned}.{}", BASE64_URL_SAFE_NO_PAD.encode(tag))
    };
    let twice = text.replacen('{', r#"{"sub":"admin","#, 1);
    let none = unsigned(&json!({"alg": "none"}), &text);
    let other = super::issuer::EllipticKey::new("e1");
    vec![
        ("alg none", format!("{none}.")),
        ("alg none with a signature", format!("{none}.{signature}")),
        ("the public key as a secret", hmac),
        ("another key with the same id", other.token(claims)),
        ("the key of another algorithm", with_header(json!({"alg": "RS256", "kid": "e1"}))),
        ("the padding of another algorithm", {
            issuer.rsa_sign(&unsigned(&json!({"alg": "PS256", "kid": "r1"}), &text), &RSA_PKCS1_SHA256)
        }),
        ("an algorithm that is not built in", with_header(json!({"alg": "ES512", "kid": "e1"}))),
        ("the id of another key", with_header(json!({"alg": "ES256", "kid": "r1"}))),
        (
            "an extension that must be understood",
            with_header(json!({"alg": "ES256", "kid": "e1", "crit": ["exp"]})),
        ),
        ("a claim twice", issuer.elliptic.sign(&unsigned(&json!({"alg": "ES256", "kid": "e1"}), &twice))),
        ("no signature", format!("{header}.{payload}.")),
        ("a short signature", format!("{header}.{payload}.{}", &signature[..signature.len() - 4])),
        ("two parts", format!("{header}.{payload}")),
        ("four parts", format!("{good}.{signature}")),
        ("no JSON", issuer.elliptic.sign(&unsigned(&json!({"alg": "ES256"}), "claims"))),
        ("its own key", {
            let jwk = json!({"kty": "EC", "crv": "P-256", "x": "AQ", "y": "AQ"});
            other.sign(&unsigned(&json!({"alg": "ES256", "jwk": jwk}), &text))
        }),
    ]
}

#[tokio::test]
async fn an_issuer_in_a_network_is_reached_through_the_proxy_to_it() {
    let directory = tempfile::tempdir().unwrap();
    let issuer = TokenIssuer::start().await;
    let url = issuer.peer.url();
    let target = url.trim_start_matches("https://");
    let proxy = Proxy::start(issuer.peer.address());
    let name = |network: &str| {
        let mut whole: Value =
            serde_json::from_str(&configuration(&issuer, &json!({}), &Value::Null)).unwrap();
        whole["jwt"][0]["issuer"]["egressSelectorType"] = network.into();
        let path = write(directory.path(), "authentication.json", &whole.to_string());
        TestServer::builder().memory().flag(format!("--authentication-config={path}"))
    };
    let egress =
        |networks| format!("--egress-selector-config-file={}", proxy.configuration(networks).display());
    let server = name("cluster").flag(egress(&["cluster"])).start().await.unwrap();
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    let token = issuer.elliptic.token(&issuer.claims());
    assert_eq!(user_of(&mut connection, &token).await.unwrap()["username"], "oidc:jane");
    assert!(proxy.has_seen(target), "the proxy is not asked for {target}");
    server.stop().await;
    // A network of which nothing is said is no reason to go without a proxy.
    let refused = name("controlplane").flag(egress(&["cluster"])).start().await.err().unwrap();
    let reason = "oidc: egress lookup for \"controlplane\" is not configured";
    assert!(refused.to_string().contains(reason), "{refused}");
    let refused = name("cluster").start().await.err().unwrap();
    let reason = "oidc: egress lookup required with egress selector type \"cluster\"";
    assert!(refused.to_string().contains(reason), "{refused}");
}

#[tokio::test]
async fn new_keys_are_fetched_once_however_many_unknown_ones_are_shown() {
    let directory = tempfile::tempdir().unwrap();
    let mut issuer = TokenIssuer::start().await;
    let (server, mut connection) = start(directory.path(), &issuer, &json!({})).await;
    let old = issuer.elliptic.token(&issuer.claims());
    assert_eq!(issuer.fetches(), 1);
    issuer.rotate("e2");
    let new = issuer.elliptic.token(&issuer.claims());
    assert!(user_of(&mut connection, &new).await.is_ok(), "the new key is fetched for its first token");
    assert_eq!(user_of(&mut connection, &old).await, Err(401), "the old one is withdrawn");
    for id in 0..50 {
        let stranger = super::issuer::EllipticKey::new(&format!("s{id}"));
        assert_eq!(user_of(&mut connection, &stranger.token(&issuer.claims())).await, Err(401));
    }
    assert_eq!(issuer.fetches(), 2);
    server.stop().await;
}

#[tokio::test]
async fn the_configuration_can_change_while_the_server_runs() {
    let directory = tempfile::tempdir().unwrap();
    let issuer = TokenIssuer::start().await;
    let (server, mut connection) = start(directory.path(), &issuer, &json!({})).await;
    let mut claims = issuer.claims();
    claims["roles"] = json!(["ops", ""]);
    claims["tenant"] = json!({"id": "t1"});
    let token = issuer.elliptic.token(&claims);
    let path = directory.path().join("authentication.json");
    std::fs::write(&path, "no configuration").unwrap();
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(
        user_of(&mut connection, &token).await.unwrap()["username"],
        "oidc:jane",
        "a broken file changes nothing"
    );

    let jwt = json!({
        "claimMappings": {
            "username": { "expression": "claims.tenant.id + '/' + claims.sub" },
            "groups": { "expression": "claims.roles" },
            "extra": [{ "key": "example.com/tenant", "valueExpression": "claims.tenant.id" }],
        },
        "claimValidationRules": [{ "expression": "claims.sub != 'eve'", "message": "not eve" }],
        "userValidationRules": [{ "expression": "!user.groups.exists(g, g.startsWith('system:'))" }],
    });
    std::fs::write(&path, configuration(&issuer, &jwt, &Value::Null)).unwrap();
    let mapped =
        async || user_of(&mut connection, &token).await.ok().filter(|user| user["username"] == "t1/jane");
    until("the new mapping does not count", mapped).await;
    let page = crate::metrics::Page::scrape(&server).await;
    let reloads = "apiserver_authentication_config_controller_automatic_reloads_total";
    assert_eq!(page.sum(reloads, &[r#"status="success""#]), 1.0);
    assert!(page.sum(reloads, &[r#"status="failure""#]) >= 1.0);
    assert_eq!(page.sum("apiserver_authentication_config_controller_last_config_info", &["sha256:"]), 1.0);
    let user = user_of(&mut connection, &token).await.unwrap();
    assert_eq!(user["groups"], json!(["ops", "system:authenticated"]));
    assert_eq!(user["extra"], json!({"example.com/tenant": ["t1"]}));
    claims["sub"] = json!("eve");
    assert_eq!(user_of(&mut connection, &issuer.elliptic.token(&claims)).await, Err(401));
    claims["sub"] = json!("jane");
    claims["roles"] = json!("system:masters");
    assert_eq!(user_of(&mut connection, &issuer.elliptic.token(&claims)).await, Err(401));
    server.stop().await;
}

#[tokio::test]
async fn an_issuer_that_is_not_there_yet_is_found_later() {
    let directory = tempfile::tempdir().unwrap();
    let issuer = TokenIssuer::start().await;
    let good = issuer.elliptic.token(&issuer.claims());
    let path = write(directory.path(), "ca.crt", issuer.peer.ca_pem());
    let url = issuer.peer.url();
    // Its documents are those of another issuer: its keys are not asked for.
    issuer
        .peer
        .answer(|_| (200, json!({"issuer": "https://x.example.com", "jwks_uri": "https://x/"}).to_string()));
    let server = TestServer::builder()
        .memory()
        .flag(format!("--oidc-issuer-url={url}"))
        .flag("--oidc-client-id=orlop")
        .flag(format!("--oidc-ca-file={path}"))
        .flag("--oidc-signing-algs=ES256")
        .flag("--oidc-username-prefix=-")
        .flag("--oidc-required-claim=sub=jane")
        .start()
        .await
        .unwrap();
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    assert_eq!(user_of(&mut connection, &good).await, Err(401));
    assert_eq!(issuer.fetches(), 0);
    issuer.publish_own();
    until("the issuer is not found", async || user_of(&mut connection, &good).await.ok()).await;
    assert_eq!(user_of(&mut connection, &good).await.unwrap()["username"], "jane");
    let of_rsa = issuer.rsa_token("RS256", &issuer.claims());
    assert_eq!(user_of(&mut connection, &of_rsa).await, Err(401), "only ES256 is accepted");
    server.stop().await;
}

#[tokio::test]
async fn flags_name_the_claims_of_the_user_and_of_the_groups() {
    let directory = tempfile::tempdir().unwrap();
    let issuer = TokenIssuer::start().await;
    let mut claims = issuer.claims();
    claims["nick"] = json!("jj");
    claims["teams"] = json!(["red", "blue"]);
    let path = write(directory.path(), "ca.crt", issuer.peer.ca_pem());
    let server = TestServer::builder()
        .memory()
        .flag(format!("--oidc-issuer-url={}", issuer.peer.url()))
        .flag("--oidc-client-id=orlop")
        .flag(format!("--oidc-ca-file={path}"))
        .flag("--oidc-username-claim=nick")
        .flag("--oidc-username-prefix=corp:")
        .flag("--oidc-groups-claim=teams")
        .flag("--oidc-groups-prefix=team:")
        .start()
        .await
        .unwrap();
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    let mut token = issuer.rsa_token("RS256", &claims);
    until("the issuer is not found", async || user_of(&mut connection, &token).await.ok()).await;
    let user = user_of(&mut connection, &token).await.unwrap();
    assert_eq!(user["username"], "corp:jj");
    assert_eq!(user["groups"], json!(["team:red", "team:blue", "system:authenticated"]));
    claims["nick"] = json!({"of": "another type"});
    token = issuer.rsa_token("RS256", &claims);
    assert_eq!(user_of(&mut connection, &token).await, Err(401));

    let page = connection.get("/metrics", Some("admin-token")).await.text();
    let name = "apiserver_authentication_jwt_authenticator_";
    let count = |result: &str| {
        let prefix = format!("{name}latency_seconds_count{{jwt_issuer_hash=\"sha256:");
        let is_meant =
            |line: &&str| line.starts_with(&prefix) && line.contains(&format!("result=\"{result}\""));
        page.lines().find(is_meant).map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap())
    };
    assert!(count("success") >= Some(2) && count("failure") >= Some(1), "{page}");
    for family in ["jwks_fetch_last_timestamp_seconds", "jwks_fetch_last_key_set_info"] {
        assert!(page.contains(&format!("\n{name}{family}{{")), "{family}");
    }
    server.stop().await;
}

#[tokio::test]
async fn anonymous_requests_are_limited_to_paths() {
    let directory = tempfile::tempdir().unwrap();
    let issuer = TokenIssuer::start().await;
    let anonymous = json!({"enabled": true, "conditions": [{"path": "/livez"}, {"path": "/readyz"}]});
    let path = write(directory.path(), "a.json", &configuration(&issuer, &json!({}), &anonymous));
    let flag = format!("--authentication-config={path}");
    let server = TestServer::builder().memory().flag(&flag).start().await.unwrap();
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let mut connection = Connection::open(&server, protocol).await;
        for (path, status) in [
            ("/livez", 200),
            ("/livez?verbose", 200),
            ("/readyz", 200),
            ("/healthz", 401),
            ("/version", 401),
            ("/livez/ping", 401),
            ("/livez/../version", 401),
            ("/api", 401),
        ] {
            assert_eq!(connection.get(path, None).await.status, status, "{path}");
        }
        assert_eq!(connection.get("/version", Some("alice-token")).await.status, 200);
    }
    server.stop().await;
    let both = TestServer::builder().memory().flag(&flag).flag("--anonymous-auth=false");
    let refused = both.start().await.err().unwrap();
    assert!(refused.to_string().contains("--anonymous-auth flag cannot be set"), "{refused}");
}
