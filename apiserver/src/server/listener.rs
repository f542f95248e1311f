//! Accepts connections, and sees them out.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::filters::{Dispatch, Filters};

use super::connection;

/// So many connections at once; more wait in the kernel's queue.
const MAX_CONNECTIONS: usize = 32_768;
/// How long to wait when the process has no file descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What all connections share.
pub(super) struct Serving<D> {
    pub(super) filters: Arc<Filters<D>>,
    pub(super) tls: TlsAcceptor,
    /// Cancelled when connections have had their time to end by themselves.
    pub(super) cut: CancellationToken,
    connections: TaskTracker,
    places: Arc<Semaphore>,
}

impl<D: Dispatch> Serving<D> {
    pub(super) fn new(filters: Arc<Filters<D>>, tls: TlsAcceptor) -> Self {
        Self {
            filters,
            tls,
            cut: CancellationToken::new(),
            connections: TaskTracker::new(),
            places: Arc::new(Semaphore::new(MAX_CONNECTIONS)),
        }
    }

    /// Waits until every connection has ended, and after `patience` ends those that have not.
    pub(super) async fn drain(&self, patience: Duration) {
        self.connections.close();
        if tokio::time::timeout(patience, self.connections.wait()).await.is_err() {
            tracing::warn!(
                connections = self.connections.len(),
                "cutting connections that did not end in time"
            );
            self.cut.cancel();
            self.connections.wait().await;
        }
    }
}

/// Accepts connections until `stopping`, which also asks the accepted ones to end.
pub(super) async fn accept<D: Dispatch>(
    listener: TcpListener,
    serving: Arc<Serving<D>>,
    stopping: CancellationToken,
) {
    loop {
        let accepted = tokio::select! {
            () = stopping.cancelled() => return,
            accepted = next(&listener, &serving.places) => accepted,
        };
        let Some((stream, place)) = accepted else { continue };
        let (one, stopping) = (serving.clone(), stopping.clone());
        serving.connections.spawn(async move {
            connection::serve(stream, one, stopping).await;
            drop(place);
        });
    }
}

async fn next(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> Option<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let place = places.clone().acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => Some((stream, place)),
        Err(error) => {
            tracing::warn!("cannot accept a connection: {error}");
            tokio::time::sleep(ACCEPT_PAUSE).await;
            None
        }
    }
}
