//! The checks of a server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use registry_core::api::GroupResource;
use registry_core::registry::{InstalledApi, Synced};
use registry_core::storage::mvcc::Mvcc;
use resources::api::apiextensions::CustomResourceController;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::{Check, Unhealthy};

/// Maximum time for the store's health check.
const ENGINE_TIMEOUT: Duration = Duration::from_secs(2);
/// Time for which its result is reused: the endpoint is public, and the load on a remote store must not
/// depend on how often it is called.
const ENGINE_ANSWER_LIFETIME: Duration = Duration::from_millis(500);
/// Maximum time for which a server that starts waits for the stores of all resources.
const STORES_TIMEOUT: Duration = Duration::from_mins(1);

/// `ping`: the process responds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PingCheck;

/// `etcd`: the store is healthy, whichever it is.
pub struct EngineCheck {
    engine: Arc<dyn Mvcc>,
    last: Mutex<Option<(Instant, Result<(), Unhealthy>)>>,
}

/// `informer-sync`: every informer has its first list, and the store of every resource, with its cache, was ready once.
///
/// A server that has been ready does not leave a load balancer because a stored value cannot be read: all servers would. As
/// in Kubernetes (`StorageReadinessHook`), such a value delays the first start only, and not for ever.
pub struct ReadinessCheck {
    installed: Arc<InstalledApi>,
    informers: Vec<(GroupResource, Synced)>,
    first_start: FirstStart,
}

/// The time in which a server waits for the stores.
#[derive(Debug)]
pub(super) struct FirstStart {
    begun: Instant,
    is_over: AtomicBool,
}

/// `poststarthook/…`: a task that has to be completed once after the start.
#[derive(Debug, Default)]
pub struct Completion {
    done: AtomicBool,
}

/// `poststarthook/crd-informer-synced`: all kinds that were defined before the start are served.
pub(crate) struct CustomResourcesCheck(pub(crate) Arc<CustomResourceController>);

/// `shutdown`: the server is not shutting down.
#[derive(Debug)]
pub(crate) struct ShutdownCheck(pub(crate) CancellationToken);

#[async_trait]
impl Check for PingCheck {
    async fn check(&self) -> Result<(), Unhealthy> {
        Ok(())
    }
}

// === impl EngineCheck ===

impl EngineCheck {
    /// Checks this engine.
    pub fn new(engine: Arc<dyn Mvcc>) -> Self {
        Self { engine, last: Mutex::new(None) }
    }
}

#[async_trait]
impl Check for EngineCheck {
    async fn check(&self) -> Result<(), Unhealthy> {
        // Concurrent requests wait for the same result.
        let mut last = self.last.lock().await;
        if let Some((at, answer)) = &*last
            && at.elapsed() < ENGINE_ANSWER_LIFETIME
        {
            return answer.clone();
        }
        let answer = match tokio::time::timeout(ENGINE_TIMEOUT, self.engine.health()).await {
            Ok(answer) => answer.map_err(|reason| Unhealthy(reason.to_string())),
            Err(_) => Err(Unhealthy("the store did not answer in time".to_owned())),
        };
        *last = Some((Instant::now(), answer.clone()));
        answer
    }
}

// === impl ReadinessCheck ===

impl ReadinessCheck {
    /// Checks the stores of everything installed, and these informers.
    pub fn new(installed: Arc<InstalledApi>, informers: Vec<(GroupResource, Synced)>) -> Self {
        Self { installed, informers, first_start: FirstStart::begin(Instant::now()) }
    }

    /// Returns the stores that are not ready.
    fn waiting_stores(&self) -> Vec<String> {
        let resources = self.installed.paths.iter().filter(|path| path.subresource.is_none());
        let stores = resources.filter_map(|path| Some((path, path.store.as_ref()?)));
        let waiting = stores.filter_map(|(path, store)| {
            let reason = store.storage().readiness().err()?;
            Some(format!("{}: {reason}", path.resource.group_resource()))
        });
        waiting.collect()
    }
}

#[async_trait]
impl Check for ReadinessCheck {
    async fn check(&self) -> Result<(), Unhealthy> {
        let waiting = self.first_start.waiting(Instant::now(), || self.waiting_stores());
        let unsynced = self.informers.iter().filter(|(_, synced)| !synced.is_synced());
        let unsynced = unsynced.map(|(resource, _)| format!("{resource}: its objects are being read"));
        // Names each, so that the user sees what is missing.
        let waiting: Vec<String> = waiting.into_iter().chain(unsynced).collect();
        if waiting.is_empty() { Ok(()) } else { Err(Unhealthy(waiting.join("; "))) }
    }
}

// === impl FirstStart ===

impl FirstStart {
    /// Begins to wait.
    pub(super) fn begin(now: Instant) -> Self {
        Self { begun: now, is_over: AtomicBool::new(false) }
    }

    /// Returns what the server waits for at this time; nothing any more once there was nothing, or after
    /// [`STORES_TIMEOUT`].
    pub(super) fn waiting(&self, now: Instant, waiting: impl FnOnce() -> Vec<String>) -> Vec<String> {
        if self.is_over.load(Ordering::Acquire) {
            return Vec::new();
        }
        let waiting = waiting();
        if waiting.is_empty() {
            self.is_over.store(true, Ordering::Release);
        } else if now.saturating_duration_since(self.begun) >= STORES_TIMEOUT {
            self.is_over.store(true, Ordering::Release);
            tracing::warn!("not waiting for the stores any longer: {}", waiting.join("; "));
            return Vec::new();
        }
        waiting
    }
}

// === impl Completion ===

impl Completion {
    /// Marks the task as completed.
    pub fn complete(&self) {
        self.done.store(true, Ordering::Release);
    }
}

fn not_finished() -> Unhealthy {
    Unhealthy("not finished".to_owned())
}

#[async_trait]
impl Check for Completion {
    async fn check(&self) -> Result<(), Unhealthy> {
        if self.done.load(Ordering::Acquire) { Ok(()) } else { Err(not_finished()) }
    }
}

#[async_trait]
impl Check for CustomResourcesCheck {
    async fn check(&self) -> Result<(), Unhealthy> {
        if self.0.is_synced() { Ok(()) } else { Err(not_finished()) }
    }
}

#[async_trait]
impl Check for ShutdownCheck {
    async fn check(&self) -> Result<(), Unhealthy> {
        let shutting_down = || Unhealthy("process is shutting down".to_owned());
        if self.0.is_cancelled() { Err(shutting_down()) } else { Ok(()) }
    }
}
