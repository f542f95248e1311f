//! Calls of gRPC services on Unix sockets: plug-ins on this machine.

use std::path::PathBuf;
use std::time::Duration;

use http::uri::PathAndQuery;
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;
use tonic::transport::{Channel, Endpoint, Uri};
use tonic::{Request, Status};
use tonic_prost::ProstCodec;

/// A client of one service. It connects when it is first used, and again when the connection is lost.
pub struct UnixGrpc(Channel);

/// Error of a call, with the text that Go's gRPC library has for it.
#[derive(Debug, thiserror::Error)]
#[error("rpc error: code = {:?} desc = {}", .0.code(), .0.message())]
pub struct GrpcError(#[source] Box<Status>);

// === impl UnixGrpc ===

impl UnixGrpc {
    /// Creates a client of the service on a socket. On Linux, the name of an abstract socket begins with a zero byte. Must be
    /// called within a Tokio runtime.
    pub fn new(socket: PathBuf) -> Self {
        // The host is not used.
        let endpoint = Endpoint::from_static("http://localhost");
        Self(endpoint.connect_with_connector_lazy(tower::service_fn(move |_: Uri| {
            let socket = socket.clone();
            async move { UnixStream::connect(socket).await.map(TokioIo::new) }
        })))
    }

    /// Calls a method. Answers of more than 4 MiB are refused.
    ///
    /// # Errors
    /// Fails if there is no answer of success in time.
    pub async fn call<Q, A>(
        &self,
        method: &'static str,
        request: Q,
        timeout: Duration,
    ) -> Result<A, GrpcError>
    where
        Q: prost::Message + Send + Sync + 'static,
        A: prost::Message + Default + Send + Sync + 'static,
    {
        let answered = tokio::time::timeout(timeout, async {
            let mut client = tonic::client::Grpc::new(self.0.clone());
            client.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
            let codec: ProstCodec<Q, A> = ProstCodec::default();
            client.unary(Request::new(request), PathAndQuery::from_static(method), codec).await
        });
        let answered =
            answered.await.unwrap_or_else(|_| Err(Status::deadline_exceeded("context deadline exceeded")));
        answered.map(tonic::Response::into_inner).map_err(|status| GrpcError(Box::new(status)))
    }
}

// === impl GrpcError ===

impl GrpcError {
    /// Whether the service was not reached.
    pub fn is_unavailable(&self) -> bool {
        self.0.code() == tonic::Code::Unavailable
    }

    /// Returns the name of the code, as metrics have it.
    pub fn code(&self) -> String {
        format!("{:?}", self.0.code())
    }
}
