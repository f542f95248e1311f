//! The bytes of a connection, in packets.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::BytesMut;
use parking_lot::Mutex;
use tokio::io::{
    AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream, ReadBuf, ReadHalf, WriteHalf,
};
use tokio::sync::{mpsc, oneshot};
use tonic::Streaming;

use super::Call;
use super::packets::{Packet, Payload};
use crate::dial::TunnelError;

/// Number of bytes of each direction that wait, beside those in the packets that are sent or read.
const BUFFER_BYTES: usize = 64 * 1024;
/// Maximum number of bytes of a packet.
const PACKET_BYTES: usize = 16 * 1024;
/// Number of bytes that are received for nobody before the call ends without the confirmation of the server.
const MAX_UNREAD_BYTES: usize = 1 << 20;
/// Time in which the server confirms that a connection is closed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// The end of a connection that its user has.
pub(super) struct TunneledConnection {
    bytes: DuplexStream,
    failure: Failure,
    /// Tells the other end that this one is dropped, also while it cannot send.
    _presence: oneshot::Sender<()>,
}

/// The other end, which becomes packets.
pub(super) struct Tunnel {
    call: Call,
    packets: mpsc::Sender<Packet>,
    bytes: DuplexStream,
    failure: Failure,
    presence: oneshot::Receiver<()>,
}

/// Why a connection ended before its data did.
type Failure = Arc<Mutex<Option<TunnelError>>>;

// === impl Tunnel ===

impl Tunnel {
    /// Returns both ends of the connection of a call, to whose server these packets are sent.
    pub(super) fn new(call: Call, packets: mpsc::Sender<Packet>) -> (TunneledConnection, Self) {
        let (own, bytes) = tokio::io::duplex(BUFFER_BYTES);
        let failure = Failure::default();
        let (own_presence, presence) = oneshot::channel();
        let connection = TunneledConnection { bytes: own, failure: failure.clone(), _presence: own_presence };
        (connection, Self { call, packets, bytes, failure, presence })
    }

    /// Passes bytes on until the connection ends.
    pub(super) async fn serve(self) {
        let Self { call: Call { mut incoming, socket, number }, packets, bytes, failure, presence } = self;
        let (from_user, mut to_user) = tokio::io::split(bytes);
        let closed = async {
            send(from_user, &packets, number).await;
            tokio::time::sleep(CLOSE_TIMEOUT).await;
        };
        // A server that does not read is not told that a connection is closed.
        let abandoned = async {
            let _ = presence.await;
            tokio::time::sleep(CLOSE_TIMEOUT).await;
        };
        let ended = tokio::select! {
            ended = receive(&mut incoming, &mut to_user, number) => ended,
            () = closed => Err(TunnelError::CloseTimeout),
            () = abandoned => Err(TunnelError::CloseTimeout),
        };
        if let Err(reason) = ended {
            *failure.lock() = Some(reason);
        }
        // The user sees the end after its reason.
        let _ = to_user.shutdown().await;
        drop(socket);
    }
}

/// Sends what the user writes, and then that the connection is closed. A failure is seen by the other direction.
async fn send(mut from_user: ReadHalf<DuplexStream>, packets: &mpsc::Sender<Packet>, number: i64) {
    let mut read = BytesMut::new();
    loop {
        read.reserve(PACKET_BYTES);
        match from_user.read_buf(&mut read).await {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
        while !read.is_empty() {
            let part = read.split_to(read.len().min(PACKET_BYTES)).freeze();
            if packets.send(Packet::data(number, part)).await.is_err() {
                return;
            }
        }
    }
    let _ = packets.send(Packet::close(number)).await;
}

/// Passes on what the server sends until it says that the connection is closed.
async fn receive(
    incoming: &mut Streaming<Packet>,
    to_user: &mut WriteHalf<DuplexStream>,
    number: i64,
) -> Result<(), TunnelError> {
    let mut unread = 0;
    loop {
        let packet = incoming.message().await?.ok_or(TunnelError::Closed)?;
        match packet.payload {
            Some(Payload::Data(data)) if data.number == number => {
                // A user that has dropped the connection does not read. The confirmation of the server is still awaited.
                if to_user.write_all(&data.data).await.is_err() {
                    unread += data.data.len();
                }
                if unread > MAX_UNREAD_BYTES {
                    return Err(TunnelError::Closed);
                }
            }
            Some(Payload::CloseResponse(closed)) if closed.number == number => return Ok(()),
            Some(Payload::Data(_) | Payload::CloseResponse(_)) => return Err(TunnelError::OtherConnection),
            Some(Payload::DialResponse(_) | Payload::CloseDial(_)) => return Err(TunnelError::Closed),
            // Hints, and packets of later versions.
            _ => {}
        }
    }
}

// === impl TunneledConnection ===

impl AsyncRead for TunneledConnection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let (before, has_room) = (buffer.filled().len(), buffer.remaining() > 0);
        let read = Pin::new(&mut self.bytes).poll_read(context, buffer);
        let is_end = matches!(read, Poll::Ready(Ok(()))) && has_room && buffer.filled().len() == before;
        match self.failure.lock().take_if(|_| is_end) {
            Some(reason) => Poll::Ready(Err(io::Error::new(io::ErrorKind::ConnectionReset, reason))),
            None => read,
        }
    }
}

impl AsyncWrite for TunneledConnection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.bytes).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.bytes).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.bytes).poll_shutdown(context)
    }
}
