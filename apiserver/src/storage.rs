//! Opens the storage of every resource: one engine, and on it a store and a cache per resource.
//!
//! Kubernetes concept: `RESTOptionsGetter` in `k8s.io/apiserver/pkg/server/options`.

use clients::egress::Route;
use parking_lot::Mutex;
use std::sync::{Arc, Weak};
use std::time::Duration;

use registry_core::ResourceType;
use registry_core::api::GroupResource;
use registry_core::api::clock::Clock;
use registry_core::features::{Feature, Features};
use registry_core::metrics::{BudgetSource, CommitMetrics, StorageMetrics};
use registry_core::registry::Services;
use registry_core::registry::storage_map::OpenStorage;
use registry_core::registry::store::StoreOptions;
use registry_core::release::Release;
use registry_core::resource::Versions;
use registry_core::storage::cacher::{CacheBudget, Cacher, CacherOptions};
#[cfg(feature = "embedded")]
use registry_core::storage::embedded::{AutoCompaction, Embedded, EmbeddedOptions, OpenError};
#[cfg(feature = "etcd3")]
use registry_core::storage::etcd3::{ConnectError, Etcd3, Etcd3Options, moving};
use registry_core::storage::measured::Measured;
use registry_core::storage::mvcc::Mvcc;
use registry_core::storage::shared_watch::SharedWatch;
use registry_core::storage::transform::{Identity, Transformer};
use registry_core::storage::versioned::VersionedStore;
use registry_core::storage::{EncodingBudget, Interface, StorageError};
use tokio::runtime::Handle;

use crate::encryption::Encryption;
#[cfg(feature = "etcd3")]
use crate::options::EtcdConnection;
use crate::options::{StorageChoice, StorageOptions};

#[cfg(feature = "embedded")]
mod backends;
mod encoding;
#[cfg(feature = "etcd3")]
mod etcd_proxy;
mod overrides;
mod reader;
#[cfg(feature = "embedded")]
mod snapshots;
#[cfg(all(test, feature = "embedded", feature = "etcd3"))]
mod tests;

#[cfg(feature = "embedded")]
pub(crate) use backends::Backends;
#[cfg(feature = "etcd3")]
use etcd_proxy::ProxiedEndpoints;
pub(crate) use overrides::Overrides;
pub use reader::StorageReader;

/// Default maximum number of events that one watch cache keeps (`--watch-cache-sizes`).
const HISTORY_EVENTS: usize = 100_000;
/// Interval between the bookmarks of a watch that requests them.
const BOOKMARK_PERIOD: Duration = Duration::from_mins(1);
/// Minimum interval between compaction checks of the embedded store.
#[cfg(feature = "embedded")]
const COMPACTION_LOOK: Duration = Duration::from_mins(1);

/// The storages of one server.
pub struct Storages {
    engine: Engine,
    options: StorageOptions,
    prefix: String,
    /// `None` if values are in plain form.
    encryption: Option<Arc<Encryption>>,
    release: EmulatedRelease,
    budget: Arc<CacheBudget>,
    services: Services,
    /// The watch that feeds all caches of the engine's resources.
    shared_watch: Arc<SharedWatch>,
    #[cfg(feature = "embedded")]
    backends: Backends,
    overrides: Overrides,
    /// The watches of the overrides' clusters, in the order of these.
    override_watches: Vec<Arc<SharedWatch>>,
    metrics: StorageMetrics,
    /// The stores without a cache.
    uncached: Mutex<Vec<Uncached>>,
    caches: Mutex<Vec<Weak<Cacher>>>,
    /// Runs the caches, also those that are opened by a request on another runtime.
    runtime: Handle,
}

/// The parts of the emulated release that objects depend on.
#[derive(Clone, Copy, Default)]
struct EmulatedRelease {
    features: Features,
    /// The oldest release whose servers can read the objects; `None` if there are no others.
    oldest_reader: Option<Release>,
}

/// A store without a cache.
#[derive(Clone)]
struct Uncached {
    resource: GroupResource,
    /// The prefix of its keys.
    prefix: String,
    store: Arc<dyn Interface>,
}

/// The parts that engines are opened with.
pub struct EngineOpening<'o> {
    /// The flags of storage.
    pub options: &'o StorageOptions,
    /// The metrics of commits.
    pub commits: CommitMetrics,
    /// The time of day that leases end by.
    pub clock: Clock,
    /// The way to etcd.
    #[cfg_attr(not(feature = "etcd3"), expect(dead_code, reason = "nothing leads to etcd"))]
    pub(crate) route: Route,
}

/// The engine by its type, because each is closed differently.
#[derive(Clone)]
pub enum Engine {
    /// In this process.
    #[cfg(feature = "embedded")]
    Embedded(Arc<Embedded>),
    /// An etcd cluster.
    #[cfg(feature = "etcd3")]
    Etcd3(Arc<Etcd3>),
}

/// The engine cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The embedded store. Retryable as [`OpenError`] says.
    #[cfg(feature = "embedded")]
    #[error(transparent)]
    Embedded(#[from] OpenError),
    /// etcd. Retryable as [`ConnectError`] says.
    #[cfg(feature = "etcd3")]
    #[error(transparent)]
    Etcd3(#[from] ConnectError),
    /// An import into the etcd has not finished. Retryable when it has.
    #[cfg(feature = "etcd3")]
    #[error("the objects in etcd are not complete: {0}")]
    Import(#[from] moving::EtcdMoveError),
    /// The certificates for etcd behind a proxy cannot be used. Not retryable.
    #[cfg(feature = "etcd3")]
    #[error("cannot set up TLS to etcd: {0}")]
    Tls(#[from] clients::SettingsError),
    /// The flags choose a backend that this program was built without. Not retryable.
    #[error(
        "this server was built without the storage backend `{0}`: build `apiserver` with the feature `{0}`"
    )]
    NotBuilt(&'static str),
}

// === impl EngineOpening ===

impl EngineOpening<'_> {
    /// Opens the engine that the flags choose; waits for etcd.
    ///
    /// # Errors
    /// Fails if it cannot be opened, or etcd does not answer.
    pub async fn open(&self, choice: StorageChoice) -> Result<Engine, EngineError> {
        #[cfg(feature = "embedded")]
        let embedded = |directory| {
            let mut embedded = EmbeddedOptions::new(directory);
            embedded.metrics = self.commits.clone();
            embedded.clock = self.clock.clone();
            embedded.auto_compaction = compaction(self.options.etcd_compaction_interval);
            embedded
        };
        match choice {
            #[cfg(feature = "embedded")]
            StorageChoice::Memory => {
                Ok(Engine::Embedded(Embedded::in_memory_with(embedded("memory".into()))?))
            }
            #[cfg(feature = "embedded")]
            StorageChoice::Embedded { directory } => {
                // Reads the whole log, and must not block the runtime's threads.
                let options = embedded(directory.clone());
                let opened = tokio::task::spawn_blocking(move || Embedded::open(options)).await;
                let opened = opened.unwrap_or_else(|panic| {
                    Err(OpenError::Damaged { directory, reason: format!("it cannot be read: {panic}") })
                });
                let store = opened?;
                if let Err(error) = store.serve_commands() {
                    tracing::warn!(%error, "the store can be backed up and moved only while the server is stopped");
                }
                Ok(Engine::Embedded(store))
            }
            #[cfg(not(feature = "embedded"))]
            StorageChoice::Memory | StorageChoice::Embedded { .. } => Err(EngineError::NotBuilt("embedded")),
            #[cfg(feature = "etcd3")]
            StorageChoice::Etcd3(connection) => {
                let connector = ProxiedEndpoints::connector(&self.route, &connection)?;
                let interval = self.options.etcd_compaction_interval;
                let options = Etcd3Options { connector, ..etcd_options(connection, interval) };
                let etcd = Etcd3::connect(options).await?;
                moving::refuse_unfinished_import(&etcd, &format!("{}/", self.options.key_prefix())).await?;
                Ok(Engine::Etcd3(etcd))
            }
            #[cfg(not(feature = "etcd3"))]
            StorageChoice::Etcd3(_) => Err(EngineError::NotBuilt("etcd3")),
        }
    }
}

// === impl Engine ===

impl Engine {
    /// Returns the engine's interface.
    pub fn mvcc(&self) -> Arc<dyn Mvcc> {
        match self {
            #[cfg(feature = "embedded")]
            Self::Embedded(engine) => engine.clone(),
            #[cfg(feature = "etcd3")]
            Self::Etcd3(engine) => engine.clone(),
        }
    }

    /// Whether one server uses the store: its directory is locked.
    pub(crate) fn has_one_server(&self) -> bool {
        match self {
            #[cfg(feature = "embedded")]
            Self::Embedded(_) => true,
            #[cfg(feature = "etcd3")]
            Self::Etcd3(_) => false,
        }
    }

    /// Closes the engine: queued writes are completed, the directory is released.
    pub async fn close(&self) {
        match self {
            #[cfg(feature = "embedded")]
            Self::Embedded(engine) => engine.close().await,
            #[cfg(feature = "etcd3")]
            Self::Etcd3(_) => {}
        }
    }
}

/// Returns the compaction as kube-apiserver does it: history older than the interval is removed. `None` for
/// an interval of 0.
#[cfg(feature = "embedded")]
fn compaction(interval: Duration) -> Option<AutoCompaction> {
    (!interval.is_zero()).then(|| AutoCompaction {
        interval: interval.min(COMPACTION_LOOK),
        retain: interval,
        retain_revisions: 0,
    })
}

/// Returns the options of a connection to etcd.
#[cfg(feature = "etcd3")]
pub(crate) fn etcd_options(connection: EtcdConnection, compaction_interval: Duration) -> Etcd3Options {
    let (cert_file, key_file) = connection.client_files.unzip();
    Etcd3Options {
        endpoints: connection.servers,
        ca_file: connection.ca_file,
        cert_file,
        key_file,
        compaction_interval,
        ..Etcd3Options::default()
    }
}

// === impl Storages ===

impl Storages {
    /// Returns the storages over this engine, with the services that resources can use. Must be called within
    /// a Tokio runtime.
    pub fn new(
        engine: Engine,
        options: &StorageOptions,
        services: Services,
        metrics: StorageMetrics,
    ) -> Self {
        let prefix = options.key_prefix();
        let budget = Arc::new(CacheBudget::new(options.watch_cache_bytes()));
        let source: Arc<dyn BudgetSource> = budget.clone();
        metrics.observe_budget(Arc::downgrade(&source));
        Self {
            shared_watch: SharedWatch::new(engine.mvcc(), &format!("{prefix}/")),
            engine,
            options: options.clone(),
            prefix,
            encryption: None,
            release: EmulatedRelease::default(),
            budget,
            services,
            #[cfg(feature = "embedded")]
            backends: Backends::default(),
            overrides: Overrides::default(),
            override_watches: Vec::new(),
            metrics,
            uncached: Mutex::default(),
            caches: Mutex::default(),
            runtime: Handle::current(),
        }
    }

    /// Encrypts values.
    #[must_use]
    pub(crate) fn with_encryption(self, encryption: Option<Arc<Encryption>>) -> Self {
        Self { encryption, ..self }
    }

    /// Keeps the objects of these resources in their author's backends.
    #[cfg(feature = "embedded")]
    #[must_use]
    pub(crate) fn with_backends(self, backends: Backends) -> Self {
        Self { backends, ..self }
    }

    /// Returns the backends of authors.
    #[cfg(feature = "embedded")]
    pub(crate) fn backends(&self) -> &Backends {
        &self.backends
    }

    /// Opens the resources of these overrides in their clusters.
    #[must_use]
    pub(crate) fn with_overrides(self, overrides: Overrides) -> Self {
        let prefix = format!("{}/", self.prefix);
        let watches = overrides.clusters().iter().map(|engine| SharedWatch::new(engine.mvcc(), &prefix));
        Self { override_watches: watches.collect(), overrides, ..self }
    }

    /// Returns the engine of a resource, and the watch of that engine.
    fn place(&self, resource: GroupResource) -> (&Engine, &Arc<SharedWatch>) {
        let number = self.overrides.cluster(resource);
        let cluster = number.and_then(|number| {
            Some((self.overrides.clusters().get(number)?, self.override_watches.get(number)?))
        });
        cluster.unwrap_or((&self.engine, &self.shared_watch))
    }

    /// Stores objects as a server with these features, whose objects servers of a release can read.
    #[must_use]
    pub(crate) fn with_release(self, features: Features, oldest_reader: Release) -> Self {
        Self { release: EmulatedRelease { features, oldest_reader: Some(oldest_reader) }, ..self }
    }

    fn transformer(&self, resource: GroupResource) -> Arc<dyn Transformer> {
        match &self.encryption {
            Some(encryption) => encryption.transformer(resource),
            None => Arc::new(Identity),
        }
    }

    /// Ends the watches that feed the caches, before the engines are closed.
    pub fn stop_watches(&self) {
        self.shared_watch.stop();
        self.override_watches.iter().for_each(|watch| watch.stop());
    }

    /// Returns the engine of all resources without an override, for health checks and maintenance.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Returns the engines of the overrides, for health checks.
    pub(crate) fn override_engines(&self) -> &[Engine] {
        self.overrides.clusters()
    }

    /// Returns the reader of storage metrics.
    pub fn reader(&self) -> StorageReader {
        let uncached = self.uncached.lock().clone();
        let engines = std::iter::once(&self.engine).chain(self.overrides.clusters());
        StorageReader { engines: engines.cloned().collect(), uncached }
    }

    /// Returns the memory budget of encodings of cached objects.
    pub fn encodings(&self) -> &Arc<EncodingBudget> {
        self.budget.encodings()
    }

    /// Remembers a cache, and forgets those whose resource is gone.
    fn remember(&self, cache: &Arc<Cacher>) {
        let mut caches = self.caches.lock();
        caches.retain(|cache| cache.strong_count() > 0);
        caches.push(Arc::downgrade(cache));
    }

    /// Returns the number of events that the resource's watch cache keeps; 0 if it has none.
    fn cache_events(&self, resource: &ResourceType) -> usize {
        if !self.options.watch_cache {
            return 0;
        }
        let mut sizes = self.options.watch_cache_sizes.iter().rev();
        let configured =
            sizes.find(|size| size.group == resource.kind.group && size.resource == resource.plural);
        // Events are many, short-lived and rarely read again: Kubernetes does not cache them either.
        configured.map_or(if is_event(resource) { 0 } else { HISTORY_EVENTS }, |size| size.events)
    }
}

impl Storages {
    /// Returns the store of a resource over an engine that holds its values in a form at rest.
    fn store(
        &self,
        engine: Arc<dyn Mvcc>,
        transformer: Arc<dyn Transformer>,
        versions: &Arc<Versions>,
    ) -> Arc<VersionedStore> {
        let metrics = self.metrics.engine(versions.hub().group_resource());
        let store =
            VersionedStore::new(Measured::new(engine, metrics.clone()), transformer, versions.clone());
        let reports = self.release.features.contains(Feature::AllowUnsafeMalformedObjectDeletion);
        Arc::new(store.with_metrics(metrics).reporting_corrupt_objects(reports))
    }

    /// Returns the watch cache of a resource over its store.
    fn cached(
        &self,
        store: Arc<VersionedStore>,
        resource: &ResourceType,
        prefix: String,
        history_events: usize,
    ) -> Arc<Cacher> {
        let named = resource.group_resource();
        let options = CacherOptions {
            prefix,
            indexes: resource.indexes,
            budget: self.budget.clone(),
            history_events,
            bookmark_period: BOOKMARK_PERIOD,
        };
        let cacher = Cacher::with_metrics(store, options, self.metrics.cache(named));
        self.metrics.observe_cache(named, cacher.source());
        self.remember(&cacher);
        cacher
    }
}

impl OpenStorage for Storages {
    fn open(&self, versions: &Arc<Versions>) -> Result<Arc<dyn Interface>, StorageError> {
        let _runtime = self.runtime.enter();
        let resource = versions.hub();
        let named = resource.group_resource();
        let prefix = format!("{}/{}/", self.prefix, resource.storage_prefix);
        let history_events = self.cache_events(resource);
        #[cfg(feature = "embedded")]
        if let Some(engine) = self.backends.open(named, &prefix)? {
            let store = self.store(engine, Arc::new(Identity), versions);
            return Ok(self.cached(store, resource, prefix, history_events.max(1)));
        }
        let (versions, (engine, shared_watch)) = (&self.encoded(versions), self.place(named));
        let transformer = self.transformer(named);
        if history_events == 0 {
            let store = self.store(engine.mvcc(), transformer, versions);
            let uncached = Uncached { resource: named, prefix, store: store.clone() };
            self.uncached.lock().push(uncached);
            return Ok(store);
        }
        let store = self.store(shared_watch.client(), transformer, versions);
        Ok(self.cached(store, resource, prefix, history_events))
    }

    fn prefix(&self) -> &str {
        &self.prefix
    }

    fn encoding_budget(&self) -> Arc<EncodingBudget> {
        self.encodings().clone()
    }

    fn services(&self) -> Services {
        self.services.clone()
    }

    fn features(&self) -> Features {
        self.release.features
    }

    fn oldest_reader(&self) -> Option<Release> {
        self.release.oldest_reader
    }

    fn store_options(&self, resource: &ResourceType) -> StoreOptions {
        StoreOptions {
            time_to_live_seconds: is_event(resource).then(|| self.options.event_ttl.as_secs().max(1)),
            garbage_collection: self.options.enable_garbage_collector,
            ..StoreOptions::default()
        }
    }
}

/// Returns whether `--event-ttl` applies to the resource.
fn is_event(resource: &ResourceType) -> bool {
    resource.plural == "events" && matches!(resource.kind.group, "" | "events.k8s.io")
}
