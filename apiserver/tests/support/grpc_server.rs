//! A gRPC server over a Unix socket, of methods with one message each way.

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::UnixListener;
use tokio::task::JoinHandle;

/// Length of the flag of compression and the length that precede a message.
const PREFIX_BYTES: usize = 5;

/// The running server; it ends when it is dropped.
pub struct GrpcServer {
    serving: JoinHandle<()>,
}

type Frames = StreamBody<futures::stream::Iter<std::vec::IntoIter<Result<Frame<Bytes>, Infallible>>>>;

impl GrpcServer {
    /// Answers each request with what `method` returns for its path and its encoded message.
    pub fn start<M, A>(socket: &Path, method: M) -> Self
    where
        M: Fn(String, Bytes) -> A + Send + Sync + 'static,
        A: Future<Output = Vec<u8>> + Send + 'static,
    {
        let listener = UnixListener::bind(socket).unwrap();
        let method = Arc::new(method);
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let method = method.clone();
                let service = service_fn(move |request| answer(method.clone(), request));
                let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                tokio::spawn(builder.serve_connection(TokioIo::new(stream), service));
            }
        });
        Self { serving }
    }
}

impl Drop for GrpcServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn answer<M, A>(method: Arc<M>, request: Request<Incoming>) -> Result<Response<Frames>, Infallible>
where
    M: Fn(String, Bytes) -> A,
    A: Future<Output = Vec<u8>>,
{
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let message = method(path, body.slice(PREFIX_BYTES..)).await;
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
