//! A webhook in the process of the test: what it does depends on the path it is called at.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::tls_server::TlsServer;

/// Answers the request for a path.
type Behavior = dyn Fn(&Value) -> Reply + Send + Sync;

/// The answer of a webhook.
#[allow(dead_code, reason = "not every set of tests has every answer")]
pub enum Reply {
    /// With the `response` of a review; the uid is filled in.
    Response(Value),
    /// With this body and status.
    Body(u16, String),
    /// Later.
    After(Duration, Box<Reply>),
    /// With a body of zeros.
    Endless(usize),
    Redirect,
    Hang,
    Close,
    Panic,
}

/// A webhook. It ends with the test's runtime.
pub struct Hook {
    server: TlsServer,
    /// The certificate (PEM) to check it with, in base64.
    pub ca_bundle: String,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    behaviors: Mutex<HashMap<String, Arc<Behavior>>>,
    calls: Mutex<HashMap<String, Vec<Value>>>,
    expects_credentials: AtomicBool,
}

impl Hook {
    pub async fn start() -> Self {
        let state = Arc::new(State::default());
        let serving = state.clone();
        let names = ["127.0.0.1", "hook.default.svc"];
        let server = TlsServer::start(&names, None, move |request| answer(serving.clone(), request)).await;
        Self { ca_bundle: server.ca_bundle(), server, state }
    }

    /// Lets calls have credentials; they are in `authorization` of a call.
    pub fn expect_credentials(&self) {
        self.state.expects_credentials.store(true, Ordering::SeqCst);
    }

    pub fn port(&self) -> u16 {
        self.server.address.port()
    }

    pub fn url(&self, path: &str) -> String {
        self.server.url(&format!("/{path}"))
    }

    /// Sets what a path answers. Other paths allow everything.
    pub fn on(&self, path: &str, behavior: impl Fn(&Value) -> Reply + Send + Sync + 'static) {
        self.state.behaviors.lock().insert(path.to_owned(), Arc::new(behavior));
    }

    /// Returns the requests that a path has received; `query` is the query of the URL.
    pub fn calls(&self, path: &str) -> Vec<Value> {
        self.state.calls.lock().get(path).cloned().unwrap_or_default()
    }
}

/// Returns the response that allows a request.
pub fn allowed() -> Reply {
    Reply::Response(json!({ "allowed": true }))
}

/// Returns the response that allows a request with a change.
pub fn patched(patch: &Value) -> Reply {
    let patch = STANDARD.encode(patch.to_string());
    Reply::Response(json!({ "allowed": true, "patchType": "JSONPatch", "patch": patch }))
}

async fn answer(state: Arc<State>, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, String> {
    assert_eq!(request.method(), "POST");
    assert_eq!(request.headers()["content-type"], "application/json");
    let shown = request.headers().get("authorization").map(|shown| shown.to_str().unwrap().to_owned());
    let is_expected = state.expects_credentials.load(Ordering::SeqCst);
    assert!(shown.is_none() || is_expected, "a webhook gets no credentials");
    let path = request.uri().path().trim_start_matches('/').to_owned();
    let query = request.uri().query().unwrap_or_default().to_owned();
    let body = request.into_body().collect().await.map_err(|error| error.to_string())?.to_bytes();
    let review: Value = serde_json::from_slice(&body).unwrap();
    let mut call = review["request"].clone();
    call["query"] = query.into();
    call["authorization"] = shown.into();
    state.calls.lock().entry(path.clone()).or_default().push(call);
    let behavior = state.behaviors.lock().get(&path).cloned();
    let mut reply = behavior.map_or_else(allowed, |behavior| behavior(&review["request"]));
    while let Reply::After(time, next) = reply {
        tokio::time::sleep(time).await;
        reply = *next;
    }
    let plain = |status: u16, body: Bytes| {
        let response = Response::builder().status(status).header("content-type", "application/json");
        Ok(response.body(Full::new(body)).unwrap())
    };
    match reply {
        Reply::Response(mut response) => {
            response["uid"] = review["request"]["uid"].clone();
            let review = json!({ "apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response });
            plain(200, review.to_string().into())
        }
        Reply::Body(status, body) => plain(status, body.into()),
        Reply::Endless(bytes) => plain(200, vec![b'0'; bytes].into()),
        Reply::Redirect => {
            let response = Response::builder().status(307).header("location", "https://127.0.0.1:1/");
            Ok(response.body(Full::default()).unwrap())
        }
        Reply::Hang => std::future::pending().await,
        Reply::Close => Err("the connection is closed".to_owned()),
        Reply::Panic => panic!("a webhook that panics"),
        Reply::After(..) => unreachable!("the loop above ends with another reply"),
    }
}
