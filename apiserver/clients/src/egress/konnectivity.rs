//! Connections through a konnectivity server, over gRPC on a Unix socket: each is a stream of packets of its own.
//!
//! A connection cannot be closed in one direction only: to end writing is to close, and what arrives before the server has
//! confirmed that is still read. A stream that ends without a confirmation is an error, not the end of the data.
//!
//! | module | contents |
//! |---|---|
//! | `packets` | the messages |
//! | `tunnel` | the bytes of a connection, in packets |
//! | `not_built` | the place of this module in a program without the feature `konnectivity` |
//!
//! Kubernetes concept: `sigs.k8s.io/apiserver-network-proxy/konnectivity-client`.

use std::net::Shutdown;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures::FutureExt as _;
use http::uri::PathAndQuery;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot};
use tonic::transport::{Channel, Endpoint, Uri};
use tonic::{Request, Status, Streaming};
use tonic_prost::ProstCodec;

use crate::dial::{Connection, DialError, TunnelError};

mod packets;
#[cfg(test)]
mod tests;
mod tunnel;

use packets::{Packet, Payload};
use tunnel::Tunnel;

/// Whether programs can connect through konnectivity.
pub(super) const IS_BUILT: bool = true;

/// The method, whose messages are packets in both directions.
const METHOD: &str = "/ProxyService/Proxy";
/// Time in which a connection is made.
const DIAL_TIMEOUT: Duration = Duration::from_secs(30);
/// Time for the news that a connection is not wanted any more.
const ABANDON_TIMEOUT: Duration = Duration::from_secs(2);
/// Number of bytes that the server may send of a stream before they are read.
const WINDOW_BYTES: u32 = 256 * 1024;
/// Maximum length of the server's reasons, in characters.
const MAX_REASON: usize = 1024;

/// The result of a connection that is made.
type Dialed = Result<Box<dyn Connection>, DialError>;

/// Returns a connection to `target`, a host and a port, through the server on this socket.
pub(super) async fn open(socket: &Path, target: &str) -> Dialed {
    let (answer, dialed) = oneshot::channel();
    // A task of its own, which tells the server if nobody waits any more.
    tokio::spawn(dial_and_serve(socket.to_owned(), target.to_owned(), answer));
    dialed.await.unwrap_or(Err(TunnelError::Closed.into()))
}

/// Makes a connection, passes it on, and serves it until it ends.
async fn dial_and_serve(socket: PathBuf, target: String, mut answer: oneshot::Sender<Dialed>) {
    // One packet waits while another is sent.
    let (packets, outgoing) = mpsc::channel(1);
    let Some(random) = random() else {
        let _ = answer.send(Err(TunnelError::NoRandomness.into()));
        return;
    };
    let mut established = Box::pin(establish(&socket, outgoing, random).fuse());
    let asked = async {
        // It succeeds, or the connection has failed already.
        let _ = packets.send(Packet::dial(random, target)).await;
        (&mut established).await
    };
    let result = tokio::select! {
        result = tokio::time::timeout(DIAL_TIMEOUT, asked) => result,
        () = answer.closed() => {
            abandon(packets, random, established).await;
            return;
        }
    };
    match result {
        Ok(Ok(call)) => {
            drop(established);
            let (connection, tunnel) = Tunnel::new(call, packets);
            let _ = answer.send(Ok(Box::new(connection)));
            tunnel.serve().await;
        }
        Ok(Err(failure)) => {
            let _ = answer.send(Err(failure));
        }
        Err(_late) => {
            let _ = answer.send(Err(TunnelError::Timeout.into()));
            abandon(packets, random, established).await;
        }
    }
}

/// A call whose server has connected to the target.
struct Call {
    incoming: Streaming<Packet>,
    /// The connection to the server, which ends with the call.
    socket: Socket,
    /// The number of the connection.
    number: i64,
}

/// The socket of a call. The HTTP/2 connection would stay for as long as data waits for a server that does not read.
struct Socket(std::os::unix::net::UnixStream);

/// Tells the server, if it can be told soon, that a connection is not wanted any more.
async fn abandon(
    packets: mpsc::Sender<Packet>,
    random: i64,
    established: impl Future<Output = Result<Call, DialError>>,
) {
    let told = async {
        let _ = packets.send(Packet::close_dial(random)).await;
        // The server ends a call that its client has ended.
        drop(packets);
    };
    let _ = tokio::time::timeout(ABANDON_TIMEOUT, async { tokio::join!(told, established) }).await;
}

/// Connects to the server, and waits for its answer to the first packet.
async fn establish(socket: &Path, outgoing: mpsc::Receiver<Packet>, random: i64) -> Result<Call, DialError> {
    let failed = |source| DialError::Socket { path: socket.to_owned(), source };
    let (stream, socket) = connect(socket).await.map_err(failed)?;
    let channel = channel_over(stream).await.map_err(TunnelError::from)?;
    let mut client = tonic::client::Grpc::new(channel);
    client.ready().await.map_err(|error| TunnelError::from(Status::unavailable(error.to_string())))?;
    let mut outgoing = outgoing;
    let packets = futures::stream::poll_fn(move |context| outgoing.poll_recv(context));
    let codec: ProstCodec<Packet, Packet> = ProstCodec::default();
    let path = PathAndQuery::from_static(METHOD);
    let answered = client.streaming(Request::new(packets), path, codec).await;
    let mut incoming = answered.map_err(TunnelError::from)?.into_inner();
    let number = dialed(&mut incoming, random).await?;
    Ok(Call { incoming, socket, number })
}

/// Connects to the server.
async fn connect(path: &Path) -> std::io::Result<(UnixStream, Socket)> {
    let stream = UnixStream::connect(path).await?.into_std()?;
    let socket = Socket(stream.try_clone()?);
    Ok((UnixStream::from_std(stream)?, socket))
}

/// Returns a channel over this connection, which is not made again when it is lost.
async fn channel_over(stream: UnixStream) -> Result<Channel, Status> {
    let only = Mutex::new(Some(stream));
    let connector = tower::service_fn(move |_: Uri| {
        let stream = only.lock().take().map(TokioIo::new);
        async move { stream.ok_or_else(|| std::io::Error::from(std::io::ErrorKind::NotConnected)) }
    });
    // The host is not used.
    let endpoint = Endpoint::from_static("http://localhost")
        .initial_stream_window_size(WINDOW_BYTES)
        .initial_connection_window_size(WINDOW_BYTES);
    let connected = endpoint.connect_with_connector(connector).await;
    connected.map_err(|error| Status::unavailable(error.to_string()))
}

/// Returns the number of the connection that the server has made.
async fn dialed(incoming: &mut Streaming<Packet>, random: i64) -> Result<i64, TunnelError> {
    loop {
        let packet = incoming.message().await?.ok_or(TunnelError::Closed)?;
        match packet.payload {
            Some(Payload::DialResponse(answer)) if answer.random != random => {
                return Err(TunnelError::Closed);
            }
            Some(Payload::DialResponse(answer)) if !answer.error.is_empty() => {
                return Err(TunnelError::Refused(shown(&answer.error)));
            }
            Some(Payload::DialResponse(answer)) if answer.number == 0 => return Err(TunnelError::NoNumber),
            Some(Payload::DialResponse(answer)) => return Ok(answer.number),
            Some(Payload::CloseDial(_)) => return Err(TunnelError::DialClosed),
            Some(Payload::Data(_) | Payload::CloseResponse(_)) => return Err(TunnelError::Early),
            // Hints, and packets of later versions.
            _ => {}
        }
    }
}

/// Returns a reason of the server as messages have it.
fn shown(reason: &str) -> String {
    reason.chars().filter(|letter| !letter.is_control()).take(MAX_REASON).collect()
}

/// Returns a number that no other dial has: those of all clients of the server are in one table of it.
fn random() -> Option<i64> {
    let mut bytes = [0; 8];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(i64::from_be_bytes(bytes) & i64::MAX)
}

impl Drop for Socket {
    fn drop(&mut self) {
        // It fails if the server has closed the connection.
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

impl From<Status> for TunnelError {
    fn from(status: Status) -> Self {
        Self::Call { code: format!("{:?}", status.code()), message: shown(status.message()) }
    }
}
