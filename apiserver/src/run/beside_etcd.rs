//! A server under the name `kube-apiserver`, as test environments start it: the program at `--etcd-servers` is etcd, or a
//! [program without a store](super::etcd). Beside the latter the objects are kept in memory.

use std::time::Duration;

use bytes::Bytes;
use http::Uri;
use http::header::HOST;
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use crate::options::Options;

use super::etcd::{IN_MEMORY, STORAGE_POINTER};

/// Time for which a program that does not listen yet is waited for. Afterwards it is taken for an etcd, for which the server
/// waits without a limit.
const START_PATIENCE: Duration = Duration::from_secs(5);
/// Time between two attempts.
const PAUSE: Duration = Duration::from_millis(10);
/// Time for a response.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum size of a response, in bytes.
const MAX_RESPONSE_BYTES: usize = 64 * 1024;

/// Maximum time of the shutdown of a server that keeps nothing.
pub(super) const STOP_PATIENCE: Duration = Duration::from_millis(50);

/// The failure of a question.
enum Failure {
    /// Nothing listens.
    Refused,
    /// There is no answer that can be understood.
    Other,
}

/// Returns other options for the server if the program at `--etcd-servers` keeps nothing.
pub(super) async fn adapted(options: &Options) -> Option<Options> {
    let [server] = options.storage.etcd_servers.as_slice() else { return None };
    if !keeps_nothing(server).await {
        return None;
    }
    tracing::info!(
        "the program at {server} takes the place of etcd and keeps nothing: objects are kept in memory"
    );
    Some(options.clone().beside_no_store())
}

/// Whether the program at a URL says that it keeps nothing.
async fn keeps_nothing(server: &str) -> bool {
    let Ok(url) = server.parse::<Uri>() else { return false };
    let (Some("http"), Some(authority)) = (url.scheme_str(), url.authority()) else { return false };
    let address = format!("{}:{}", authority.host(), authority.port_u16().unwrap_or(80));
    let deadline = Instant::now() + START_PATIENCE;
    loop {
        match timeout(RESPONSE_TIMEOUT, version(&address)).await {
            Ok(Ok(version)) => {
                return version.pointer(STORAGE_POINTER).and_then(Value::as_str) == Some(IN_MEMORY);
            }
            Ok(Err(Failure::Refused)) if Instant::now() < deadline => sleep(PAUSE).await,
            _ => return false,
        }
    }
}

/// Asks for `/version`.
async fn version(address: &str) -> Result<Value, Failure> {
    let connection = TcpStream::connect(address).await.map_err(|error| match error.kind() {
        std::io::ErrorKind::ConnectionRefused => Failure::Refused,
        _ => Failure::Other,
    })?;
    let other = |_| Failure::Other;
    let (mut sender, connection) = handshake(TokioIo::new(connection)).await.map_err(other)?;
    let request = http::Request::get("/version").header(HOST, address).body(Empty::<Bytes>::new());
    let request = request.map_err(|_| Failure::Other)?;
    let answered = async {
        let response = sender.send_request(request).await.map_err(other)?;
        let body = Limited::new(response.into_body(), MAX_RESPONSE_BYTES).collect().await;
        serde_json::from_slice(&body.map_err(|_| Failure::Other)?.to_bytes()).map_err(|_| Failure::Other)
    };
    // The connection makes progress while it is polled, and may end before the response is read.
    let connection = async {
        let _ = connection.await;
        std::future::pending::<()>().await;
    };
    tokio::select! {
        answer = answered => answer,
        () = connection => Err(Failure::Other),
    }
}
