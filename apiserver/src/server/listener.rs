//! Accepts connections, and sees them out.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::filters::{Dispatch, Filters};

use super::connection::{self, Serving};
use super::renewal::ServingTls;

/// So many connections at once; more wait in the kernel's queue.
const MAX_CONNECTIONS: usize = 32_768;
/// How long to wait when the process has no file descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The connections there are, and what they are served with.
pub(super) struct Connections<D> {
    serving: Arc<Serving<D>>,
    running: TaskTracker,
    places: Arc<Semaphore>,
}

impl<D: Dispatch> Connections<D> {
    pub(super) fn new(filters: Arc<Filters<D>>, tls: Arc<ServingTls>) -> Self {
        let serving = Arc::new(Serving { filters, tls, cut: CancellationToken::new() });
        Self { serving, running: TaskTracker::new(), places: Arc::new(Semaphore::new(MAX_CONNECTIONS)) }
    }

    /// Accepts connections until `stopping`, which also asks the accepted ones to end.
    pub(super) async fn accept(&self, listener: TcpListener, stopping: CancellationToken) {
        loop {
            let accepted = tokio::select! {
                () = stopping.cancelled() => return,
                accepted = next(&listener, &self.places) => accepted,
            };
            let Some((stream, place)) = accepted else { continue };
            let (serving, stopping) = (self.serving.clone(), stopping.clone());
            self.running.spawn(async move {
                connection::serve(stream, serving, stopping).await;
                drop(place);
            });
        }
    }

    /// Waits until every connection has ended, and after `patience` ends those that have not.
    pub(super) async fn drain(&self, patience: Duration) {
        self.running.close();
        if tokio::time::timeout(patience, self.running.wait()).await.is_err() {
            tracing::warn!(connections = self.running.len(), "cutting connections that did not end in time");
            self.serving.cut.cancel();
            self.running.wait().await;
        }
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
