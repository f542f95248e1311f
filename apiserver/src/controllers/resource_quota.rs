//! `resourcequota-controller`: counts what quotas limit.
//!
//! Admission charges a quota before the write. What a write is charged that fails, and what a deletion or an update gives
//! back, is found by counting again after every change in a namespace that has quotas. [`QuotaHistory`] decides which usage
//! belongs to writes that are still under way.
//!
//! Kubernetes concept: `pkg/controller/resourcequota`, which counts again after deletions and every five minutes.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use registry_core::api::Object;
use registry_core::registry::Store;
use resources::admission::{QuotaHistory, QuotaTotals, QuotaUsage};
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

/// The controller.
pub(super) struct QuotaController {
    client: Client,
    observed: Arc<ObservedQuotas>,
    objects: Arc<AllObjects>,
    usage: Arc<QuotaUsage>,
    /// The previous counts, by namespace and name.
    histories: Mutex<HashMap<(String, String), QuotaHistory>>,
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
        Self { client, observed, objects, usage, histories: Mutex::default() }
    }

    /// Works until it is dropped.
    pub(super) async fn run(&self) {
        self.objects.synced().await;
        self.observed.queue.run(WORKERS, |key| self.work(key)).await;
    }

    async fn work(&self, key: (String, String)) -> Outcome {
        // Each quota is worked on by one task at a time.
        let history = self.histories.lock().remove(&key).unwrap_or_default();
        match self.count(&key, &history).await {
            Ok(Some(totals)) => {
                self.histories.lock().insert(key, totals.history);
                totals.again_after.map_or(Outcome::Done, Outcome::Again)
            }
            Ok(None) => Outcome::Done,
            Err(failure) if failure.is_not_found() => Outcome::Done,
            // It was charged in the meantime.
            Err(failure) if failure.is_conflict() => {
                self.histories.lock().insert(key, history);
                Outcome::Again(GATHER)
            }
            // The quota may have been written: the previous count does not say any more what it gave back.
            Err(failure) => {
                let (namespace, name) = key;
                tracing::debug!(namespace, name, "a quota is not counted: {failure}");
                Outcome::Failed
            }
        }
    }

    /// Counts what a quota limits, and writes it if the quota says something else. Returns `None` if there is no quota.
    async fn count(
        &self,
        (namespace, name): &(String, String),
        history: &QuotaHistory,
    ) -> Result<Option<QuotaTotals>, Failure> {
        let path = format!("/api/v1/namespaces/{namespace}/resourcequotas/{name}");
        let Some(mut quota) = self.client.get(&path).await? else { return Ok(None) };
        let object = Object::from_value(quota.clone())
            .map_err(|_| Failure::none("the quota cannot be read".to_owned()))?;
        let kinds = self.objects.kinds();
        let stores: Vec<Arc<Store>> = kinds.preferred.iter().filter_map(|kind| kind.store.clone()).collect();
        let totals = self.usage.totals(&object, &stores, history).await;
        let totals = totals.map_err(|failure| Failure::none(failure.to_string()))?;
        if !totals.is_stored {
            // A charge since the quota was read makes this a conflict.
            set(&mut quota, "status", json!({"hard": totals.hard, "used": totals.used}));
            self.client.replace(&format!("{path}/status"), &quota).await?;
        }
        Ok(Some(totals))
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
