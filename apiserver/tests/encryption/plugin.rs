//! A key management service: gRPC over a Unix socket. It "encrypts" by turning all bits over.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response};
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use parking_lot::Mutex;
use prost::Message;
use tokio::net::UnixListener;
use tokio::task::JoinHandle;

/// The running service; it ends when it is dropped.
pub struct Plugin {
    state: Arc<State>,
    serving: JoinHandle<()>,
}

#[derive(Default)]
struct State {
    key_id: Mutex<String>,
    decryptions: AtomicUsize,
}

#[derive(Clone, PartialEq, Message)]
struct StatusResponse {
    #[prost(string, tag = "1")]
    version: String,
    #[prost(string, tag = "2")]
    healthz: String,
    #[prost(string, tag = "3")]
    key_id: String,
}

/// An encryption's or a decryption's first field, in requests and responses.
#[derive(Clone, PartialEq, Message)]
struct First {
    #[prost(bytes = "vec", tag = "1")]
    bytes: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct EncryptResponse {
    #[prost(bytes = "vec", tag = "1")]
    ciphertext: Vec<u8>,
    #[prost(string, tag = "2")]
    key_id: String,
    #[prost(btree_map = "string, bytes", tag = "3")]
    annotations: BTreeMap<String, Vec<u8>>,
}

impl Plugin {
    pub fn start(socket: &Path, key_id: &str) -> Self {
        let state = Arc::new(State::default());
        key_id.clone_into(&mut state.key_id.lock());
        let listener = UnixListener::bind(socket).unwrap();
        let own = state.clone();
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let state = own.clone();
                let service = service_fn(move |request| answer(state.clone(), request));
                let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                tokio::spawn(builder.serve_connection(TokioIo::new(stream), service));
            }
        });
        Self { state, serving }
    }

    /// Encrypts with another key from now on.
    pub fn use_key(&self, key_id: &str) {
        key_id.clone_into(&mut self.state.key_id.lock());
    }

    pub fn decryptions(&self) -> usize {
        self.state.decryptions.load(Ordering::Relaxed)
    }
}

impl Drop for Plugin {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

type Frames = StreamBody<futures::stream::Iter<std::vec::IntoIter<Result<Frame<Bytes>, Infallible>>>>;

async fn answer(state: Arc<State>, request: http::Request<Incoming>) -> Result<Response<Frames>, Infallible> {
    let method = request.uri().path().rsplit('/').next().unwrap().to_owned();
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let turned = |body: &[u8]| -> Vec<u8> {
        // A message of gRPC has five bytes before it.
        First::decode(&body[5..]).unwrap().bytes.iter().map(|byte| !byte).collect()
    };
    let key_id = state.key_id.lock().clone();
    let message = match method.as_str() {
        "Status" => {
            StatusResponse { version: "v2".to_owned(), healthz: "ok".to_owned(), key_id }.encode_to_vec()
        }
        "Encrypt" => {
            let annotations = BTreeMap::from([("a.example.com".to_owned(), b"1".to_vec())]);
            EncryptResponse { ciphertext: turned(&body), key_id, annotations }.encode_to_vec()
        }
        _ => {
            state.decryptions.fetch_add(1, Ordering::Relaxed);
            First { bytes: turned(&body) }.encode_to_vec()
        }
    };
    let mut framed = vec![0];
    framed.extend_from_slice(&u32::try_from(message.len()).unwrap().to_be_bytes());
    framed.extend_from_slice(&message);
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from_static("0"));
    let frames = vec![Ok(Frame::data(Bytes::from(framed))), Ok(Frame::trailers(trailers))];
    let mut response = Response::new(StreamBody::new(futures::stream::iter(frames)));
    response.headers_mut().insert("content-type", HeaderValue::from_static("application/grpc"));
    Ok(response)
}
