//! A server whose memory and processor time are measured.

use std::time::Duration;

use apiserver::testing::TestServer;
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

use super::ALLOCATOR;
use super::client::{Connection, Protocol};

/// Maximum memory of a request beyond its body: that of the decoded object, and of what the server makes of it.
pub(crate) const MAX_PEAK_BYTES: usize = 80 << 20;
/// Size of a hostile body. The largest object that is stored has about as much.
pub(crate) const BODY_BYTES: usize = 3 << 19;
pub(crate) const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
pub(crate) const THINGS: &str = "/apis/example.com/v1/namespaces/default/things";

/// A server in this process, and a connection to it.
pub(crate) struct World {
    pub(crate) server: TestServer,
    connection: Connection,
}

/// A response, and what it took.
pub(crate) struct Measured {
    pub(crate) status: u16,
    pub(crate) body: Bytes,
    pub(crate) peak_bytes: usize,
    pub(crate) time: Duration,
}

/// Returns the processor time of the process.
pub(crate) fn process_time() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap())
}

/// Returns an administrator's request.
pub(crate) fn request(method: &str, path: &str, media_type: &str, body: Bytes) -> Request<Full<Bytes>> {
    let request = Request::builder().method(method).uri(path).header("host", "localhost");
    let request = request.header("authorization", "Bearer admin-token").header("content-type", media_type);
    request.body(Full::new(body)).unwrap()
}

/// Returns as many copies of a part as fit into this number of bytes.
pub(crate) fn repeated(part: &str, separator: &str, bytes: usize) -> String {
    vec![part; bytes / (part.len() + separator.len())].join(separator)
}

// === impl World ===

impl World {
    pub(crate) async fn start() -> Self {
        let server = TestServer::builder()
            .memory()
            .flag("--feature-gates=CBORServingAndStorage=true")
            .start()
            .await
            .unwrap();
        let connection = Connection::open(&server, Protocol::Http2).await;
        Self { server, connection }
    }

    /// Sends a request whose body is already in memory.
    pub(crate) async fn send(&mut self, method: &str, path: &str, media_type: &str, body: Bytes) -> Measured {
        let request = request(method, path, media_type, body);
        let before = ALLOCATOR.current_usage();
        ALLOCATOR.reset_peak_usage();
        let begin = process_time();
        let answer = self.connection.send(request).await;
        let time = process_time().saturating_sub(begin);
        let peak_bytes = ALLOCATOR.peak_usage().saturating_sub(before);
        Measured { status: answer.status, body: answer.body, peak_bytes, time }
    }

    pub(crate) async fn post(&mut self, path: &str, media_type: &str, body: impl Into<Bytes>) -> Measured {
        self.send("POST", path, media_type, body.into()).await
    }

    /// Defines `Thing`, whose `spec` has these properties.
    pub(crate) async fn define(&mut self, properties: Value) {
        let schema = json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": properties, "x-kubernetes-preserve-unknown-fields": true}}});
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "things.example.com"},
            "spec": {"group": "example.com", "scope": "Namespaced",
                "names": {"kind": "Thing", "plural": "things", "singular": "thing", "listKind": "ThingList"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}});
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        let defined = self.post(path, "application/json", definition.to_string()).await;
        assert_eq!(defined.status, 201, "{}", defined.text());
        let mut rounds = 0;
        while self.send("GET", THINGS, "application/json", Bytes::new()).await.status != 200 {
            rounds += 1;
            assert!(rounds < 500, "the definition is served");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

// === impl Measured ===

impl Measured {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn text(&self) -> String {
        let start = self.body.get(..1000).unwrap_or(&self.body);
        String::from_utf8_lossy(start).into_owned()
    }

    /// Returns what is wrong with the answer to a hostile body: it is an error of the server, or took too much memory.
    pub(crate) fn complaint(&self, name: &str, bytes: usize) -> Option<String> {
        let mib = |bytes: usize| bytes >> 20;
        let line = format!(
            "{name}: {} for {bytes} bytes, {} MiB, {:?}: {}",
            self.status,
            mib(self.peak_bytes),
            self.time,
            self.text().get(..200).unwrap_or_default()
        );
        let is_bad = self.status >= 500 || self.peak_bytes > MAX_PEAK_BYTES;
        is_bad.then_some(line)
    }
}
