//! The checks of a server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use registry_core::api::GroupResource;
use registry_core::registry::{InstalledApi, Synced};
use registry_core::storage::mvcc::Mvcc;
use resources::apiextensions::CustomResourceController;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::Check;

/// Maximum time for the store's health check.
const ENGINE_TIMEOUT: Duration = Duration::from_secs(2);
/// Time for which its result is reused: the endpoint is public, and the load on a remote store must not
/// depend on how often it is called.
const ENGINE_ANSWER_LIFETIME: Duration = Duration::from_millis(500);

/// `ping`: the process responds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PingCheck;

/// `etcd`: the store is healthy, whichever it is.
pub struct EngineCheck {
    engine: Arc<dyn Mvcc>,
    last: Mutex<Option<(Instant, Result<(), String>)>>,
}

/// `informer-sync`: the store of every resource, with its cache, is ready, and every informer has its first list.
pub struct ReadinessCheck {
    installed: Arc<InstalledApi>,
    informers: Vec<(GroupResource, Synced)>,
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
    async fn check(&self) -> Result<(), String> {
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
    async fn check(&self) -> Result<(), String> {
        // Concurrent requests wait for the same result.
        let mut last = self.last.lock().await;
        if let Some((at, answer)) = &*last
            && at.elapsed() < ENGINE_ANSWER_LIFETIME
        {
            return answer.clone();
        }
        let answer = match tokio::time::timeout(ENGINE_TIMEOUT, self.engine.health()).await {
            Ok(answer) => answer,
            Err(_) => Err("the store did not answer in time".to_owned()),
        };
        *last = Some((Instant::now(), answer.clone()));
        answer
    }
}

// === impl ReadinessCheck ===

impl ReadinessCheck {
    /// Checks the stores of everything installed, and these informers.
    pub fn new(installed: Arc<InstalledApi>, informers: Vec<(GroupResource, Synced)>) -> Self {
        Self { installed, informers }
    }
}

#[async_trait]
impl Check for ReadinessCheck {
    async fn check(&self) -> Result<(), String> {
        let resources = self.installed.paths.iter().filter(|path| path.subresource.is_none());
        let stores = resources.filter_map(|path| Some((path, path.store.as_ref()?)));
        let waiting = stores.filter_map(|(path, store)| {
            let reason = store.storage().readiness().err()?;
            Some(format!("{}: {reason}", path.resource.group_resource()))
        });
        let unsynced = self.informers.iter().filter(|(_, synced)| !synced.is_synced());
        let unsynced = unsynced.map(|(resource, _)| format!("{resource}: its objects are being read"));
        // Names each, so that the user sees what is missing.
        let waiting: Vec<String> = waiting.chain(unsynced).collect();
        if waiting.is_empty() { Ok(()) } else { Err(waiting.join("; ")) }
    }
}

// === impl Completion ===

impl Completion {
    /// Marks the task as completed.
    pub fn complete(&self) {
        self.done.store(true, Ordering::Release);
    }
}

#[async_trait]
impl Check for Completion {
    async fn check(&self) -> Result<(), String> {
        if self.done.load(Ordering::Acquire) { Ok(()) } else { Err("not finished".to_owned()) }
    }
}

#[async_trait]
impl Check for CustomResourcesCheck {
    async fn check(&self) -> Result<(), String> {
        if self.0.is_synced() { Ok(()) } else { Err("not finished".to_owned()) }
    }
}

#[async_trait]
impl Check for ShutdownCheck {
    async fn check(&self) -> Result<(), String> {
        if self.0.is_cancelled() { Err("process is shutting down".to_owned()) } else { Ok(()) }
    }
}
