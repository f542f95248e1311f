//! Distributed tracing: `--tracing-config-file`.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test ends at what is missing"
)]

use std::net::SocketAddr;
use std::time::Duration;

use opentelemetry_proto::tonic::trace::v1::Span;
use rustls::pki_types::PrivateKeyDer;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

mod collector;
mod process;

use collector::{Collector, attribute};
use process::Process;

const PATIENCE: Duration = Duration::from_mins(1);
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
}

/// Returns the stages below a span: their names, and the kind or operation that they have.
fn stages(spans: &[Span], of: &Span) -> Vec<String> {
    let mut children: Vec<&Span> = spans.iter().filter(|span| span.parent_span_id == of.span_id).collect();
    children.sort_by_key(|span| span.start_time_unix_nano);
    children
        .into_iter()
        .flat_map(|span| {
            assert_eq!(span.trace_id, of.trace_id);
            let what = ["kind", "operation"].iter().find_map(|key| attribute(span, key));
            let own = what.map_or_else(|| span.name.clone(), |what| format!("{} {what}", span.name));
            std::iter::once(own.clone())
                .chain(stages(spans, span).into_iter().map(move |below| format!("{own} > {below}")))
        })
        .collect()
}

/// A webhook that allows everything. Returns its address, its authority (PEM), and the heads of the requests.
async fn webhook() -> (SocketAddr, String, mpsc::UnboundedReceiver<String>) {
    let key = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let private = PrivateKeyDer::try_from(key.signing_key.serialize_der()).unwrap();
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![key.cert.der().clone()], private)
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(std::sync::Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (heads, received) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, heads) = (acceptor.clone(), heads.clone());
            tokio::spawn(async move {
                let mut stream = acceptor.accept(stream).await.unwrap();
                let mut text = String::new();
                let mut buffer = vec![0; 65_536];
                let uid = loop {
                    let length = stream.read(&mut buffer).await.unwrap();
                    text.push_str(std::str::from_utf8(&buffer[..length]).unwrap());
                    let body = text.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
                    if let Ok(review) = serde_json::from_str::<Value>(body) {
                        break review["request"]["uid"].clone();
                    }
                };
                let (head, _) = text.split_once("\r\n\r\n").unwrap();
                heads.send(head.to_owned()).unwrap();
                let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
                    "response": {"uid": uid, "allowed": true}})
                .to_string();
                let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
                let answer = format!("{head}content-length: {}\r\n\r\n{review}", review.len());
                stream.write_all(answer.as_bytes()).await.unwrap();
                let _ = stream.shutdown().await;
            });
        }
    });
    (address, key.cert.pem(), received)
}

fn registration(address: SocketAddr, authority: &str) -> Value {
    use base64::Engine as _;
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "seen"},
        "webhooks": [{
            "name": "seen.example.com",
            "clientConfig": {
                "url": format!("https://localhost:{}/seen", address.port()),
                "caBundle": base64::prelude::BASE64_STANDARD.encode(authority),
            },
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }],
    })
}

/// An administrator's trace is continued: through the stages of a creation, and to a webhook.
#[tokio::test(flavor = "multi_thread")]
async fn a_creation_is_traced_through_its_stages_and_to_a_webhook() {
    let (collector, address) = Collector::start().await;
    let directory = tempfile::tempdir().unwrap();
    let server = Process::start(directory.path(), &format!("endpoint: {address}\n")).await;
    let (hook, authority, mut heads) = webhook().await;
    let hooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    server.post(hooks, &registration(hook, &authority), "").await;
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let parent = "00f067aa0ba902b7";
    server
        .post(&format!("{MAPS}?fieldManager=me"), &config_map("a"), &format!("00-{trace}-{parent}-01"))
        .await;
    let head = heads.recv().await.unwrap().to_ascii_lowercase();
    // Neither a client that asks for none, nor the rate of 0, traces anything.
    server.post(MAPS, &config_map("b"), &format!("00-{trace}-{parent}-00")).await;
    server.post(MAPS, &config_map("c"), "").await;
    server.stop().await;

    let root = collector.root("http.response.status_code", "201").await;
    let hexadecimal =
        |bytes: &[u8]| bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xf]).map(digit).collect::<String>();
    assert_eq!(root.name, "POST /api/v1/namespaces/{:namespace}/configmaps");
    assert_eq!(hexadecimal(&root.trace_id), trace);
    assert_eq!(hexadecimal(&root.parent_span_id), parent);
    let target = format!("{MAPS}?fieldManager=me");
    for (name, value) in [
        ("http.request.method", "POST"),
        ("http.target", &target),
        ("url.scheme", "https"),
        ("url.path", MAPS),
        ("client.address", "127.0.0.1"),
        ("user_agent.original", "tracing-test"),
        ("network.protocol.version", "1.1"),
    ] {
        assert_eq!(attribute(&root, name).as_deref(), Some(value), "{name}");
    }
    assert_eq!(attribute(&root, "audit-id").unwrap().len(), 36);
    let spans = collector.spans();
    assert!(spans.iter().all(|span| span.trace_id == root.trace_id), "one trace only: {spans:#?}");
    let seen = stages(&spans, &root);
    for stage in [
        "authentication",
        "authorization",
        "admission mutating",
        "admission validating",
        "admission validating > webhook",
        "storage create",
        "encoding",
    ] {
        assert!(seen.iter().any(|one| one == stage), "{stage} is missing: {seen:#?}");
    }
    assert!(spans.iter().all(|span| span.start_time_unix_nano <= span.end_time_unix_nano));
    let called = spans.iter().find(|span| span.name == "webhook").unwrap();
    let passed_on = format!("traceparent: 00-{trace}-{}-01", hexadecimal(&called.span_id));
    assert!(head.contains(&passed_on), "{passed_on}: {head}");
}

/// With every request sampled, and a collector that cannot be reached, requests succeed, and the process ends.
#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_is_gone_disturbs_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = listener.local_addr().unwrap();
    let closed = {
        let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
        closed.local_addr().unwrap()
    };
    for collector in [silent, closed] {
        let directory = tempfile::tempdir().unwrap();
        let configuration = format!("endpoint: {collector}\nsamplingRatePerMillion: 1000000\n");
        let server = Process::start(directory.path(), &configuration).await;
        // More spans than the queue takes.
        for number in 0..400 {
            server.post(MAPS, &config_map(&format!("m{number}")), "").await;
        }
        server.stop().await;
    }
}

/// A request without a trace begins one, if it is sampled.
#[tokio::test(flavor = "multi_thread")]
async fn sampled_requests_begin_traces() {
    let (collector, address) = Collector::start().await;
    let directory = tempfile::tempdir().unwrap();
    let configuration = format!("endpoint: dns:///{address}\nsamplingRatePerMillion: 1000000\n");
    let server = Process::start(directory.path(), &configuration).await;
    server.post(MAPS, &config_map("a"), "").await;
    server.stop().await;
    let root = collector.root("http.response.status_code", "201").await;
    assert!(root.parent_span_id.is_empty() || root.parent_span_id.iter().all(|byte| *byte == 0));
}

fn digit(value: u8) -> char {
    char::from_digit(u32::from(value), 16).unwrap()
}
