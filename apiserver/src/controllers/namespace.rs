//! `namespace-controller`: removes the objects of a namespace that is being deleted, then releases the namespace.
//!
//! A pass deletes everything that is there: pods first, and the rest when no pod is left. What remains, because it has
//! finalizers or a grace period, causes another pass when it changes.
//!
//! Kubernetes concept: `pkg/controller/namespace`.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};

use super::client::{Client, Failure};
use super::kinds::{Kind, Kinds};
use super::metadata::{Metadata, set};
use super::objects::{AllObjects, Observer};
use super::queue::{Outcome, Queue};

mod conditions;
mod content;

use conditions::Findings;
use content::{Remaining, delete_content};

/// The account of the controller.
pub(super) const ACCOUNT: &str = "namespace-controller";

/// The finalizer that keeps a namespace until its objects are gone.
const FINALIZER: &str = "kubernetes";
/// Maximum number of namespaces that are worked on at the same time.
const WORKERS: usize = 10;
/// Time in which changes in a namespace are gathered before the next pass.
const GATHER: Duration = Duration::from_millis(20);
/// Time after which an empty namespace is looked at again, for a write that was admitted before the deletion.
const SETTLING: Duration = Duration::from_millis(10);
/// Maximum number of attempts to change a namespace that others change at the same time.
const ATTEMPTS: usize = 5;

/// The controller.
pub(super) struct NamespaceController {
    client: Client,
    observed: Arc<ObservedNamespaces>,
    objects: Arc<AllObjects>,
}

/// The namespaces that are being deleted.
pub(super) struct ObservedNamespaces {
    queue: Queue<String>,
    /// Time after the deletion of a namespace before its objects are: for other servers to notice the deletion.
    grace: Duration,
    /// The namespaces in which something remains.
    waiting: Mutex<HashSet<String>>,
}

/// The outcome of a pass.
#[derive(Default)]
struct Pass {
    findings: Findings,
    /// Estimated time until what remains is gone.
    estimate_seconds: u64,
}

/// A change of a namespace.
enum Change<'f> {
    /// Its conditions say what was found.
    Report(&'f Findings),
    /// It is not kept any more.
    Release,
}

// === impl NamespaceController ===

impl NamespaceController {
    /// Creates the controller.
    pub(super) fn new(client: Client, observed: Arc<ObservedNamespaces>, objects: Arc<AllObjects>) -> Self {
        Self { client, observed, objects }
    }

    /// Works until it is dropped.
    pub(super) async fn run(&self) {
        self.objects.synced().await;
        self.observed.queue.run(WORKERS, |name| self.work(name)).await;
    }

    async fn work(&self, name: String) -> Outcome {
        match self.end(&name).await {
            Ok(None) => {
                self.observed.waiting().remove(&name);
                Outcome::Done
            }
            Ok(Some(pause)) => Outcome::Again(pause),
            Err(failure) => {
                tracing::debug!(namespace = name, "the content is not removed yet: {failure}");
                Outcome::Failed
            }
        }
    }

    /// Removes what is in a namespace that is being deleted, and releases the namespace if nothing remains. Returns the time
    /// after which another attempt is worthwhile, even if nothing changes; `None` if there is nothing more to do.
    async fn end(&self, name: &str) -> Result<Option<Duration>, Failure> {
        let Some(namespace) = self.client.get(&path(name)).await? else { return Ok(None) };
        if !is_ending(&namespace) {
            return Ok(None);
        }
        // Before anything is listed, so that no later change is missed.
        self.observed.waiting().insert(name.to_owned());
        let mut pass = self.pass(&namespace, &self.objects.served_kinds()).await;
        if pass.findings.is_clean() {
            tokio::time::sleep(SETTLING).await;
            pass = self.pass(&namespace, &self.objects.served_kinds()).await;
        }
        self.change(&namespace, &Change::Report(&pass.findings)).await?;
        if let Some(error) = pass.findings.error() {
            return Err(Failure::none(error));
        }
        if !pass.findings.is_clean() {
            return Ok(Some(Duration::from_secs(pass.estimate_seconds / 2 + 1)));
        }
        self.change(&namespace, &Change::Release).await?;
        Ok(None)
    }

    /// Deletes everything in a namespace, and returns what remains.
    async fn pass(&self, namespace: &Value, kinds: &Kinds) -> Pass {
        let name = text(namespace, "/metadata/name");
        let deleted_at = text(namespace, "/metadata/deletionTimestamp");
        let mut pass = Pass::default();
        pass.findings.note_discovery(&kinds.failing);
        let is_pods = |kind: &&Arc<Kind>| kind.group.is_empty() && kind.resource == "pods";
        let pods = kinds.deletable_in_namespaces().find(is_pods);
        if let Some(pods) = pods {
            let remaining = delete_content(&self.client, pods, name, deleted_at).await;
            pass.note(
                pods,
                remaining.map_err(|failure| Failure {
                    message: format!("failed to delete pods for namespace: {name}, err: {failure}"),
                    ..failure
                }),
            );
            if pass.findings.has_content() {
                return pass;
            }
        }
        for kind in kinds.deletable_in_namespaces().filter(|kind| !is_pods(kind)) {
            let remaining = delete_content(&self.client, kind, name, deleted_at).await;
            pass.note(kind, remaining);
        }
        pass
    }

    /// Changes a namespace, again if it was changed in between. It is fine if it is gone.
    async fn change(&self, namespace: &Value, change: &Change<'_>) -> Result<(), Failure> {
        let path = path(text(namespace, "/metadata/name"));
        let mut state = namespace.clone();
        for attempt in 1.. {
            match self.try_change(&path, &state, change).await {
                Err(failure) if failure.is_not_found() => return Ok(()),
                Err(failure) if failure.is_conflict() && attempt < ATTEMPTS => {}
                done => return done,
            }
            let newest = self.client.get(&path).await?;
            let is_same = |newest: &Value| text(newest, "/metadata/uid") == text(namespace, "/metadata/uid");
            let Some(newest) = newest.filter(is_same) else { return Ok(()) };
            state = newest;
        }
        Ok(())
    }

    async fn try_change(&self, path: &str, state: &Value, change: &Change<'_>) -> Result<(), Failure> {
        let written = match change {
            Change::Report(findings) => {
                let Some(patch) = report(findings, state) else { return Ok(()) };
                self.client.merge(&format!("{path}/status"), &patch).await
            }
            Change::Release => self.client.replace(&format!("{path}/finalize"), &released(state)).await,
        };
        written.map(drop)
    }
}

/// Returns the patch of the status of a namespace; `None` if it stays as it is.
fn report(findings: &Findings, namespace: &Value) -> Option<Value> {
    let before = namespace.pointer("/status/conditions").and_then(Value::as_array);
    let conditions = findings.conditions(before.map(Vec::as_slice).unwrap_or_default());
    let is_terminating = text(namespace, "/status/phase") == "Terminating";
    (conditions.is_some() || !is_terminating).then_some(())?;
    let status = json!({"phase": "Terminating", "conditions": conditions.as_ref().or(before)});
    let state =
        ["uid", "resourceVersion"].map(|field| (field, text(namespace, &format!("/metadata/{field}"))));
    Some(json!({"metadata": BTreeMap::from(state), "status": status}))
}

/// Returns a namespace without the finalizer of the controller.
fn released(namespace: &Value) -> Value {
    let finalizers = namespace.pointer("/spec/finalizers").and_then(Value::as_array);
    let kept = finalizers.into_iter().flatten().filter(|finalizer| *finalizer != FINALIZER);
    let kept: Vec<&Value> = kept.collect();
    let mut released = namespace.clone();
    if let Some(spec) = released.get_mut("spec") {
        set(spec, "finalizers", json!(kept));
    }
    released
}

// === impl Pass ===

impl Pass {
    fn note(&mut self, kind: &Kind, remaining: Result<Remaining, Failure>) {
        match remaining {
            Ok(remaining) => {
                self.estimate_seconds = self.estimate_seconds.max(remaining.estimate_seconds);
                let Remaining { objects, finalizers, .. } = remaining;
                self.findings.note_content(kind, objects, finalizers);
            }
            Err(failure) => self.findings.note_error(failure.message),
        }
    }
}

// === impl ObservedNamespaces ===

impl ObservedNamespaces {
    /// Creates it. Objects are deleted this time after their namespace.
    pub(super) fn new(grace: Duration) -> Arc<Self> {
        Arc::new(Self { queue: Queue::new(), grace, waiting: Mutex::default() })
    }

    fn waiting(&self) -> MutexGuard<'_, HashSet<String>> {
        self.waiting.lock()
    }

    /// Has a namespace looked at if something remains in it.
    fn note_change(&self, namespace: &str) {
        if !namespace.is_empty() && self.waiting().contains(namespace) {
            self.queue.add_after(namespace.to_owned(), GATHER);
        }
    }
}

impl Observer for ObservedNamespaces {
    fn replaced(&self, kind: &Arc<Kind>, objects: &[Metadata]) {
        for object in objects {
            self.changed(kind, object);
        }
        if kind.is_namespaced {
            self.kinds_changed();
        }
    }

    fn changed(&self, kind: &Arc<Kind>, object: &Metadata) {
        if !is_namespaces(kind) {
            self.note_change(&object.namespace);
        } else if object.is_being_deleted() {
            self.queue.add_after(object.name.clone(), self.grace);
        }
    }

    fn removed(&self, kind: &Arc<Kind>, object: &Metadata) {
        if is_namespaces(kind) {
            self.waiting().remove(&object.name);
        } else {
            self.note_change(&object.namespace);
        }
    }

    fn kinds_changed(&self) {
        for name in self.waiting().iter() {
            self.queue.add_after(name.clone(), GATHER);
        }
    }
}

/// Whether these are the namespaces themselves.
pub(super) fn is_namespaces(kind: &Kind) -> bool {
    kind.group.is_empty() && kind.resource == "namespaces"
}

fn path(name: &str) -> String {
    format!("/api/v1/namespaces/{name}")
}

/// Whether a namespace is being deleted, and kept by this controller.
fn is_ending(namespace: &Value) -> bool {
    let finalizers = namespace.pointer("/spec/finalizers").and_then(Value::as_array);
    let is_deleted = namespace.pointer("/metadata/deletionTimestamp").is_some();
    is_deleted && finalizers.is_some_and(|finalizers| !finalizers.is_empty())
}

fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
