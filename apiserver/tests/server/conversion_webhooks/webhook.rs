//! A webhook in the process of the test: it converts, or does what it should not.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::tls_server::TlsServer;

/// The behavior of the webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behavior {
    Convert,
    Slow,
    Reject,
    Label,
    BadLabel,
    Rename,
    OtherNamespace,
    OtherUid,
    Finalize,
    DropObject,
    WrongReview,
    WrongType,
    WrongVersion,
    WrongKind,
    Refuse,
    Garbage,
    Large,
    Hang,
    Fail,
    Redirect,
    HangUp,
    Nothing,
}

/// A webhook. It ends with the test's runtime.
pub struct Webhook {
    pub address: SocketAddr,
    /// The certificate (PEM) to check it with, in base64.
    pub ca_bundle: String,
    server: TlsServer,
    state: Arc<State>,
}

struct State {
    behavior: Mutex<Behavior>,
    calls: AtomicUsize,
    last: Mutex<Value>,
}

impl Webhook {
    pub async fn start() -> Self {
        let state = Arc::new(State {
            behavior: Mutex::new(Behavior::Convert),
            calls: AtomicUsize::default(),
            last: Mutex::default(),
        });
        let serving = state.clone();
        let names = ["127.0.0.1", "localhost", "converter.default.svc"];
        let server = TlsServer::start(&names, None, move |request| answer(serving.clone(), request)).await;
        Self { address: server.address, ca_bundle: server.ca_bundle(), server, state }
    }

    pub fn set(&self, behavior: Behavior) {
        *self.state.behavior.lock() = behavior;
    }

    pub fn calls(&self) -> usize {
        self.state.calls.load(Ordering::SeqCst)
    }

    pub fn connections(&self) -> usize {
        self.server.connections()
    }

    /// Returns the last request.
    pub fn last(&self) -> Value {
        self.state.last.lock().clone()
    }

    /// Returns the URL of it.
    pub fn url(&self) -> String {
        self.server.url("/convert")
    }

    /// Returns how a definition refers to it by URL.
    pub fn client_config(&self) -> Value {
        json!({ "url": self.url(), "caBundle": self.ca_bundle })
    }
}

async fn answer(state: Arc<State>, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, String> {
    state.calls.fetch_add(1, Ordering::SeqCst);
    assert_eq!(request.method(), "POST");
    assert_eq!(request.headers()["content-type"], "application/json");
    let query = request.uri().query().unwrap_or_default().to_owned();
    let body = request.into_body().collect().await.map_err(|error| error.to_string())?.to_bytes();
    let review: Value = serde_json::from_slice(&body).unwrap();
    let mut last = review.clone();
    last["query"] = query.into();
    *state.last.lock() = last;
    let behavior = *state.behavior.lock();
    let plain = |status: u16, text: String| {
        Ok(Response::builder().status(status).body(Full::new(Bytes::from(text))).unwrap())
    };
    match behavior {
        Behavior::Garbage => plain(200, "garbage".to_owned()),
        Behavior::Large => plain(200, "x".repeat(100 << 20)),
        Behavior::Fail => plain(500, "out of order".to_owned()),
        Behavior::Reject => plain(422, String::new()),
        Behavior::Slow => {
            tokio::time::sleep(Duration::from_millis(300)).await;
            plain(200, reviewed(behavior, &review).to_string())
        }
        Behavior::Nothing => plain(200, "{}".to_owned()),
        Behavior::HangUp => Err("the connection is closed".to_owned()),
        Behavior::Redirect => {
            let builder = Response::builder().status(307).header("location", "https://127.0.0.1:1/");
            Ok(builder.body(Full::default()).unwrap())
        }
        Behavior::Hang => {
            std::future::pending::<Infallible>().await;
            unreachable!()
        }
        _ => plain(200, reviewed(behavior, &review).to_string()),
    }
}

fn reviewed(behavior: Behavior, review: &Value) -> Value {
    let request = &review["request"];
    let desired = request["desiredAPIVersion"].as_str().unwrap();
    let objects = request["objects"].as_array().unwrap().iter();
    let mut objects: Vec<Value> = objects.map(|object| converted(object, desired)).collect();
    for object in &mut objects {
        spoil(behavior, object);
    }
    if behavior == Behavior::DropObject {
        objects.pop();
    }
    let uid = if behavior == Behavior::WrongReview { json!("another") } else { request["uid"].clone() };
    let kind = if behavior == Behavior::WrongType { "Review" } else { "ConversionReview" };
    let result = match behavior {
        Behavior::Refuse => json!({ "status": "Failed", "message": "it is too hot" }),
        _ => json!({ "status": "Success" }),
    };
    json!({
        "apiVersion": review["apiVersion"], "kind": kind,
        "response": { "uid": uid, "convertedObjects": objects, "result": result },
    })
}

fn spoil(behavior: Behavior, object: &mut Value) {
    match behavior {
        Behavior::Label => object["metadata"]["labels"] = json!({ "converted": "yes" }),
        Behavior::BadLabel => object["metadata"]["labels"] = json!({ "converted": "not so" }),
        Behavior::Rename => object["metadata"]["name"] = json!("other"),
        Behavior::OtherNamespace => object["metadata"]["namespace"] = json!("other"),
        Behavior::OtherUid => object["metadata"]["uid"] = json!("1"),
        Behavior::Finalize => {
            object["metadata"]["finalizers"] = json!(["example.com/mine"]);
            object["metadata"]["generation"] = json!(99);
        }
        Behavior::WrongVersion => object["apiVersion"] = json!("example.com/v7"),
        Behavior::WrongKind => object["kind"] = json!("Gadget"),
        _ => {}
    }
}

/// Converts between `v1` with `spec.hostPort` and `v2` with `spec.host` and `spec.port`.
fn converted(object: &Value, desired: &str) -> Value {
    let mut object = object.clone();
    object["apiVersion"] = desired.into();
    let Some(spec) = object["spec"].as_object_mut() else { return object };
    if desired.ends_with("v1") {
        let text =
            |value: Option<Value>| value.map(|value| value.as_str().map_or(value.to_string(), str::to_owned));
        if let Some(host) = text(spec.remove("host")) {
            let port = text(spec.remove("port")).unwrap_or_default();
            spec.insert("hostPort".to_owned(), format!("{host}:{port}").into());
        }
    } else if let Some(both) = spec.remove("hostPort") {
        let (host, port) = both.as_str().unwrap().split_once(':').unwrap();
        spec.insert("host".to_owned(), host.into());
        spec.insert("port".to_owned(), port.into());
    }
    object
}

/// Maximum time that a test waits for something that must happen.
pub const TIMEOUT: Duration = Duration::from_secs(20);
