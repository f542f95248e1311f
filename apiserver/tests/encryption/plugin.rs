//! A key management service of both versions: gRPC over a Unix socket. It "encrypts" by turning all bits over.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use parking_lot::Mutex;
use prost::Message;

use crate::grpc_server::GrpcServer;

/// The running service; it ends when it is dropped.
pub struct Plugin {
    state: Arc<State>,
    _server: GrpcServer,
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
        let own = state.clone();
        let server = GrpcServer::start(socket, move |method, message| {
            let answer = answer(&own, &method, message);
            async { answer }
        });
        Self { state, _server: server }
    }

    /// Encrypts with another key from now on.
    pub fn use_key(&self, key_id: &str) {
        key_id.clone_into(&mut self.state.key_id.lock());
    }

    pub fn decryptions(&self) -> usize {
        self.state.decryptions.load(Ordering::Relaxed)
    }
}

/// A request of version 1 to encrypt or to decrypt.
#[derive(Clone, PartialEq, Message)]
struct FirstVersionRequest {
    #[prost(string, tag = "1")]
    version: String,
    #[prost(bytes = "vec", tag = "2")]
    bytes: Vec<u8>,
}

/// A response of version 1 with its version.
#[derive(Clone, PartialEq, Message)]
struct VersionResponse {
    #[prost(string, tag = "1")]
    version: String,
}

fn answer(state: &State, method: &str, message: Bytes) -> Vec<u8> {
    match method.strip_prefix("/v1beta1.KeyManagementService/") {
        Some("Version") => return VersionResponse { version: "v1beta1".to_owned() }.encode_to_vec(),
        Some(_) => {
            let FirstVersionRequest { version, bytes } = FirstVersionRequest::decode(message).unwrap();
            assert_eq!(version, "v1beta1");
            state.decryptions.fetch_add(usize::from(method.ends_with("Decrypt")), Ordering::Relaxed);
            return First { bytes: bytes.iter().map(|byte| !byte).collect() }.encode_to_vec();
        }
        None => {}
    }
    let turned = |message: Bytes| -> Vec<u8> {
        First::decode(message).unwrap().bytes.iter().map(|byte| !byte).collect()
    };
    let key_id = state.key_id.lock().clone();
    match method.rsplit('/').next().unwrap() {
        "Status" => {
            StatusResponse { version: "v2".to_owned(), healthz: "ok".to_owned(), key_id }.encode_to_vec()
        }
        "Encrypt" => {
            let annotations = BTreeMap::from([("a.example.com".to_owned(), b"1".to_vec())]);
            EncryptResponse { ciphertext: turned(message), key_id, annotations }.encode_to_vec()
        }
        _ => {
            state.decryptions.fetch_add(1, Ordering::Relaxed);
            First { bytes: turned(message) }.encode_to_vec()
        }
    }
}
