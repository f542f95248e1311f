//! Accepts connections, and drains them at shutdown.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use registry_core::notice::Notice;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::filters::{Dispatch, Filters};
use crate::shares::{SharedPlace, SharedPlaces, origin};

use super::connection::{self, ConnectionLimits, Serving};
use super::long_work::LongWork;
use super::renewal::ServingTls;

/// Pause when the process has no file descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The open connections, and the state that they are served with.
pub(super) struct Connections<D> {
    serving: Arc<Serving<D>>,
    running: TaskTracker,
    /// Divided by the address that clients come from.
    places: Arc<SharedPlaces<IpAddr>>,
    capacity: usize,
}

impl<D: Dispatch> Connections<D> {
    pub(super) fn new(
        filters: Arc<Filters<D>>,
        tls: Arc<ServingTls>,
        limits: ConnectionLimits,
        max_connections: usize,
        long_work: Arc<LongWork>,
    ) -> Self {
        let serving = Arc::new(Serving { filters, tls, limits, long_work, cut: CancellationToken::new() });
        let places = SharedPlaces::new(max_connections);
        Self { serving, running: TaskTracker::new(), places, capacity: max_connections }
    }

    /// Accepts connections until `stopping` is cancelled, which also asks the open ones to end.
    pub(super) async fn accept(&self, listener: TcpListener, stopping: CancellationToken) {
        let mut refused = Notice::default();
        let mut failed = Notice::default();
        loop {
            let accepted = tokio::select! {
                () = stopping.cancelled() => return,
                accepted = listener.accept() => accepted,
            };
            let (stream, address) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    failed.log(|times| tracing::warn!(times, "cannot accept a connection: {error}"));
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            if let Some(place) = self.places.take(&origin(address.ip())) {
                self.spawn(stream, address, place, stopping.clone());
            } else {
                self.serving.filters.metrics().refused_connection();
                refused.log(|times| self.log_refusals(times, address));
            }
            self.serving.filters.metrics().open_connections(self.places.used());
        }
    }

    fn spawn(
        &self,
        stream: TcpStream,
        address: SocketAddr,
        place: SharedPlace<IpAddr>,
        stopping: CancellationToken,
    ) {
        let serving = self.serving.clone();
        self.running.spawn(async move {
            connection::serve(stream, address, serving, stopping).await;
            drop(place);
        });
    }

    fn log_refusals(&self, times: u64, address: SocketAddr) {
        tracing::warn!(
            times,
            open = self.places.used(),
            max_connections = self.capacity,
            last = %address.ip(),
            "connections were refused: an address may have as many as are left for all others, see the limit on open files (ulimit -n)"
        );
    }

    /// Waits until every connection has ended, and after `patience` closes the others.
    pub(super) async fn drain(&self, patience: Duration) {
        self.running.close();
        if tokio::time::timeout(patience, self.running.wait()).await.is_err() {
            tracing::warn!(connections = self.running.len(), "cutting connections that did not end in time");
            self.serving.cut.cancel();
            self.running.wait().await;
        }
    }
}
