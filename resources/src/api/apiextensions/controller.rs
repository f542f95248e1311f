//! Serves the kinds that `CustomResourceDefinition`s define: follows the definitions, accepts their names, establishes
//! them, and deletes their objects when they are deleted.
//!
//! One task applies all changes in batches. Writes of status, and deletions of objects, run concurrently beside it;
//! their results come back as changes of the definitions. A kind is served before its definition says that it is
//! established, so that a client that waits for the condition finds it.
//!
//! Kubernetes concept: the controllers of `k8s.io/apiextensions-apiserver` (`NamingConditionController`,
//! `EstablishingController`, `ConditionController`, `KubernetesAPIApprovalPolicyConformantConditionController`,
//! `CRDFinalizer`) and its `crdHandler`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use registry_core::api::{GetOptions, StatusError};
use registry_core::backoff::Backoff;
use registry_core::registry::storage_map::OpenStorage;
use registry_core::registry::{Informer, InformerTask, InstalledApi, LateResources, ServeResources, Store};
use registry_core::rest::{Answer, Getter as _};
use registry_core::storage::Revision;
use registry_core::{RequestContext, Resource as _};
use tokio::sync::{Notify, Semaphore, watch};
use tokio::task::{Id, JoinError, JoinSet};

use crate::support::system_writer::SystemWriter;

use super::custom_resources::Compiling;
use super::customresourcedefinitions::CustomResourceDefinitions;

mod cleanup;
mod defined;
mod kinds;
mod pending;
mod state;

pub use defined::DefinedVersions;
pub(crate) use defined::VersionNames;
use pending::PendingChanges;
use state::{Cleaning, State, Task};
#[cfg(test)]
mod tests;

/// Maximum number of concurrent writes to definitions. They share commits.
const MAX_WRITES: usize = 64;
/// Maximum number of definitions whose objects are deleted at the same time.
const MAX_CLEANUPS: usize = 4;
/// The pauses before failed work on a definition is repeated.
const RETRIES: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(30));
/// Maximum time that a request waits for a kind that was defined just before it.
const LATE_TIMEOUT: Duration = Duration::from_secs(5);

/// Follows the definitions, and serves what they define.
pub struct CustomResourceController {
    definitions: Arc<Store>,
    writer: SystemWriter,
    storage: Arc<dyn OpenStorage>,
    served: Arc<dyn ServeResources>,
    /// The group and plural of the resources that storage maps have installed. No definition replaces them.
    installed: HashSet<(&'static str, &'static str)>,
    pending: Arc<PendingChanges>,
    applied: Applied,
    defined: Arc<DefinedVersions>,
    compiling: Compiling,
    writes: Semaphore,
    cleanups: Semaphore,
}

/// The work on definitions that is under way.
#[derive(Default)]
struct Tasks {
    tasks: JoinSet<Result<(), StatusError>>,
    works: HashMap<Id, Work>,
}

/// The definition that a task handles.
struct Work {
    /// The name of the definition.
    name: String,
    /// The uid of the definition.
    uid: String,
    /// `None` if its objects are not being deleted.
    cleaning: Option<Cleaning>,
}

/// Error of work on a definition. Retryable.
#[derive(Debug, thiserror::Error)]
enum WorkError {
    #[error(transparent)]
    Refused(#[from] StatusError),
    #[error(transparent)]
    Panicked(#[from] JoinError),
}

/// The changes that have been applied.
#[derive(Default)]
struct Applied {
    /// The newest applied revision of each definition.
    revisions: Mutex<HashMap<String, Revision>>,
    advanced: Notify,
    /// Whether all definitions that existed at the start have been applied.
    is_complete: watch::Sender<bool>,
}

// === impl CustomResourceController ===

impl CustomResourceController {
    /// Creates the controller of an installed API; `None` if definitions are not served. `storage` opens the storages
    /// of custom kinds, `served` serves them.
    pub fn new(
        installed: &InstalledApi,
        storage: Arc<dyn OpenStorage>,
        served: Arc<dyn ServeResources>,
    ) -> Option<Arc<Self>> {
        let definitions = installed.store(CustomResourceDefinitions::TYPE)?;
        let names = installed.paths.iter().map(|path| (path.resource.kind.group, path.resource.plural));
        Some(Arc::new(Self {
            writer: SystemWriter::new(definitions.clone()),
            definitions,
            storage,
            served,
            installed: names.collect(),
            pending: Arc::default(),
            applied: Applied::default(),
            defined: Arc::default(),
            compiling: Compiling::default(),
            writes: Semaphore::new(MAX_WRITES),
            cleanups: Semaphore::new(MAX_CLEANUPS),
        }))
    }

    /// Returns the informer that the controller follows. It must run as long as the controller.
    pub fn informer(&self) -> InformerTask {
        Informer::new(self.definitions.clone(), self.pending.clone()).into_task()
    }

    /// Returns the group versions that the definitions serve.
    pub fn defined_versions(&self) -> Arc<DefinedVersions> {
        self.defined.clone()
    }

    /// Whether all definitions that existed at the start are served.
    pub fn is_synced(&self) -> bool {
        *self.applied.is_complete.borrow()
    }

    /// Applies changes until it is dropped.
    pub async fn run(self: Arc<Self>) {
        let mut state = State::default();
        let mut tasks = Tasks::default();
        loop {
            let batch = tokio::select! {
                batch = self.pending.next() => batch,
                Some((work, outcome)) = tasks.next() => {
                    self.end(&mut state, work, outcome);
                    continue;
                }
            };
            let is_complete = batch.is_complete;
            let applied = state.apply(&self, batch).await;
            if !applied.served.is_empty() {
                self.served.change(applied.served);
            }
            self.defined.publish(is_complete);
            self.applied.advance(applied.revisions, is_complete);
            for task in applied.tasks {
                tasks.begin(&self, task);
            }
        }
    }

    /// Whether a storage map has installed the resource that a definition names.
    fn is_installed(&self, group: &str, plural: &str) -> bool {
        self.installed.contains(&(group, plural))
    }

    /// Repeats work on a definition that failed or panicked, after a pause.
    fn end(&self, state: &mut State, work: Work, outcome: Result<(), WorkError>) {
        let Work { name, uid, cleaning } = work;
        let Some(known) = state.definition(&name, &uid) else { return };
        let Err(failure) = outcome else {
            cleaning.iter().for_each(Cleaning::complete);
            known.retries.reset();
            return;
        };
        tracing::warn!(definition = name, "cannot finish the work on a definition yet: {failure}");
        let (pause, pending) = (known.retries.next_pause(), self.pending.clone());
        tokio::spawn(async move {
            tokio::time::sleep(pause).await;
            // It is due again from here on, not when the failure has become a condition.
            drop(cleaning);
            pending.again(name);
        });
    }

    async fn perform(self: Arc<Self>, task: Task) -> Result<(), StatusError> {
        match task {
            Task::Status { name, uid, changes } => {
                let _permit = self.writes.acquire().await;
                self.change_status(&name, &uid, |definition| {
                    for change in &changes {
                        change.apply(definition);
                    }
                })
                .await
            }
            Task::Cleanup { name, uid, instances, .. } => {
                let _permit = self.cleanups.acquire().await;
                self.clean_up(&name, &uid, instances).await
            }
        }
    }

    /// Changes the status of the definition with this uid. Does nothing if it is gone.
    async fn change_status(
        &self,
        name: &str,
        uid: &str,
        change: impl Fn(&mut registry_core::api::Object) + Send + Sync,
    ) -> Result<(), StatusError> {
        let changed = self.writer.change_status("", name, |present| {
            let mut next = present.clone();
            if present.uid() == uid {
                change(&mut next);
            }
            next
        });
        match changed.await {
            Err(failure) if !failure.is_not_found() => Err(failure),
            _ => Ok(()),
        }
    }
}

#[async_trait]
impl LateResources for CustomResourceController {
    async fn wait_for(&self, group: &str, resource: &str) -> bool {
        if group.is_empty() {
            return false;
        }
        let name = format!("{resource}.{group}");
        // A consistent read: definitions may have been written through another server.
        let context = RequestContext::system("");
        let Ok(Answer::Stored(definition)) =
            self.definitions.get(&context, &name, &GetOptions::default()).await
        else {
            return false;
        };
        let applied = self.applied.reached(&name, definition.revision);
        tokio::time::timeout(LATE_TIMEOUT, applied).await.is_ok()
    }
}

// === impl Tasks ===

impl Tasks {
    fn begin(&mut self, controller: &Arc<CustomResourceController>, task: Task) {
        let work = task.work();
        let id = self.tasks.spawn(controller.clone().perform(task)).id();
        self.works.insert(id, work);
    }

    /// Waits until work has ended; `None` if there is none.
    async fn next(&mut self) -> Option<(Work, Result<(), WorkError>)> {
        let (id, outcome) = match self.tasks.join_next_with_id().await? {
            Ok((id, outcome)) => (id, outcome.map_err(WorkError::from)),
            Err(error) => (error.id(), Err(error.into())),
        };
        Some((self.works.remove(&id)?, outcome))
    }
}

// === impl Applied ===

impl Applied {
    /// Records applied revisions; `None` for definitions that are gone.
    fn advance(&self, applied: Vec<(String, Option<Revision>)>, is_complete: bool) {
        let mut revisions = self.revisions.lock();
        for (name, revision) in applied {
            match revision {
                Some(revision) => revisions.insert(name, revision),
                None => revisions.remove(&name),
            };
        }
        drop(revisions);
        self.advanced.notify_waiters();
        if is_complete {
            self.is_complete.send_replace(true);
        }
    }

    /// Waits until this revision of a definition has been applied.
    async fn reached(&self, name: &str, revision: Revision) {
        loop {
            let advanced = self.advanced.notified();
            tokio::pin!(advanced);
            // Registered before the check, so that no change is missed.
            advanced.as_mut().enable();
            if self.has_reached(name, revision) {
                return;
            }
            advanced.await;
        }
    }

    fn has_reached(&self, name: &str, revision: Revision) -> bool {
        let revisions = self.revisions.lock();
        revisions.get(name).is_some_and(|applied| *applied >= revision)
    }
}
