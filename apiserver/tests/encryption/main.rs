//! Encryption of values at rest, proven by reading the store itself.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    unreachable_pub,
    missing_docs,
    dead_code,
    reason = "helpers of tests fail as tests do, and not every test uses all of a shared client"
)]

#[path = "../server/client.rs"]
mod client;
mod damaged;
#[path = "../support/grpc_server.rs"]
mod grpc_server;
mod plugin;

use std::path::PathBuf;
use std::sync::Arc;

use apiserver::testing::{TestDirectory, TestServer};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use client::{Answer, Connection, Protocol};
use http::Request;
use http_body_util::Full;
use plugin::Plugin;
use registry_core::storage::embedded::{Embedded, EmbeddedOptions};
use registry_core::storage::mvcc::Mvcc;
use registry_core::storage::testing::etcd::Etcd;
use registry_core::storage::transform::Transformer as _;
use registry_core::storage::transform::secretbox::SecretBox;
use serde_json::{Value, json};

const SECRETS: &str = "/api/v1/namespaces/default/secrets";
/// The text that is searched for in the store: a password, in base64.
const PASSWORD: &str = "bm90LXRvLWJlLXNlZW4=";
const KEYS: [&str; 2] =
    ["AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "/wECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="];

/// A server that is started again and again on the same store.
struct Encrypted {
    directory: Arc<TestDirectory>,
    config: PathBuf,
}

impl Encrypted {
    /// Starts a server with these providers of secrets.
    async fn start(providers: &str) -> (Self, TestServer) {
        let directory = tempfile::tempdir().unwrap().keep();
        let config = directory.join("encryption.yaml");
        write_config(&config, providers);
        let flag = format!("--encryption-provider-config={}", config.display());
        let server = TestServer::builder().flag(flag).start().await.unwrap();
        (Self { directory: server.directory().clone(), config }, server)
    }

    /// Starts another server on the store, with these providers.
    async fn start_again(&self, providers: &str) -> TestServer {
        write_config(&self.config, providers);
        let flag = format!("--encryption-provider-config={}", self.config.display());
        TestServer::builder().directory(&self.directory).flag(flag).start().await.unwrap()
    }

    /// Opens the store while no server does.
    async fn store(&self) -> Arc<Embedded> {
        let options = EmbeddedOptions::new(self.directory.path().join("storage"));
        tokio::task::spawn_blocking(move || Embedded::open(options)).await.unwrap().unwrap()
    }

    /// Returns a value at rest.
    async fn raw(&self, key: &str) -> Bytes {
        let store = self.store().await;
        let got = store.get(key).await.unwrap().key_value.unwrap();
        store.close().await;
        got.value
    }
}

impl Drop for Encrypted {
    fn drop(&mut self) {
        let _ = self.config.parent().map(std::fs::remove_dir_all);
    }
}

fn write_config(path: &std::path::Path, providers: &str) {
    let config = format!(
        "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n\
         - resources: [secrets, ingresses.networking.k8s.io]\n  providers:\n{providers}"
    );
    std::fs::write(path, config).unwrap();
}

/// Returns a provider with these keys of [`KEYS`], by their numbers.
fn keys(provider: &str, numbers: &[usize]) -> String {
    let keys: Vec<String> =
        numbers.iter().map(|number| format!("{{name: key{number}, secret: {}}}", KEYS[*number])).collect();
    format!("  - {provider}: {{keys: [{}]}}\n", keys.join(", "))
}

fn request(method: &str, path: &str, body: &str) -> Request<Full<Bytes>> {
    let request = Request::builder().method(method).uri(path).header("host", "localhost");
    let request =
        request.header("authorization", "Bearer admin-token").header("content-type", "application/json");
    request.body(Full::new(Bytes::from(body.to_owned()))).unwrap()
}

fn secret(name: &str) -> String {
    json!({"metadata": {"name": name}, "data": {"password": PASSWORD}}).to_string()
}

async fn send(server: &TestServer, method: &str, path: &str, body: &str) -> Answer {
    let mut connection = Connection::open(server, Protocol::Http1).await;
    connection.send(request(method, path, body)).await
}

async fn create(server: &TestServer, name: &str) {
    let created = send(server, "POST", SECRETS, &secret(name)).await;
    assert_eq!(created.status, 201, "{}", created.text());
}

/// Checks that a secret can be read.
async fn check(server: &TestServer, name: &str) -> Answer {
    let read = send(server, "GET", &format!("{SECRETS}/{name}"), "").await;
    assert_eq!((read.status, &read.json()["data"]["password"]), (200, &PASSWORD.into()), "{}", read.text());
    read
}

fn holds(value: &[u8], text: &str) -> bool {
    value.windows(text.len()).any(|part| part == text.as_bytes())
}

fn key(name: &str) -> String {
    format!("/registry/secrets/default/{name}")
}

#[tokio::test]
async fn the_store_discloses_nothing_and_keys_can_be_changed() {
    for (provider, prefix) in [
        ("aesgcm", "k8s:enc:aesgcm:v1:"),
        ("aescbc", "k8s:enc:aescbc:v1:"),
        ("secretbox", "k8s:enc:secretbox:v1:"),
    ] {
        let (encrypted, server) = Encrypted::start(&keys(provider, &[0])).await;
        create(&server, "a").await;
        let maps = "/api/v1/namespaces/default/configmaps";
        send(&server, "POST", maps, "{\"metadata\":{\"name\":\"plain\"},\"data\":{\"k\":\"visible\"}}").await;
        check(&server, "a").await;
        let metrics = send(&server, "GET", "/metrics", "").await.text();
        let line = format!(
            "apiserver_storage_transformation_operations_total{{resource=\"secrets\",status=\"OK\",\
             transformation_type=\"to_storage\",transformer_prefix=\"{prefix}\"}}"
        );
        assert!(metrics.contains(&line), "{line}");
        server.stop().await;
        let before = encrypted.raw(&key("a")).await;
        assert!(before.starts_with(format!("{prefix}key0:").as_bytes()), "{before:?}");
        assert!(!holds(&before, PASSWORD) && !holds(&before, "metadata"));
        assert!(holds(&encrypted.raw("/registry/configmaps/default/plain").await, "visible"));

        // A new key writes, and the old one still reads. A write that changes nothing changes the key.
        let server = encrypted.start_again(&keys(provider, &[1, 0])).await;
        let read = check(&server, "a").await;
        create(&server, "b").await;
        let same = send(&server, "PUT", &format!("{SECRETS}/a"), &read.text()).await;
        assert_eq!(same.status, 200, "{}", same.text());
        server.stop().await;
        for name in ["a", "b"] {
            let raw = encrypted.raw(&key(name)).await;
            assert!(raw.starts_with(format!("{prefix}key1:").as_bytes()), "{name}: {raw:?}");
        }

        // The old key is not needed any more, and the way back to plain form is open.
        let server = encrypted.start_again(&format!("  - identity: {{}}\n{}", keys(provider, &[1]))).await;
        let read = check(&server, "a").await;
        send(&server, "PUT", &format!("{SECRETS}/a"), &read.text()).await;
        server.stop().await;
        assert!(holds(&encrypted.raw(&key("a")).await, PASSWORD));
    }
}

#[tokio::test]
async fn damaged_and_moved_values_are_errors() {
    let (encrypted, server) = Encrypted::start(&keys("aesgcm", &[0])).await;
    for name in ["a", "b", "c", "good"] {
        create(&server, name).await;
    }
    server.stop().await;
    let store = encrypted.store().await;
    let mut values = Vec::new();
    for name in ["a", "b", "c"] {
        values.push(store.get(&key(name)).await.unwrap().key_value.unwrap());
    }
    // The values of a and b are swapped, and a bit of c is changed.
    let mut damaged = values[2].value.to_vec();
    *damaged.last_mut().unwrap() ^= 1;
    let changes =
        [("a", values[1].value.clone()), ("b", values[0].value.clone()), ("c", Bytes::from(damaged))];
    for ((name, value), seen) in changes.into_iter().zip(&values) {
        store.put_if(&key(name), seen.mod_revision, value, None).await.unwrap();
    }
    store.close().await;

    // Without a watch cache, so that the values that cannot be read do not keep the server from starting.
    let config = format!("--encryption-provider-config={}", encrypted.config.display());
    let server =
        TestServer::builder().directory(&encrypted.directory).flag(config).flag("--watch-cache=false");
    let server = server.start().await.unwrap();
    for name in ["a", "b", "c"] {
        let refused = send(&server, "GET", &format!("{SECRETS}/{name}"), "").await;
        let message = refused.json()["message"].as_str().unwrap().to_owned();
        assert_eq!(refused.status, 500, "{message}");
        assert_eq!(message, "Internal error occurred: cipher: message authentication failed");
    }
    check(&server, "good").await;
    let listed = send(&server, "GET", SECRETS, "").await;
    assert_eq!(listed.status, 500, "{}", listed.text());
    assert_eq!(
        listed.json()["message"],
        format!(
            "Internal error occurred: unable to transform key {:?}: cipher: message authentication failed",
            key("a")
        )
    );
    create(&server, "later").await;
    let metrics = send(&server, "GET", "/metrics", "").await.text();
    assert!(metrics.contains("status=\"unknown-non-grpc\",transformation_type=\"from_storage\""));
    server.stop().await;
}

#[tokio::test]
async fn an_object_that_is_not_encrypted_yet_is_read_and_encrypted_by_its_next_write() {
    let (encrypted, server) = Encrypted::start("  - identity: {}\n").await;
    create(&server, "a").await;
    server.stop().await;
    assert!(holds(&encrypted.raw(&key("a")).await, PASSWORD));
    let server = encrypted.start_again(&(keys("secretbox", &[0]) + "  - identity: {}\n")).await;
    let read = check(&server, "a").await;
    send(&server, "PUT", &format!("{SECRETS}/a"), &read.text()).await;
    server.stop().await;
    assert!(encrypted.raw(&key("a")).await.starts_with(b"k8s:enc:secretbox:v1:key0:"));

    // A server that does not know the key refuses, and does not take the bytes for an object.
    let server = TestServer::builder().directory(&encrypted.directory).flag("--watch-cache=false");
    let server = server.start().await.unwrap();
    let refused = send(&server, "GET", &format!("{SECRETS}/a"), "").await;
    let message = refused.json()["message"].as_str().unwrap().to_owned();
    assert!(
        refused.status == 500 && message.contains("identity transformer tried to read encrypted data"),
        "{message}"
    );
    server.stop().await;
}

#[tokio::test]
async fn an_encrypted_object_of_a_retired_version_is_read_and_stored_in_the_present_one() {
    const PREFIX: &[u8] = b"k8s:enc:secretbox:v1:key0:";
    let cipher = SecretBox::new(&STANDARD.decode(KEYS[0]).unwrap().try_into().unwrap());
    let (encrypted, server) = Encrypted::start(&keys("secretbox", &[0])).await;
    server.stop().await;
    let old = json!({
        "kind": "Ingress", "apiVersion": "extensions/v1beta1", "metadata": { "name": "old", "namespace": "default" },
        "spec": { "backend": { "serviceName": "web", "servicePort": 80 } },
    });
    let key = "/registry/ingress/default/old";
    let sealed = cipher.to_storage(format!("{old}\n").into(), key).await.unwrap();
    let store = encrypted.store().await;
    store.put_if(key, 0, [PREFIX, &sealed].concat().into(), None).await.unwrap();
    store.close().await;

    let server = encrypted.start_again(&keys("secretbox", &[0])).await;
    let path = "/apis/networking.k8s.io/v1/namespaces/default/ingresses/old";
    let read = send(&server, "GET", path, "").await;
    let spec = json!({ "defaultBackend": { "service": { "name": "web", "port": { "number": 80 } } } });
    assert_eq!(read.json()["spec"], spec, "{}", read.text());
    let mut changed = read.json();
    changed["metadata"]["labels"] = json!({ "a": "b" });
    assert_eq!(send(&server, "PUT", path, &changed.to_string()).await.status, 200);
    server.stop().await;
    let raw = encrypted.raw(key).await;
    let sealed = raw.strip_prefix(PREFIX).expect("it is encrypted");
    let plain = cipher.from_storage(Bytes::copy_from_slice(sealed), key).await.unwrap().value;
    let stored: Value = serde_json::from_slice(&plain).unwrap();
    assert_eq!((&stored["apiVersion"], &stored["spec"]), (&json!("networking.k8s.io/v1"), &spec));
}

#[tokio::test]
async fn a_key_management_service_protects_the_keys() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("kms.sock");
    let plugin = Plugin::start(&socket, "one");
    let provider = format!(
        "  - kms: {{apiVersion: v2, name: vault, endpoint: 'unix://{}', timeout: 2s}}\n",
        socket.display()
    );
    let (encrypted, server) = Encrypted::start(&provider).await;
    create(&server, "a").await;
    create(&server, "b").await;
    check(&server, "a").await;
    server.stop().await;
    let raw = encrypted.raw(&key("a")).await;
    assert!(raw.starts_with(b"k8s:enc:kms:v2:vault:") && !holds(&raw, PASSWORD), "{raw:?}");

    // Another process decrypts both values with one call, as they have the same seed.
    plugin.use_key("two");
    let calls = plugin.decryptions();
    let server = encrypted.start_again(&provider).await;
    let read = check(&server, "a").await;
    check(&server, "b").await;
    assert_eq!(plugin.decryptions() - calls, 1);
    // The service has another key now: a write that changes nothing uses it.
    send(&server, "PUT", &format!("{SECRETS}/a"), &read.text()).await;
    let health = send(&server, "GET", "/readyz?verbose", "").await.text();
    assert!(health.contains("[+]kms-providers ok"), "{health}");
    assert_eq!(
        send(&server, "GET", "/livez/kms-providers", "").await.status,
        404,
        "a restart repairs no key service"
    );
    server.stop().await;
    assert!(holds(&encrypted.raw(&key("a")).await, "two") && holds(&encrypted.raw(&key("b")).await, "one"));
}

#[tokio::test]
async fn a_service_of_version_1_encrypts_each_key() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("kms.sock");
    let plugin = Plugin::start(&socket, "");
    let config = directory.path().join("encryption.yaml");
    let endpoint = format!("unix://{}", socket.display());
    write_config(&config, &format!("  - kms: {{name: vault, cachesize: 2, endpoint: '{endpoint}'}}\n"));
    let etcd = Etcd::start().await.unwrap();
    let start = async || {
        let server = TestServer::builder()
            .etcd(&etcd.options().endpoints[0].clone(), "/registry")
            .flag(format!("--encryption-provider-config={}", config.display()))
            .flag("--feature-gates=KMSv1=true");
        server.start().await.unwrap()
    };
    let server = start().await;
    for name in ["a", "b", "c"] {
        create(&server, name).await;
    }
    assert_eq!(send(&server, "GET", "/healthz/kms-provider-0", "").await.text(), "ok");
    server.stop().await;
    let store = etcd.connect().await;
    let raw = store.get(&key("a")).await.unwrap().key_value.unwrap().value;
    assert!(raw.starts_with(b"k8s:enc:kms:v1:vault:\0\x20") && !holds(&raw, PASSWORD), "{raw:?}");

    let calls = plugin.decryptions();
    let server = start().await;
    for name in ["a", "b", "c"] {
        check(&server, name).await;
    }
    assert!(plugin.decryptions() - calls >= 3, "each value has its own key");
    server.stop().await;
}

#[tokio::test]
async fn configurations_that_cannot_be_used_are_refused_at_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("encryption.yaml");
    for (providers, reason) in [
        (
            "  - aesgcm: {keys: []}\n",
            "resources[0].providers[0].aesgcm.keys: Required value: at least one keys is required",
        ),
        ("  - {}\n", "provider does not contain any of the expected providers"),
        ("  - zork: {}\n", "strict decoding error: unknown field"),
        (
            "  - kms: {name: a, endpoint: 'unix:///a'}\n",
            "Set --feature-gates=KMSv1=true to use the deprecated KMSv1 feature.",
        ),
    ] {
        write_config(&config, providers);
        let flag = format!("--encryption-provider-config={}", config.display());
        let failure = TestServer::builder().memory().flag(flag).start().await.err().unwrap().to_string();
        assert!(failure.contains(reason), "{failure}");
    }
    let flag = "--encryption-provider-config-automatic-reload";
    let failure = TestServer::builder().memory().flag(flag).start().await.err().unwrap().to_string();
    assert!(failure.contains("must be set with --encryption-provider-config"), "{failure}");
}

#[tokio::test]
async fn values_in_etcd_are_encrypted_too() {
    let etcd = Etcd::start().await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("encryption.yaml");
    write_config(&config, &keys("aesgcm", &[0]));
    let endpoint = etcd.options().endpoints[0].clone();
    let flag = format!("--encryption-provider-config={}", config.display());
    let server = TestServer::builder().etcd(&endpoint, "/registry").flag(flag).start().await.unwrap();
    create(&server, "a").await;
    check(&server, "a").await;
    let raw = etcd.connect().await.get(&key("a")).await.unwrap().key_value.unwrap().value;
    assert!(raw.starts_with(b"k8s:enc:aesgcm:v1:key0:") && !holds(&raw, PASSWORD), "{raw:?}");
    server.stop().await;
}
