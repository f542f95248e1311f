//! One connection: TLS, then HTTP/1.1 or HTTP/2, within bounds.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use http::header::CONNECTION;
use http::{HeaderMap, Method};
use http_body::{Body as HttpBody, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use registry_core::backoff::random_fraction;
use responses::{Delivery, Pieces, Response, ResponseBody};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;

use crate::authentication::PeerCertificates;
use crate::filters::{Dispatch, Filters, Peer};
use crate::metrics::ServerMetrics;
use crate::options::DEFAULT_MAX_STREAMS;

use super::coalesced::Coalesced;
use super::long_work::{LongProgress, LongWork};
use super::progress::Progress;
use super::renewal::ServingTls;
use super::streams::{ConnectionTasks, Placement, StreamPlace, Streams};
use super::tls::ServerTls;

mod head;
mod host;
mod plain_http;
mod unread;

use unread::Discarding;

/// Maximum time for the TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time for receiving the headers of an HTTP/1.1 client's next request, idle time included.
const HEADER_READ_TIMEOUT: Duration = Duration::from_secs(90);
/// Time without a request or a response in progress after which a connection is closed.
const IDLE_TIMEOUT: Duration = Duration::from_mins(3);
/// The same for a connection over which no user has been authenticated yet.
const UNKNOWN_IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// Time for the graceful shutdown of an idle connection, which needs the client's cooperation.
const END_TIMEOUT: Duration = Duration::from_secs(10);
/// The same at the end of a server whose objects end with it.
const MEMORY_END_TIMEOUT: Duration = Duration::from_millis(50);
/// Maximum size of the headers that the protocol layer reads, in bytes; the filters refuse half of it with a
/// better response.
const MAX_HEADER_BYTES: u32 = 128 * 1024;
/// Maximum number of headers of an HTTP/1.1 request. A proxy that impersonates sends one for each group of the user.
const MAX_HEADERS: usize = 1_000;
/// Maximum number of streams that a client may open and reset before the connection is closed
/// (CVE-2023-44487).
const MAX_PENDING_RESETS: usize = 50;
/// Maximum number of streams that may be reset for errors of the client before the connection is closed.
const MAX_LOCAL_RESETS: usize = 200;
/// Flow control window of a request's body.
const STREAM_WINDOW_BYTES: u32 = 256 * 1024;
/// Flow control window of all request bodies of a connection.
const CONNECTION_WINDOW_BYTES: u32 = 4 * 1024 * 1024;
/// Maximum number of buffered bytes of one response: a client that stalls with all its streams open costs
/// this for each, and no more.
const STREAM_SEND_BYTES: usize = 128 * 1024;
/// Interval between pings of an HTTP/2 client, and the time in which it has to respond.
const PING: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(20));

/// Responses whose size is known to exceed this are complete and only have to be sent: the connection's task
/// sends them, on the processor that will encrypt the bytes.
const INLINE_BYTES: u64 = 128 * 1024;

/// Shared state that connections are served with.
pub(super) struct Serving<D> {
    pub(super) filters: Arc<Filters<D>>,
    pub(super) tls: Arc<ServingTls>,
    pub(super) limits: ConnectionLimits,
    pub(super) long_work: Arc<LongWork>,
    /// Cancelled when the time for the graceful end of connections is over.
    pub(super) cut: CancellationToken,
}

/// Limits of each connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConnectionLimits {
    max_streams: u32,
    /// Chance with which a client is asked to connect again after a request.
    goaway_chance: f64,
    /// Time for the client's part in the end of a connection without requests, when the server stops.
    stop_timeout: Duration,
}

/// A connection, as its requests see it.
struct Connection<D> {
    serving: Arc<Serving<D>>,
    peer: Peer,
    is_http2: bool,
    activity: Arc<Activity>,
    discarding: Arc<Discarding>,
}

/// Activity of a connection.
#[derive(Debug, Default)]
struct Activity {
    begun: AtomicU64,
    ended: AtomicU64,
    /// Number of long responses that are produced and sent on the threads for long work.
    long_responses: AtomicUsize,
    /// Notified when the client is to connect again.
    end: Notify,
    /// Progress of the current response. Only used over HTTP/1.1, where there is one at a time.
    progress: Progress,
}

/// The body of a response, which counts as activity until it is sent or dropped.
struct CountedBody {
    inner: ResponseBody,
    placement: Placement,
    /// Whether the response has to change threads before its body is produced.
    moves: bool,
    /// Set if the response is long.
    _progress: Option<LongProgress>,
    running: Running,
}

/// A request in progress.
struct Running {
    activity: Arc<Activity>,
    /// Whether its response is produced and sent on the threads for long work.
    has_long_response: bool,
}

/// Serves a connection until it ends or has to be closed.
pub(super) async fn serve<D: Dispatch>(
    stream: TcpStream,
    address: SocketAddr,
    serving: Arc<Serving<D>>,
    stopping: CancellationToken,
) {
    // Small responses must not wait for the acknowledgement of earlier ones.
    let _ = stream.set_nodelay(true);
    let tls = serving.tls.current();
    let handshake = handshake(&tls, stream, serving.filters.metrics());
    let Some(Some(stream)) = stopping.run_until_cancelled(handshake).await else { return };
    let activity = Arc::new(Activity::default());
    let long_work = serving.long_work.clone();
    let connection = serve_encrypted(stream, address, serving, activity.clone(), stopping);
    long_work.move_while(connection, move || activity.has_long_response()).await;
}

/// Serves a connection after its handshake.
async fn serve_encrypted<D: Dispatch>(
    stream: TlsStream<TcpStream>,
    address: SocketAddr,
    serving: Arc<Serving<D>>,
    activity: Arc<Activity>,
    stopping: CancellationToken,
) {
    let streams = Streams::new(serving.long_work.clone());
    let mut tasks = ConnectionTasks::new(&streams);
    let builder = http_builder(&stream, streams.clone(), serving.limits);
    let connection = Arc::new(Connection {
        peer: Peer::new(client_certificates(&stream), address),
        is_http2: stream.get_ref().1.alpn_protocol() == Some(b"h2"),
        discarding: Discarding::new(stopping.clone()),
        serving,
        activity,
    });
    let own = connection.clone();
    let service = service_fn(move |request| {
        let running = own.begin();
        let placement = streams.announce();
        let own = own.clone();
        async move { Ok::<_, Infallible>(own.respond(request, placement, running).await) }
    });
    let stream = Coalesced::new(stream);
    let served = builder.serve_connection_with_upgrades(TokioIo::new(stream.clone()), service);
    let mut served = std::pin::pin!(served);
    let Connection { serving, activity, .. } = &*connection;
    let ended = tokio::select! {
        ended = stream.run(served.as_mut(), |context| tasks.turn(context)) => ended,
        () = serving.cut.cancelled() => return,
        // A response that was dropped remains in the connection's buffers as long as the client reads nothing.
        () = activity.progress.stalled(), if !connection.is_http2 => {
            return tracing::debug!("a client does not read its response");
        }
        () = connection.end_reason(&stopping) => {
            served.as_mut().graceful_shutdown();
            let timeout = || if stopping.is_cancelled() { serving.limits.stop_timeout } else { END_TIMEOUT };
            tokio::select! {
                ended = stream.run(served.as_mut(), |context| tasks.turn(context)) => ended,
                () = serving.cut.cancelled() => return,
                // A client that neither reads nor responds would keep the connection open for ever.
                () = activity.idle_for(timeout) => return,
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!("connection ended: {error}");
    }
    connection.discarding.drain(stream).await;
}

/// Returns a response whose body counts as activity. A large one, and the events of a watch, run in the connection's task.
fn counted_response(
    response: Response,
    placement: Placement,
    mut running: Running,
    long_work: &LongWork,
) -> Response<CountedBody> {
    let delivery = response.body().delivery();
    let is_large = response.body().size_hint().lower() > INLINE_BYTES;
    let is_watch = matches!(delivery, Delivery::Watch(_));
    let is_forwarded = matches!(delivery, Delivery::Forwarded(_));
    let is_long = !is_watch && !is_forwarded && (is_large || matches!(delivery, Delivery::Long(_)));
    let progress = is_long.then(|| long_work.begin_response());
    let moves = progress.as_ref().is_some_and(|response| !response.stays());
    if is_watch {
        placement.settle(StreamPlace::ConnectionEndless);
    } else if is_forwarded || is_large {
        placement.settle(StreamPlace::Connection);
    } else if moves {
        placement.settle(StreamPlace::LongWork);
    }
    if moves {
        running.begin_long_response();
    }
    if !is_watch {
        placement.progress().offered();
        running.activity.progress.offered();
    }
    response.map(|inner| CountedBody { inner, placement, moves, _progress: progress, running })
}

/// Error of a connection that is not encrypted. Not retryable.
#[derive(Debug, thiserror::Error)]
enum HandshakeError {
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error("the client sent an HTTP request to an HTTPS server")]
    Http,
    #[error("the first record does not look like a TLS handshake")]
    NoTls,
    #[error("it took too long")]
    Late,
}

/// Performs the TLS handshake. Returns `None` if it fails or takes too long.
async fn handshake(
    tls: &ServerTls,
    stream: TcpStream,
    metrics: &ServerMetrics,
) -> Option<TlsStream<TcpStream>> {
    let accepted = tokio::time::timeout(HANDSHAKE_TIMEOUT, accept(tls, stream)).await;
    let error = match accepted.unwrap_or(Err(HandshakeError::Late)) {
        Ok(stream) => return Some(stream),
        Err(error) => error,
    };
    metrics.failed_tls_handshake();
    tracing::debug!("TLS handshake failed: {error}");
    None
}

/// Performs the TLS handshake, or answers a client that speaks HTTP without TLS.
///
/// # Errors
/// Fails if the client does not speak TLS, or is not accepted.
async fn accept(tls: &ServerTls, mut stream: TcpStream) -> Result<TlsStream<TcpStream>, HandshakeError> {
    if plain_http::begins_with_tls(&stream).await? {
        return Ok(tls.acceptor.accept(stream).await?);
    }
    let is_http = plain_http::respond(&mut stream).await?;
    Err(if is_http { HandshakeError::Http } else { HandshakeError::NoTls })
}

/// Returns the client's certificates, also those of a resumed session.
fn client_certificates(stream: &TlsStream<TcpStream>) -> Option<PeerCertificates> {
    Some(PeerCertificates::new(stream.get_ref().1.peer_certificates()?))
}

/// Returns a builder for the protocol that was negotiated in the handshake; without one, the protocol is
/// detected from the first bytes.
fn http_builder(
    stream: &TlsStream<TcpStream>,
    streams: Streams,
    limits: ConnectionLimits,
) -> Builder<Streams> {
    let builder = Builder::new(streams);
    let mut builder = match stream.get_ref().1.alpn_protocol() {
        Some(b"h2") => builder.http2_only(),
        Some(b"http/1.1") => builder.http1_only(),
        _ => builder,
    };
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_READ_TIMEOUT)
        .max_buf_size(2 * MAX_HEADER_BYTES as usize)
        .max_headers(MAX_HEADERS);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(MAX_HEADER_BYTES)
        .max_concurrent_streams(limits.max_streams)
        .max_pending_accept_reset_streams(MAX_PENDING_RESETS)
        .max_local_error_reset_streams(MAX_LOCAL_RESETS)
        .max_send_buf_size(STREAM_SEND_BYTES)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .keep_alive_interval(PING.0)
        .keep_alive_timeout(PING.1);
    builder
}

// === impl Connection ===

impl<D: Dispatch> Connection<D> {
    /// Notes that a request begins, after which the client may have to connect again.
    fn begin(&self) -> Running {
        Running::begin(&self.activity, self.is_http2 && self.serving.limits.sends_away())
    }

    /// Responds to a request.
    async fn respond(
        &self,
        request: http::Request<Incoming>,
        placement: Placement,
        running: Running,
    ) -> Response<CountedBody> {
        let is_head = request.method() == Method::HEAD;
        let mut response = if let Some(refusal) = host::refusal(&request) {
            refusal
        } else {
            let (request, unread) = unread::lend(request, &self.discarding);
            // Boxed: the memory of a stream is that of this future as long as its response is sent, which a watch's is for
            // hours.
            let mut response = Box::pin(self.serving.filters.serve(&self.peer, request)).await;
            unread.finish(response.headers_mut(), &self.discarding).await;
            running.end_after(response.headers_mut(), self.is_http2);
            response
        };
        if is_head {
            response = head::without_body(response);
        }
        counted_response(response, placement, running, &self.serving.long_work)
    }

    /// Waits for a reason to accept no further request: the server stops, the client is to connect again, or the connection
    /// is idle.
    async fn end_reason(&self, stopping: &CancellationToken) {
        let timeout = || if self.peer.is_authenticated() { IDLE_TIMEOUT } else { UNKNOWN_IDLE_TIMEOUT };
        tokio::select! {
            () = stopping.cancelled() => {}
            () = self.activity.end.notified() => {}
            () = self.activity.idle_for(timeout) => {}
        }
    }
}

// === impl ConnectionLimits ===

impl ConnectionLimits {
    /// Returns the limits with this maximum number of open requests of an HTTP/2 connection, of which 0 is the
    /// default, and this chance with which a client is asked to connect again after a request. If the objects of the server
    /// end with it, its end waits for no client that does not respond.
    pub(super) fn new(max_streams: u32, goaway_chance: f64, keeps_objects: bool) -> Self {
        Self {
            max_streams: if max_streams == 0 { DEFAULT_MAX_STREAMS } else { max_streams },
            goaway_chance,
            stop_timeout: if keeps_objects { END_TIMEOUT } else { MEMORY_END_TIMEOUT },
        }
    }

    /// Whether the client is asked to connect again after this request.
    fn sends_away(self) -> bool {
        self.goaway_chance > 0.0 && random_fraction() < self.goaway_chance
    }
}

// === impl Activity ===

impl Activity {
    /// Whether a long response is being produced and sent.
    fn has_long_response(&self) -> bool {
        self.long_responses.load(Ordering::Relaxed) > 0
    }

    /// Waits until the connection has been idle for the duration that `timeout` then returns.
    async fn idle_for(&self, timeout: impl Fn() -> Duration) {
        let mut before = self.begun.load(Ordering::Relaxed);
        loop {
            tokio::time::sleep(timeout()).await;
            let begun = self.begun.load(Ordering::Relaxed);
            if begun == before && self.ended.load(Ordering::Relaxed) == begun {
                return;
            }
            before = begun;
        }
    }
}

// === impl Running ===

impl Running {
    /// Notes that a request begins. `is_last` is whether the client is to connect again after it.
    fn begin(activity: &Arc<Activity>, is_last: bool) -> Self {
        activity.begun.fetch_add(1, Ordering::Relaxed);
        if is_last {
            activity.end.notify_one();
        }
        Self { activity: activity.clone(), has_long_response: false }
    }

    /// Notes that its response is produced and sent on the threads for long work.
    fn begin_long_response(&mut self) {
        self.has_long_response = true;
        self.activity.long_responses.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends an HTTP/2 connection after a response with `Connection: close`, which the protocol itself does not have.
    fn end_after(&self, headers: &mut HeaderMap, is_http2: bool) {
        if is_http2 && headers.remove(CONNECTION).is_some_and(|value| value == "close") {
            self.activity.end.notify_one();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.has_long_response {
            self.activity.long_responses.fetch_sub(1, Ordering::Relaxed);
        }
        self.activity.ended.fetch_add(1, Ordering::Relaxed);
        self.activity.progress.making();
    }
}

// === impl CountedBody ===

impl HttpBody for CountedBody {
    type Data = Pieces;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Pieces>, axum::Error>>> {
        if matches!(self.inner.delivery(), Delivery::Watch(_)) {
            return self.inner.poll_pieces(context);
        }
        if std::mem::take(&mut self.moves) {
            // The task changes threads where it is pending.
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let Poll::Ready(frame) = self.inner.poll_pieces(context) else {
            self.placement.progress().making();
            self.running.activity.progress.making();
            return Poll::Pending;
        };
        self.placement.progress().offered();
        self.running.activity.progress.offered();
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
