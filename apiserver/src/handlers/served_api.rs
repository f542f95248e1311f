//! The resources that the API serves at present: a snapshot that changes while requests use it.

use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use registry_core::registry::{InstalledApi, ServeResources, ServedChange};
use resources::api::admissionregistration::ResourceResolver;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::discovery::{PeerGroups, PublishPeers, PublishRemote, RemoteGroups};
use crate::metrics::RequestMetrics;

use super::api_config::ApiConfig;
use super::ending::Ending;
use super::snapshot::{ServedCollections, Snapshot};

/// The resources that are served, with their routes and documents. Custom resources and those of extension servers are
/// added and removed at any time.
pub struct ServedApi {
    snapshot: ArcSwap<Snapshot>,
    /// Held while the snapshot is changed.
    changing: Mutex<()>,
    /// Notified of every change.
    changed: watch::Sender<()>,
    metrics: RequestMetrics,
    ending: Ending,
}

// === impl ServedApi ===

impl ServedApi {
    /// Serves these storages. Watches end when `shutdown` is cancelled. Must be called within a Tokio runtime.
    pub fn new(installed: &InstalledApi, config: &ApiConfig, shutdown: CancellationToken) -> Arc<Self> {
        let watches = &config.watches;
        let ending = Ending::after(shutdown, watches.grace_period, watches.running.clone());
        let metrics = config.metrics.clone();
        let snapshot = ArcSwap::from_pointee(Snapshot::new(installed, &metrics, &ending));
        Arc::new(Self {
            snapshot,
            changing: Mutex::default(),
            changed: watch::Sender::new(()),
            metrics,
            ending,
        })
    }

    /// Returns the present snapshot. A request uses one snapshot.
    pub(super) fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }

    /// Returns the collections of objects that are served at present.
    pub(crate) fn collections(&self) -> ServedCollections {
        self.snapshot.load().collections()
    }

    /// Returns what is notified when something else is served.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }
}

impl ResourceResolver for ServedApi {
    fn resource_of_kind(&self, group: &str, version: &str, kind: &str) -> Option<String> {
        self.snapshot.load().collection_of_kind(group, version, kind)
    }
}

impl PublishRemote for ServedApi {
    fn publish(&self, groups: RemoteGroups) {
        let changing = self.changing.lock();
        let next = self.snapshot.load().with_remote(groups);
        self.snapshot.store(Arc::new(next));
        drop(changing);
        self.changed.send_replace(());
    }
}

impl PublishPeers for ServedApi {
    fn publish_peers(&self, groups: PeerGroups) {
        let changing = self.changing.lock();
        let next = self.snapshot.load().with_peers(groups);
        self.snapshot.store(Arc::new(next));
        drop(changing);
    }

    fn serves(&self, group: &str, version: &str, resource: &str) -> bool {
        self.snapshot.load().serves(group, version, resource)
    }
}

impl ServeResources for ServedApi {
    fn change(&self, change: ServedChange) {
        let changing = self.changing.lock();
        let (next, ended) = self.snapshot.load().after(change, &self.metrics, &self.ending);
        self.snapshot.store(Arc::new(next));
        drop(changing);
        self.changed.send_replace(());
        for route in ended {
            route.ending.end();
        }
    }
}
