//! Whether an object is deleted, and how.

use std::sync::Arc;

use crate::controllers::client::{Failure, Propagation};
use crate::controllers::kinds::Kind;
use crate::controllers::metadata::{FOREGROUND, Metadata, ORPHAN, OwnerReference};

use super::graph::Uid;
use super::{GarbageCollector, Unfinished};

/// The owners of an object, by their state.
#[derive(Default)]
struct Owners {
    /// Those that exist.
    solid: Vec<OwnerReference>,
    /// Those that do not exist.
    dangling: Vec<OwnerReference>,
    /// Those that wait until their dependents are deleted.
    waiting: Vec<OwnerReference>,
}

// === impl GarbageCollector ===

impl GarbageCollector {
    /// Deletes an object if none of its owners exists. An object that waits for its dependents is released when they are
    /// gone. A virtual node becomes one of an object, or its absence is noted.
    pub(super) async fn delete_if_unowned(&self, uid: &Uid) -> Result<(), Unfinished> {
        let Some(state) = self.graph.graph().state(uid) else { return Ok(()) };
        if state.is_being_deleted && !state.deletes_dependents {
            return Ok(());
        }
        let mut at = state.coordinates;
        if state.is_virtual && !self.kind(&at)?.is_namespaced {
            self.graph.graph().move_to_cluster(uid);
            at.namespace.clear();
        }
        let found = self.read(uid, &at).await;
        if let Ok(None) | Err(Unfinished::OwnerInNamespace) = found {
            self.graph.note_absence(uid, &at);
        }
        let Some((kind, object)) = found? else {
            self.graph.change(|graph, effects| graph.confirm_absence(uid, &at, effects));
            return Ok(());
        };
        if state.is_virtual {
            let is_virtual = |state: super::graph::NodeState| state.is_virtual;
            self.graph.change(|graph, effects| {
                // If it was observed in the meantime, its state is newer.
                if graph.state(uid).is_some_and(is_virtual) {
                    graph.observe(&kind, &object, effects);
                }
            });
        }
        if state.deletes_dependents && object.waits_for(FOREGROUND) {
            return self.release_if_alone(uid, &kind, &object).await;
        }
        if object.owner_references.is_empty() {
            return Ok(());
        }
        self.delete_unowned(uid, &kind, &object).await
    }

    /// Deletes an object that has references to owners, if none of those exists.
    async fn delete_unowned(&self, uid: &Uid, kind: &Arc<Kind>, object: &Metadata) -> Result<(), Unfinished> {
        let owners = self.classify(object).await?;
        if !owners.solid.is_empty() {
            // Owners that wait would wait for ever for an object that stays.
            let lost: Vec<&str> =
                owners.dangling.iter().chain(&owners.waiting).map(|owner| owner.uid.as_str()).collect();
            return self.remove_owners(kind, object, &lost).await;
        }
        let has_dependents = !self.graph.graph().dependents(uid).is_empty();
        let propagation = if !owners.waiting.is_empty() && has_dependents {
            if self.graph.graph().has_waiting_dependent(uid) {
                // The owners may be a cycle, of which each would wait for the next one.
                self.unblock_owners(kind, object).await?;
                let newest = kind.read(&self.client, &object.namespace, &object.name).await?;
                let Some(newest) = newest.filter(|newest| newest.uid == object.uid) else { return Ok(()) };
                return self.delete(kind, &newest, Propagation::Foreground).await;
            }
            Propagation::Foreground
        } else if object.has_finalizer(ORPHAN) {
            Propagation::Orphan
        } else if object.has_finalizer(FOREGROUND) {
            Propagation::Foreground
        } else {
            Propagation::Background
        };
        self.delete(kind, object, propagation).await
    }

    /// Releases an object that waits for its dependents if none blocks it; otherwise has those examined.
    async fn release_if_alone(
        &self,
        uid: &Uid,
        kind: &Arc<Kind>,
        object: &Metadata,
    ) -> Result<(), Unfinished> {
        let blocking = self.graph.graph().blocking_dependents(uid);
        if blocking.is_empty() {
            return self.remove_finalizer(kind, object, FOREGROUND).await;
        }
        for dependent in blocking {
            let waits = self.graph.graph().state(&dependent).is_some_and(|state| state.deletes_dependents);
            if !waits {
                self.graph.deletions.add(dependent);
            }
        }
        Ok(())
    }

    /// Reads the owners of an object.
    async fn classify(&self, object: &Metadata) -> Result<Owners, Unfinished> {
        let mut owners = Owners::default();
        for reference in &object.owner_references {
            let kind = self.kind_of(&reference.api_version, &reference.kind)?;
            if kind.is_namespaced && object.namespace.is_empty() {
                return Err(Unfinished::OwnerInNamespace);
            }
            let namespace = if kind.is_namespaced { object.namespace.as_str() } else { "" };
            let owner = kind.read(&self.client, namespace, &reference.name).await?;
            let place = match owner.filter(|owner| owner.uid == reference.uid) {
                None => &mut owners.dangling,
                Some(owner) if owner.waits_for(FOREGROUND) => &mut owners.waiting,
                Some(_) => &mut owners.solid,
            };
            place.push(reference.clone());
        }
        Ok(owners)
    }

    /// Deletes an object in this state, or in a later one that has the same owners.
    async fn delete(
        &self,
        kind: &Arc<Kind>,
        object: &Metadata,
        propagation: Propagation,
    ) -> Result<(), Unfinished> {
        let path = kind.path(&object.namespace, &object.name);
        let conflict = match self.client.delete(&path, object, propagation).await {
            Ok(()) => return Ok(()),
            Err(failure) if failure.is_not_found() => return Ok(()),
            Err(failure) if failure.is_conflict() => failure,
            Err(failure) => return Err(failure.into()),
        };
        let newest = kind.read(&self.client, &object.namespace, &object.name).await?;
        match newest.filter(|newest| newest.uid == object.uid) {
            None => Ok(()),
            Some(newest) if newest.owner_references == object.owner_references => {
                let any_state = Metadata { resource_version: String::new(), ..newest };
                ignore_missing(self.client.delete(&path, &any_state, propagation).await)
            }
            Some(_) => Err(conflict.into()),
        }
    }
}

fn ignore_missing(result: Result<(), Failure>) -> Result<(), Unfinished> {
    match result {
        Err(failure) if !failure.is_not_found() => Err(failure.into()),
        _ => Ok(()),
    }
}
