//! Combines small writes of one connection.
//!
//! HTTP/2 flushes after every frame. Under TLS each flush is a record and a system call, which for a
//! connection with ninety watches costs more than the rest of an event's processing. Here a flush only
//! records that there are bytes to send; they are sent together when the connection has nothing more to write
//! in this turn.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use parking_lot::{Mutex, MutexGuard};
use responses::wake_after_others;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Maximum number of buffered bytes: four TLS records, which are sent in one system call.
const LIMIT_BYTES: usize = 64 * 1024;
/// Buffer size above which the buffer is freed after a turn that did not need it, so that idle connections
/// hold none, and a long response is copied through memory that is still in the processor's cache.
const KEPT_BYTES: usize = 4 * 1024;
/// Number of bytes after which a turn ends: encrypting and sending them takes about 0.1 ms. Without this bound, a
/// response of some MiB to a client that reads fast is one turn, for which the thread's other connections wait.
const TURN_BYTES: usize = 128 * 1024;
/// Size of the pieces in which bytes are copied, and passed to TLS. For larger copies the C library uses
/// `rep movsb` where it considers it fast (from 2,112 bytes on), but it is slow on AMD's Zen (glibc's bug
/// 30994): lists took half as long again.
const COPIED_BYTES: usize = 2 * 1024;

/// A stream whose writes are delayed until the end of the turn. Clones refer to the same stream.
pub(super) struct Coalesced<S>(Arc<Mutex<Buffered<S>>>);

struct Buffered<S> {
    stream: S,
    waiting: Vec<u8>,
    /// Number of bytes of `waiting` that have been written already.
    written: usize,
    /// Whether the stream has accepted bytes that it has not sent yet: TLS has a buffer of its own.
    is_dirty: bool,
    /// Number of bytes that were sent in this turn.
    sent_in_turn: usize,
    /// Whether this turn ends because of [`TURN_BYTES`].
    ends_turn: bool,
    /// Whether more than [`KEPT_BYTES`] were buffered at a time in this turn.
    is_busy: bool,
    /// Whether the connection has ended: the next user of the stream (an upgraded protocol) flushes by
    /// itself.
    is_released: bool,
}

// === impl Coalesced ===

impl<S> Clone for Coalesced<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S: AsyncWrite + Unpin> Coalesced<S> {
    pub(super) fn new(stream: S) -> Self {
        Self(Arc::new(Mutex::new(Buffered {
            stream,
            waiting: Vec::new(),
            written: 0,
            is_dirty: false,
            sent_in_turn: 0,
            ends_turn: false,
            is_busy: false,
            is_released: false,
        })))
    }

    /// Runs a connection over this stream. Each turn first polls `beside`, which may produce something for
    /// the connection to write; after each turn, the written bytes are sent.
    pub(super) async fn run<F: Future>(
        &self,
        mut connection: Pin<&mut F>,
        mut beside: impl FnMut(&mut Context<'_>),
    ) -> F::Output {
        std::future::poll_fn(|context| {
            beside(context);
            let polled = connection.as_mut().poll(context);
            let mut own = self.buffered();
            own.is_released = polled.is_ready();
            // The connection's own next read or write returns the error again.
            let _ = own.send(context);
            own.end_turn(context);
            drop(own);
            polled
        })
        .await
    }

    fn buffered(&self) -> MutexGuard<'_, Buffered<S>> {
        // Only one task uses it: the lock is never contended.
        self.0.lock()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Coalesced<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.buffered().stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Coalesced<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[io::IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut own = self.buffered();
        if own.waiting.len() >= LIMIT_BYTES {
            if own.sent_in_turn >= TURN_BYTES && !own.is_released {
                own.ends_turn = true;
                return Poll::Pending;
            }
            std::task::ready!(own.send(context))?;
        }
        let mut taken = 0;
        for slice in slices {
            let room = LIMIT_BYTES.saturating_sub(own.waiting.len());
            let part = slice.get(..room.min(slice.len())).unwrap_or_default();
            if own.waiting.len() + part.len() > KEPT_BYTES {
                // Reserved at once, because more usually follows.
                own.waiting.reserve_exact(room);
                own.is_busy = true;
            }
            for piece in part.chunks(COPIED_BYTES) {
                own.waiting.extend_from_slice(piece);
            }
            taken += part.len();
        }
        Poll::Ready(Ok(taken))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Does nothing: written bytes are sent at the end of the turn, see [`run`](Self::run).
    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut own = self.buffered();
        if own.is_released { own.send(context) } else { Poll::Ready(Ok(())) }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut own = self.buffered();
        std::task::ready!(own.send(context))?;
        Pin::new(&mut own.stream).poll_shutdown(context)
    }
}

// === impl Buffered ===

impl<S: AsyncWrite + Unpin> Buffered<S> {
    /// Sends the buffered bytes.
    fn send(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(rest) = self.waiting.get(self.written..).filter(|rest| !rest.is_empty()) {
            let mut pieces = [io::IoSlice::new(&[]); LIMIT_BYTES / COPIED_BYTES];
            for (piece, bytes) in pieces.iter_mut().zip(rest.chunks(COPIED_BYTES)) {
                *piece = io::IoSlice::new(bytes);
            }
            match std::task::ready!(Pin::new(&mut self.stream).poll_write_vectored(context, &pieces))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => {
                    self.written += written;
                    self.sent_in_turn += written;
                    self.is_dirty = true;
                }
            }
        }
        self.written = 0;
        self.waiting.clear();
        if self.is_dirty {
            std::task::ready!(Pin::new(&mut self.stream).poll_flush(context))?;
            self.is_dirty = false;
        }
        Poll::Ready(Ok(()))
    }

    /// Requests another turn if this one ends with bytes left to write, and frees a large buffer that it did not need.
    fn end_turn(&mut self, context: &mut Context<'_>) {
        self.sent_in_turn = 0;
        if std::mem::take(&mut self.ends_turn) {
            wake_after_others(context);
        }
        if !std::mem::take(&mut self.is_busy) && self.waiting.is_empty() {
            self.waiting.shrink_to(KEPT_BYTES);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    /// Accepts all writes at once, and sends them only when it is flushed at the right moment, like TLS with
    /// a slow reader.
    struct Hoarding {
        inner: tokio::io::DuplexStream,
        held: Vec<u8>,
    }

    impl AsyncRead for Hoarding {
        fn poll_read(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            Pin::new(&mut self.inner).poll_read(context, buffer)
        }
    }

    impl AsyncWrite for Hoarding {
        fn poll_write(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            self.held.extend_from_slice(bytes);
            Poll::Ready(Ok(bytes.len()))
        }

        fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
            while !self.held.is_empty() {
                let held = self.held.clone();
                let written = std::task::ready!(Pin::new(&mut self.inner).poll_write(context, &held))?;
                self.held.drain(..written);
            }
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
            Pin::new(&mut self.inner).poll_shutdown(context)
        }
    }

    #[tokio::test]
    async fn bytes_that_the_stream_still_holds_are_sent_as_soon_as_the_reader_reads() {
        let (near, mut far) = tokio::io::duplex(16);
        let stream = Coalesced::new(Hoarding { inner: near, held: Vec::new() });
        let mut writer = stream.clone();
        let connection = async move {
            writer.write_all(&[b'x'; 100]).await.unwrap();
            writer.flush().await.unwrap();
            // The connection stays open without writing more.
            std::future::pending::<()>().await;
        };
        let mut connection = Box::pin(connection);
        let mut received = [0; 100];
        tokio::select! {
            () = stream.run(connection.as_mut(), |_| ()) => {}
            read = far.read_exact(&mut received) => assert_eq!(read.unwrap(), 100),
            () = tokio::time::sleep(std::time::Duration::from_secs(5)) => panic!("the end never came"),
        }
    }

    /// Accepts everything at once, like the socket of a client that reads fast, and counts it.
    struct FastReader(Arc<std::sync::atomic::AtomicUsize>);

    impl AsyncRead for FastReader {
        fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            Poll::Pending
        }
    }

    impl AsyncWrite for FastReader {
        fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            self.0.fetch_add(bytes.len(), std::sync::atomic::Ordering::Relaxed);
            Poll::Ready(Ok(bytes.len()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn other_tasks_run_while_a_long_response_is_sent() {
        const RESPONSE_BYTES: usize = 8 * TURN_BYTES;
        let sent = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let stream = Coalesced::new(FastReader(sent.clone()));
        let mut writer = stream.clone();
        let response = tokio::spawn(async move {
            let connection = async move { writer.write_all(&vec![b'x'; RESPONSE_BYTES]).await.unwrap() };
            let mut connection = std::pin::pin!(connection);
            stream.run(connection.as_mut(), |_| ()).await;
        });
        let other = tokio::spawn({
            let sent = sent.clone();
            async move { sent.load(std::sync::atomic::Ordering::Relaxed) }
        });
        let sent_before = other.await.unwrap();
        assert!(sent_before < 2 * TURN_BYTES, "{sent_before} bytes were sent in one turn");
        response.await.unwrap();
        assert_eq!(sent.load(std::sync::atomic::Ordering::Relaxed), RESPONSE_BYTES);
    }

    #[tokio::test]
    async fn the_writes_of_one_turn_arrive_together_and_whole() {
        let (near, mut far) = tokio::io::duplex(1024);
        let stream = Coalesced::new(near);
        let mut writer = stream.clone();
        let connection = async move {
            for _ in 0..3 {
                writer.write_all(b"frame").await.unwrap();
                writer.flush().await.unwrap();
            }
            tokio::task::yield_now().await;
            // More than the buffer and the pipe can hold.
            writer.write_all(&vec![b'x'; 3 * LIMIT_BYTES]).await.unwrap();
            writer.shutdown().await.unwrap();
        };
        let mut connection = Box::pin(connection);
        let reader = async {
            let mut first = [0; 64];
            let read = far.read(&mut first).await.unwrap();
            assert_eq!(&first[..read], b"frameframeframe");
            let mut rest = Vec::new();
            far.read_to_end(&mut rest).await.unwrap();
            rest.len()
        };
        let ((), rest) = tokio::join!(stream.run(connection.as_mut(), |_| ()), reader);
        assert_eq!(rest, 3 * LIMIT_BYTES);
    }
}
