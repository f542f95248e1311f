//! A TCP proxy on a loopback port, whose handling of bytes changes while it runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::Failure;

/// The handling of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Pass,
    /// Each piece waits for this time.
    Delay(Duration),
    /// Bytes are held back without an error, and passed on later.
    Hold,
    /// Requests pass, answers do not; a connection that lost bytes is closed afterwards.
    DropAnswers,
    /// Connections are closed, and new ones too.
    Cut,
}

/// A running proxy; it ends when it is dropped.
pub(crate) struct Proxy {
    port: u16,
    mode: watch::Sender<Mode>,
    /// Number of pieces and connections that were not simply passed on.
    disturbed: Arc<AtomicU64>,
    accepting: AbortHandle,
}

/// One direction of a connection.
struct Pump {
    from: OwnedReadHalf,
    to: OwnedWriteHalf,
    is_answer: bool,
    mode: watch::Receiver<Mode>,
    disturbed: Arc<AtomicU64>,
}

// === impl Proxy ===

impl Proxy {
    /// Starts a proxy before a loopback port.
    pub(crate) async fn start(target: u16) -> Result<Self, Failure> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let mode = watch::Sender::new(Mode::Pass);
        let disturbed = Arc::new(AtomicU64::new(0));
        let (modes, counter) = (mode.clone(), Arc::clone(&disturbed));
        let accepting = tokio::spawn(async move {
            loop {
                // An error is one of the accepted connection, or lasts until descriptors are free again.
                let Ok((client, _)) = listener.accept().await else {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    continue;
                };
                if *modes.borrow() == Mode::Cut {
                    counter.fetch_add(1, Ordering::Relaxed);
                    continue;
                }
                tokio::spawn(connection(client, target, modes.subscribe(), Arc::clone(&counter)));
            }
        });
        Ok(Self { port, mode, disturbed, accepting: accepting.abort_handle() })
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn set(&self, mode: Mode) {
        self.mode.send_replace(mode);
    }

    /// Returns the number of pieces and connections that were not simply passed on so far.
    pub(crate) fn disturbed(&self) -> u64 {
        self.disturbed.load(Ordering::Relaxed)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.mode.send_replace(Mode::Cut);
    }
}

/// Passes on a connection until an end closes it, or the proxy does.
async fn connection(client: TcpStream, target: u16, mode: watch::Receiver<Mode>, disturbed: Arc<AtomicU64>) {
    let Ok(server) = TcpStream::connect(("127.0.0.1", target)).await else { return };
    // Without it only the latency differs.
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let (modes, counter) = (mode.clone(), Arc::clone(&disturbed));
    let requests = Pump { from: from_client, to: to_server, is_answer: false, mode, disturbed };
    let answers = Pump { from: from_server, to: to_client, is_answer: true, mode: modes, disturbed: counter };
    tokio::select! {
        () = requests.run() => {}
        () = answers.run() => {}
    }
}

// === impl Pump ===

impl Pump {
    async fn run(mut self) {
        let mut buffer = vec![0; 16 << 10];
        let mut has_lost = false;
        loop {
            let mode = *self.mode.borrow_and_update();
            if mode == Mode::Cut {
                self.disturbed.fetch_add(1, Ordering::Relaxed);
                return;
            }
            if has_lost && mode != Mode::DropAnswers {
                return;
            }
            let read = tokio::select! {
                changed = self.mode.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    continue;
                }
                read = self.from.read(&mut buffer) => read,
            };
            let Ok(length @ 1..) = read else { return };
            match self.delay().await {
                None => return,
                Some(Mode::DropAnswers) if self.is_answer => {
                    self.disturbed.fetch_add(1, Ordering::Relaxed);
                    has_lost = true;
                }
                // The mode has changed while this piece was read. What follows lost bytes would look whole to both ends.
                Some(_) if has_lost => return,
                Some(_) => {
                    let Some(piece) = buffer.get(..length) else { return };
                    if self.to.write_all(piece).await.is_err() {
                        return;
                    }
                }
            }
        }
    }

    /// Waits as the mode demands. Returns the mode that decides about the piece, or nothing if the connection is cut.
    async fn delay(&mut self) -> Option<Mode> {
        let mode = *self.mode.borrow_and_update();
        match mode {
            Mode::Delay(time) => {
                self.disturbed.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(time).await;
            }
            Mode::Hold => {
                self.disturbed.fetch_add(1, Ordering::Relaxed);
                let changed = self.mode.wait_for(|mode| *mode != Mode::Hold).await;
                return changed.ok().map(|mode| *mode).filter(|mode| *mode != Mode::Cut);
            }
            Mode::Pass | Mode::DropAnswers | Mode::Cut => {}
        }
        (mode != Mode::Cut).then_some(mode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends numbers over each connection, as fast as they are taken.
    async fn count(listener: TcpListener) {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut number = 0_u64;
                while stream.write_all(&number.to_be_bytes()).await.is_ok() {
                    number += 1;
                }
            });
        }
    }

    #[tokio::test]
    async fn nothing_follows_lost_bytes() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = Proxy::start(listener.local_addr().unwrap().port()).await.unwrap();
        let counting = tokio::spawn(count(listener));
        for _ in 0..100 {
            let mut stream = TcpStream::connect(("127.0.0.1", proxy.port())).await.unwrap();
            let reading = tokio::spawn(async move {
                for expected in 0_u64.. {
                    match stream.read_u64().await {
                        Ok(number) => assert_eq!(number, expected, "numbers were lost"),
                        Err(_) => return,
                    }
                }
            });
            let before = proxy.disturbed();
            proxy.set(Mode::DropAnswers);
            while proxy.disturbed() == before {
                tokio::task::yield_now().await;
            }
            proxy.set(Mode::Pass);
            reading.await.unwrap();
        }
        counting.abort();
    }
}
