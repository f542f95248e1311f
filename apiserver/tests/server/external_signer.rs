//! Tokens of service accounts that another program signs (`--service-account-signing-endpoint`).

use std::sync::Arc;

use apiserver::testing::TestServer;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use bytes::Bytes;
use parking_lot::Mutex;
use prost::Message;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::{Connection, Protocol};
use crate::grpc_server::GrpcServer;
use crate::metrics::Page;
use crate::servers::until;

/// The prefix of a P-256 key's `SubjectPublicKeyInfo`, up to the point.
const P256_HEADER: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
const TOKEN: &str = "/api/v1/namespaces/default/serviceaccounts/app/token";

#[derive(Clone, PartialEq, Message)]
struct Text {
    #[prost(string, tag = "1")]
    text: String,
}

#[derive(Clone, PartialEq, Message)]
struct Signed {
    #[prost(string, tag = "1")]
    header: String,
    #[prost(string, tag = "2")]
    signature: String,
}

#[derive(Clone, PartialEq, Message)]
struct Keys {
    #[prost(message, repeated, tag = "1")]
    all: Vec<Key>,
    #[prost(message, optional, tag = "2")]
    data_timestamp: Option<Number>,
    #[prost(int64, tag = "3")]
    refresh_hint_seconds: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Key {
    #[prost(string, tag = "1")]
    id: String,
    #[prost(bytes = "vec", tag = "2")]
    der: Vec<u8>,
    #[prost(bool, tag = "3")]
    is_hidden: bool,
}

#[derive(Clone, PartialEq, Message)]
struct Number {
    #[prost(int64, tag = "1")]
    number: i64,
}

/// The answers of the program, which tests change.
struct Answers {
    header: Value,
    /// Replaces the signature.
    signature: Option<String>,
    keys: Vec<Key>,
    max_seconds: i64,
    hangs: bool,
    /// The claims that were signed last.
    claims: String,
}

/// A program that signs. It ends when it is dropped.
struct Signer {
    directory: TempDir,
    answers: Arc<Mutex<Answers>>,
    pair: Arc<EcdsaKeyPair>,
    _server: GrpcServer,
}

impl Signer {
    fn start() -> Self {
        let document =
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new()).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(
            &ECDSA_P256_SHA256_FIXED_SIGNING,
            document.as_ref(),
            &SystemRandom::new(),
        );
        let pair = Arc::new(pair.unwrap());
        let directory = tempfile::tempdir().unwrap();
        let answers = Arc::new(Mutex::new(Answers {
            header: json!({ "alg": "ES256", "kid": "own", "typ": "JWT" }),
            signature: None,
            keys: vec![key("own", &pair)],
            max_seconds: 7200,
            hangs: false,
            claims: String::new(),
        }));
        let (shared, signing) = (answers.clone(), pair.clone());
        let server = GrpcServer::start(&directory.path().join("signer.sock"), move |method, message| {
            answer(shared.clone(), signing.clone(), method, message)
        });
        Self { directory, answers, pair, _server: server }
    }

    fn flag(&self) -> String {
        let socket = self.directory.path().join("signer.sock");
        format!("--service-account-signing-endpoint={}", socket.display())
    }

    fn change(&self, change: impl FnOnce(&mut Answers)) {
        change(&mut self.answers.lock());
    }
}

fn key(id: &str, pair: &EcdsaKeyPair) -> Key {
    let key = [&P256_HEADER[..], pair.public_key().as_ref()].concat();
    Key { id: id.to_owned(), der: key, is_hidden: false }
}

async fn answer(
    answers: Arc<Mutex<Answers>>,
    pair: Arc<EcdsaKeyPair>,
    method: String,
    message: Bytes,
) -> Vec<u8> {
    if answers.lock().hangs {
        std::future::pending::<()>().await;
    }
    let mut answers = answers.lock();
    match method.as_str() {
        "/v1.ExternalJWTSigner/Sign" => {
            let claims = Text::decode(message).unwrap().text;
            let header = BASE64_URL_SAFE_NO_PAD.encode(answers.header.to_string());
            let signature = pair.sign(&SystemRandom::new(), format!("{header}.{claims}").as_bytes()).unwrap();
            let signature =
                answers.signature.clone().unwrap_or_else(|| BASE64_URL_SAFE_NO_PAD.encode(signature));
            answers.claims = claims;
            Signed { header, signature }.encode_to_vec()
        }
        "/v1.ExternalJWTSigner/FetchKeys" => Keys {
            all: answers.keys.clone(),
            data_timestamp: Some(Number { number: 1_700_000_000 }),
            refresh_hint_seconds: 3600,
        }
        .encode_to_vec(),
        "/v1.ExternalJWTSigner/Metadata" => Number { number: answers.max_seconds }.encode_to_vec(),
        other => panic!("{other}"),
    }
}

async fn start(signer: &Signer) -> TestServer {
    let server = TestServer::builder().memory().flag(signer.flag()).start().await.unwrap();
    let account = json!({ "metadata": { "name": "app" } });
    server.call("POST", "/api/v1/namespaces/default/serviceaccounts", &account).await.unwrap();
    server
}

async fn token(server: &TestServer) -> Result<Value, String> {
    let request = json!({ "spec": { "audiences": [], "expirationSeconds": 86_400 } });
    let answer = server.call("POST", TOKEN, &request).await;
    answer.map(|answer| answer["status"].clone()).map_err(|error| error.to_string())
}

/// Returns the user of a token, or the error.
async fn user(server: &TestServer, token: &str) -> Result<String, String> {
    let review = json!({ "spec": { "token": token } });
    let review = server.call("POST", "/apis/authentication.k8s.io/v1/tokenreviews", &review).await.unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if review["status"]["authenticated"] == true {
        Ok(text(&review["status"]["user"]["username"]))
    } else {
        Err(text(&review["status"]["error"]))
    }
}

#[tokio::test]
async fn tokens_have_the_claims_of_the_server_and_the_signature_of_the_program() {
    let signer = Signer::start();
    let server = start(&signer).await;
    let issued = token(&server).await.unwrap();
    let text = issued["token"].as_str().unwrap();
    assert_eq!(text.split('.').nth(1).unwrap(), signer.answers.lock().claims);
    let claims = BASE64_URL_SAFE_NO_PAD.decode(text.split('.').nth(1).unwrap()).unwrap();
    let claims: Value = serde_json::from_slice(&claims).unwrap();
    assert_eq!(claims["sub"], "system:serviceaccount:default:app");
    // The program supports no longer ones.
    assert_eq!(claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap(), 7200);
    assert_eq!(user(&server, text).await.unwrap(), "system:serviceaccount:default:app");
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    let keys = connection.get("/openid/v1/jwks", Some(server.admin_token())).await;
    assert_eq!(keys.json()["keys"][0]["kid"], "own");
    let caching = keys.headers["cache-control"].to_str().unwrap().to_owned();
    let seconds: u64 = caching.strip_prefix("public, max-age=").unwrap().parse().unwrap();
    assert!((1..=3600).contains(&seconds), "{caching}");
    let page = Page::scrape(&server).await;
    assert_eq!(page.sum("apiserver_externaljwt_sign_request_total", &[r#"code="OK""#]), 1.0);
    assert_eq!(page.sum("apiserver_externaljwt_fetch_keys_data_timestamp", &[]), 1.7e9);
    server.stop().await;
}

#[tokio::test]
async fn a_key_that_is_not_known_is_fetched_and_one_that_is_gone_verifies_nothing() {
    let signer = Signer::start();
    let server = start(&signer).await;
    signer.change(|answers| answers.header["kid"] = "new".into());
    // Like the program, the server knows nothing of the key: the token is issued, and is not valid.
    let issued = token(&server).await.unwrap();
    let issued = issued["token"].as_str().unwrap();
    assert_eq!(
        user(&server, issued).await.unwrap_err(),
        "[invalid bearer token, error in cryptographic primitive]"
    );
    let new = key("new", &signer.pair);
    signer.change(|answers| answers.keys = vec![new]);
    until("the key is not fetched", async || user(&server, issued).await.ok()).await;
    signer.change(|answers| answers.header["kid"] = "own".into());
    let old = token(&server).await.unwrap();
    assert!(user(&server, old["token"].as_str().unwrap()).await.is_err());
    server.stop().await;
}

#[tokio::test]
async fn tokens_with_claims_that_no_token_can_have_are_not_issued() {
    let signer = Signer::start();
    let server = start(&signer).await;
    let hidden = Key { is_hidden: true, ..key("hidden", &signer.pair) };
    signer.change(|answers| answers.keys.push(hidden));
    let header = |name: &str, value: &str| {
        let mut header = json!({ "alg": "ES256", "kid": "own", "typ": "JWT" });
        header[name] = value.into();
        header
    };
    for (header, signature, reason) in [
        (header("alg", "none"), None, "while validating header: bad signing algorithm \\\"none\\\""),
        (header("typ", "ABC"), None, "while validating header: bad type"),
        (header("kid", ""), None, "while validating header: key id missing"),
        (header("crit", "b64"), None, "while validating header: while parsing header JSON"),
        (
            header("kid", "hidden"),
            None,
            "while validating header: key used for signing JWT (kid: hidden) is excluded from OIDC discovery docs",
        ),
        (header("kid", "own"), Some(String::new()), "empty signature returned"),
        (header("kid", "own"), Some("a b\n".to_owned()), "the signature is not in base64url"),
        (header("kid", "own"), Some("A".repeat(20_000)), "the token is larger than 16384 bytes"),
        (header("kid", "own"), Some("A".repeat(5 << 20)), "rpc error: code = OutOfRange"),
    ] {
        signer.change(|answers| (answers.header, answers.signature) = (header, signature));
        let refused = token(&server).await.unwrap_err();
        assert!(refused.contains("500") && refused.contains("failed to generate token: "), "{refused}");
        assert!(refused.contains(reason), "{reason}: {refused}");
    }
    // The signature of something else.
    let other = BASE64_URL_SAFE_NO_PAD.encode([7; 64]);
    signer.change(|answers| (answers.header, answers.signature) = (header("kid", "own"), Some(other)));
    let issued = token(&server).await.unwrap();
    assert!(user(&server, issued["token"].as_str().unwrap()).await.is_err());
    server.stop().await;
}

#[tokio::test]
async fn a_program_that_hangs_holds_up_its_own_requests_alone() {
    let signer = Signer::start();
    let builder = TestServer::builder().memory().flag(signer.flag()).flag("--request-timeout=1s");
    let server = builder.start().await.unwrap();
    let account = json!({ "metadata": { "name": "app" } });
    server.call("POST", "/api/v1/namespaces/default/serviceaccounts", &account).await.unwrap();
    signer.change(|answers| answers.hangs = true);
    let refused = token(&server).await.unwrap_err();
    assert!(refused.contains("504"), "{refused}");
    server.call("GET", "/api/v1/namespaces/default/serviceaccounts/app", &Value::Null).await.unwrap();
    signer.change(|answers| answers.hangs = false);
    until("it does not recover", async || token(&server).await.ok()).await;
    server.stop().await;
}

#[tokio::test]
async fn a_server_does_not_start_with_a_program_that_does_not_fit() {
    let refusal = async |signer: &Signer, flag: &str| {
        let builder = TestServer::builder().memory().flag(signer.flag()).flag(flag);
        builder.start().await.err().unwrap().to_string()
    };
    let signer = Signer::start();
    let longer = refusal(&signer, "--service-account-max-token-expiration=3h").await;
    assert!(longer.contains("cannot be set longer than the token expiration supported by"), "{longer}");
    signer.change(|answers| answers.max_seconds = 599);
    let short = refusal(&signer, "--v=0").await;
    assert!(short.contains("(599s) is less than acceptable (min 600s)"), "{short}");
    signer.change(|answers| answers.keys.clear());
    let none = refusal(&signer, "--v=0").await;
    assert!(none.contains("while fetching token verification keys: found no keys"), "{none}");
}
