//! `garbage-collector-controller`: deletes objects whose owners are gone.
//!
//! | module | contents |
//! |---|---|
//! | `graph` | the objects and their owners, as a value |
//! | `deletion` | whether an object is deleted, and how |
//! | `references` | changes of the owners and finalizers of objects |
//! | `events` | events about owners in other namespaces |
//!
//! A decision rests on objects that are read anew from the server. The graph only selects the objects to examine, and
//! knows their dependents.
//!
//! Kubernetes concept: `pkg/controller/garbagecollector`.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use super::client::{Client, Failure};
use super::kinds::Kind;
use super::metadata::Metadata;
use super::objects::{AllObjects, Observer};
use super::queue::{Outcome, Queue};
use parking_lot::{Mutex, MutexGuard};

mod deletion;
mod events;
mod graph;
mod references;

use events::{Finding, Findings};
use graph::{Coordinates, Effects, Graph, Uid};

/// The account of the controller.
pub(super) const ACCOUNT: &str = "generic-garbage-collector";

/// Maximum number of objects that are worked on at the same time.
const WORKERS: usize = 32;
/// Maximum number of references to one absent owner that are reported.
const MAX_REFERENCES: usize = 16;

/// The controller.
pub(super) struct GarbageCollector {
    client: Client,
    graph: Arc<ObservedGraph>,
    /// The objects of all kinds, of which the graph is an observer.
    objects: Arc<AllObjects>,
}

/// The graph, which follows all objects.
pub(super) struct ObservedGraph {
    graph: Mutex<Graph>,
    deletions: Queue<Uid>,
    orphans: Queue<Uid>,
    /// The objects that are not deleted before other kinds are served.
    parked: Mutex<HashSet<Uid>>,
    /// The references that may have to be reported.
    findings: Findings,
}

/// Why an object is not worked on to the end.
#[derive(Debug, thiserror::Error)]
enum Unfinished {
    /// A request failed. It is tried again.
    #[error("{0}")]
    Failed(#[from] Failure),
    /// A kind is not served. It may be served later, or its objects are forgotten.
    #[error("the kind {kind} of {api_version} is not served")]
    UnknownKind { api_version: String, kind: String },
    /// A cluster-scoped object refers to a namespaced one, of which it cannot say the namespace. It is left alone.
    #[error("a cluster-scoped object has a namespaced owner")]
    OwnerInNamespace,
}

// === impl GarbageCollector ===

impl GarbageCollector {
    /// Creates the controller.
    pub(super) fn new(client: Client, graph: Arc<ObservedGraph>, objects: Arc<AllObjects>) -> Self {
        Self { client, graph, objects }
    }

    /// Works until it is dropped.
    pub(super) async fn run(&self) {
        // Before all objects are known, an object may have dependents that the graph does not show.
        self.objects.synced().await;
        let deletions = self.graph.deletions.run(WORKERS, |uid| self.attempt_to_delete(uid));
        let orphans = self.graph.orphans.run(WORKERS, |uid| self.attempt_to_orphan(uid));
        tokio::join!(deletions, orphans, self.report());
    }

    async fn attempt_to_delete(&self, uid: Uid) -> Outcome {
        let result = self.delete_if_unowned(&uid).await;
        if let Err(unknown @ Unfinished::UnknownKind { .. }) = result {
            tracing::debug!(%uid, "an object is not collected: {unknown}");
            self.graph.parked().insert(uid);
            return Outcome::Done;
        }
        outcome(&uid, result)
    }

    async fn attempt_to_orphan(&self, uid: Uid) -> Outcome {
        let result = self.orphan_dependents(&uid).await;
        outcome(&uid, result)
    }

    /// Returns the kind of an object.
    fn kind(&self, at: &Coordinates) -> Result<Arc<Kind>, Unfinished> {
        self.kind_of(&at.api_version, &at.kind)
    }

    fn kind_of(&self, api_version: &str, kind: &str) -> Result<Arc<Kind>, Unfinished> {
        let unknown =
            || Unfinished::UnknownKind { api_version: api_version.to_owned(), kind: kind.to_owned() };
        self.objects.kinds().find(api_version, kind).cloned().ok_or_else(unknown)
    }

    /// Reads the newest metadata of the object with this uid; `None` if it does not exist there.
    async fn read(&self, uid: &Uid, at: &Coordinates) -> Result<Option<(Arc<Kind>, Metadata)>, Unfinished> {
        let kind = self.kind(at)?;
        if kind.is_namespaced && at.namespace.is_empty() {
            return Err(Unfinished::OwnerInNamespace);
        }
        let namespace = if kind.is_namespaced { at.namespace.as_str() } else { "" };
        let object = kind.read(&self.client, namespace, &at.name).await?;
        Ok(object.filter(|object| object.uid == **uid).map(|object| (kind, object)))
    }
}

fn outcome(uid: &Uid, result: Result<(), Unfinished>) -> Outcome {
    match result {
        Ok(()) | Err(Unfinished::OwnerInNamespace) => Outcome::Done,
        Err(failure) => {
            tracing::debug!(%uid, "an object is not collected yet: {failure}");
            Outcome::Failed
        }
    }
}

// === impl ObservedGraph ===

impl ObservedGraph {
    /// Creates an empty graph.
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            graph: Mutex::default(),
            deletions: Queue::new(),
            orphans: Queue::new(),
            parked: Mutex::default(),
            findings: Findings::default(),
        })
    }

    /// Changes the graph, and has examined what the change concerns.
    fn change<T>(&self, change: impl FnOnce(&mut Graph, &mut Effects) -> T) -> T {
        let mut effects = Effects::default();
        let result = change(&mut self.graph(), &mut effects);
        for uid in effects.delete {
            self.deletions.add(uid);
        }
        for uid in effects.orphan {
            self.orphans.add(uid);
        }
        for reference in effects.misplaced {
            self.findings.add(Finding::Elsewhere(reference));
        }
        result
    }

    /// Notes that an owner, of which only references are known, is not where they say.
    fn note_absence(&self, owner: &Uid, at: &Coordinates) {
        let references = self.graph().references(owner, at, MAX_REFERENCES);
        for reference in references {
            self.findings.add(Finding::Absent(reference));
        }
    }

    fn graph(&self) -> MutexGuard<'_, Graph> {
        self.graph.lock()
    }

    fn parked(&self) -> MutexGuard<'_, HashSet<Uid>> {
        self.parked.lock()
    }
}

impl Observer for ObservedGraph {
    fn replaced(&self, kind: &Arc<Kind>, objects: &[Metadata]) {
        self.change(|graph, effects| graph.replace(kind, objects, effects));
    }

    fn changed(&self, kind: &Arc<Kind>, object: &Metadata) {
        self.change(|graph, effects| graph.observe(kind, object, effects));
    }

    fn removed(&self, _kind: &Arc<Kind>, object: &Metadata) {
        self.change(|graph, effects| graph.remove(&object.uid, effects));
    }

    fn ended(&self, kind: &Arc<Kind>) {
        self.graph().forget(kind);
    }

    fn kinds_changed(&self) {
        for uid in std::mem::take(&mut *self.parked()) {
            self.deletions.add(uid);
        }
    }
}

/// Time between two looks for dependents of an object that is about to lose them.
const SETTLING: Duration = Duration::from_millis(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_is_released_although_the_kind_of_a_dependent_has_just_ended() {
        let unknown = Unfinished::UnknownKind { api_version: "a/v1".to_owned(), kind: "B".to_owned() };
        assert_eq!(outcome(&"u".into(), Err(unknown)), Outcome::Failed, "it is tried again");
        assert_eq!(outcome(&"u".into(), Err(Unfinished::OwnerInNamespace)), Outcome::Done);
    }
}
