//! A TCP proxy that can hold bytes back, and cut connections.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

/// The handling of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Pass,
    /// Bytes are held back without an error.
    Hold,
    /// Connections are closed, and new ones too.
    Cut,
}

/// A running proxy.
pub(crate) struct Proxy {
    address: SocketAddr,
    mode: watch::Sender<Mode>,
    _accepting: AbortOnDropHandle<()>,
}

// === impl Proxy ===

impl Proxy {
    /// Starts a proxy before a server (`http://host:port`).
    pub(crate) async fn start(url: &str) -> Self {
        let target: SocketAddr = url.trim_start_matches("http://").parse().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mode = watch::Sender::new(Mode::Pass);
        let accepted = mode.clone();
        let accepting = tokio::spawn(async move {
            loop {
                let Ok((client, _)) = listener.accept().await else { return };
                tokio::spawn(connection(client, target, accepted.subscribe()));
            }
        });
        Self { address, mode, _accepting: AbortOnDropHandle::new(accepting) }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn pass(&self) {
        self.mode.send_replace(Mode::Pass);
    }

    pub(crate) fn hold(&self) {
        self.mode.send_replace(Mode::Hold);
    }

    pub(crate) fn cut(&self) {
        self.mode.send_replace(Mode::Cut);
    }
}

async fn connection(client: TcpStream, target: SocketAddr, mut mode: watch::Receiver<Mode>) {
    if !may_pass(&mut mode).await {
        return;
    }
    let Ok(server) = TcpStream::connect(target).await else { return };
    let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
    let mut cut = mode.clone();
    // The first direction to end closes the connection.
    tokio::select! {
        () = pump(from_client, to_server, mode.clone()) => {}
        () = pump(from_server, to_client, mode) => {}
        _ = cut.wait_for(|mode| *mode == Mode::Cut) => {}
    }
}

async fn pump(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut mode: watch::Receiver<Mode>) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        if !may_pass(&mut mode).await || to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}

/// Waits while bytes are held back; returns `false` if the connection is cut.
async fn may_pass(mode: &mut watch::Receiver<Mode>) -> bool {
    mode.wait_for(|mode| *mode != Mode::Hold).await.is_ok_and(|mode| *mode == Mode::Pass)
}
