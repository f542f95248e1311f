//! `resourcequota-controller`: counts what quotas limit.
//!
//! Admission charges a quota before the write. What a write is charged that fails, and what a deletion or an update gives
//! back, is found by counting again after every change in a namespace that has quotas.
//!
//! Kubernetes concept: `pkg/controller/resourcequota`, which counts again after deletions and every five minutes.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use registry_core::api::Object;
use registry_core::registry::Store;
use resources::admission::QuotaUsage;
use serde_json::json;

use super::client::{Client, Failure};
use super::kinds::Kind;
use super::metadata::{Metadata, set};
use super::objects::{AllObjects, Observer};
use super::queue::{Outcome, Queue};

/// The account of the controller.
pub(super) const ACCOUNT: &str = "resourcequota-controller";

/// Maximum number of quotas that are worked on at the same time.
const WORKERS: usize = 5;
/// Time in which changes in a namespace are gathered before its quotas are counted.
const GATHER: Duration = Duration::from_millis(100);
/// Time for a write that was charged to be stored, before it is counted.
const SETTLING: Duration = Duration::from_millis(50);

/// The controller.
pub(super) struct QuotaController {
    client: Client,
    observed: Arc<ObservedQuotas>,
    objects: Arc<AllObjects>,
    usage: Arc<QuotaUsage>,
}

/// The quotas, by namespace and name.
pub(super) struct ObservedQuotas {
    queue: Queue<(String, String)>,
    names: Mutex<HashMap<String, BTreeSet<String>>>,
}

// === impl QuotaController ===

impl QuotaController {
    /// Creates the controller.
    pub(super) fn new(
        client: Client,
        observed: Arc<ObservedQuotas>,
        objects: Arc<AllObjects>,
        usage: Arc<QuotaUsage>,
    ) -> Self {
        Self { client, observed, objects, usage }
    }

    /// Works until it is dropped.
    pub(super) async fn run(&self) {
        self.objects.synced().await;
        self.observed.queue.run(WORKERS, |(namespace, name)| self.work(namespace, name)).await;
    }

    async fn work(&self, namespace: String, name: String) -> Outcome {
        match self.count(&namespace, &name).await {
            Ok(()) => Outcome::Done,
            Err(failure) if failure.is_not_found() => Outcome::Done,
            // It was charged in the meantime.
            Err(failure) if failure.is_conflict() => Outcome::Again(GATHER),
            Err(failure) => {
                tracing::debug!(namespace, name, "a quota is not counted: {failure}");
                Outcome::Failed
            }
        }
    }

    /// Counts what a quota limits, and writes it if the quota says something else.
    async fn count(&self, namespace: &str, name: &str) -> Result<(), Failure> {
        let path = format!("/api/v1/namespaces/{namespace}/resourcequotas/{name}");
        let Some(mut quota) = self.client.get(&path).await? else { return Ok(()) };
        if quota.pointer("/status/used").is_some() {
            // A write that is charged from now on changes the quota, so that the result is not written.
            tokio::time::sleep(SETTLING).await;
        }
        let object = Object::from_value(quota.clone())
            .map_err(|_| Failure::none("the quota cannot be read".to_owned()))?;
        let kinds = self.objects.kinds();
        let stores: Vec<Arc<Store>> = kinds.preferred.iter().filter_map(|kind| kind.store.clone()).collect();
        let totals = self.usage.totals(&object, &stores).await;
        let totals = totals.map_err(|failure| Failure::none(failure.to_string()))?;
        if totals.is_said {
            return Ok(());
        }
        set(&mut quota, "status", json!({"hard": totals.hard, "used": totals.used}));
        self.client.replace(&format!("{path}/status"), &quota).await.map(drop)
    }
}

// === impl ObservedQuotas ===

impl ObservedQuotas {
    /// Creates it, without any quota.
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { queue: Queue::new(), names: Mutex::default() })
    }

    fn names(&self) -> MutexGuard<'_, HashMap<String, BTreeSet<String>>> {
        self.names.lock()
    }

    /// Has the quotas of a namespace counted.
    fn note_change(&self, namespace: &str) {
        for name in self.names().get(namespace).into_iter().flatten() {
            self.queue.add_after((namespace.to_owned(), name.clone()), GATHER);
        }
    }
}

impl Observer for ObservedQuotas {
    fn replaced(&self, kind: &Arc<Kind>, objects: &[Metadata]) {
        if is_quotas(kind) {
            self.names().clear();
            for object in objects {
                self.changed(kind, object);
            }
            return;
        }
        let namespaces: Vec<String> = self.names().keys().cloned().collect();
        for namespace in &namespaces {
            self.note_change(namespace);
        }
    }

    fn changed(&self, kind: &Arc<Kind>, object: &Metadata) {
        if is_quotas(kind) {
            let is_new =
                self.names().entry(object.namespace.clone()).or_default().insert(object.name.clone());
            if is_new {
                self.queue.add((object.namespace.clone(), object.name.clone()));
            }
        }
        self.note_change(&object.namespace);
    }

    fn removed(&self, kind: &Arc<Kind>, object: &Metadata) {
        if is_quotas(kind) {
            let mut names = self.names();
            if let Some(own) = names.get_mut(&object.namespace) {
                own.remove(&object.name);
                if own.is_empty() {
                    names.remove(&object.namespace);
                }
            }
        }
        self.note_change(&object.namespace);
    }
}

fn is_quotas(kind: &Kind) -> bool {
    kind.group.is_empty() && kind.resource == "resourcequotas"
}
