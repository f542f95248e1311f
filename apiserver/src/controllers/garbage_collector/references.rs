//! Changes of the owners and finalizers of objects.

use std::sync::Arc;

use futures::{StreamExt as _, stream};
use serde_json::{Value, json};

use crate::controllers::kinds::Kind;
use crate::controllers::metadata::{Metadata, ORPHAN, OwnerReference, set};

use super::graph::Uid;
use super::{GarbageCollector, SETTLING, Unfinished, WORKERS};

/// Maximum number of attempts to change an object that others change at the same time.
const ATTEMPTS: usize = 5;

// === impl GarbageCollector ===

impl GarbageCollector {
    /// Removes an object from the owners of its dependents, then releases it.
    pub(super) async fn orphan_dependents(&self, uid: &Uid) -> Result<(), Unfinished> {
        let Some(state) = self.graph.graph().state(uid) else { return Ok(()) };
        let Some((kind, object)) = self.read(uid, &state.coordinates).await? else { return Ok(()) };
        if !object.waits_for(ORPHAN) {
            return Ok(());
        }
        loop {
            // A dependent that was created before the deletion may be about to arrive.
            tokio::time::sleep(SETTLING).await;
            let dependents = self.graph.graph().dependents(uid);
            let mut pending = 0_usize;
            let mut changes = stream::iter(dependents)
                .map(|dependent| self.orphan(dependent, uid))
                .buffer_unordered(WORKERS);
            while let Some(has_changed) = changes.next().await {
                pending += usize::from(has_changed?);
            }
            if pending == 0 {
                return self.remove_finalizer(&kind, &object, ORPHAN).await;
            }
        }
    }

    /// Removes an owner from an object. Returns whether it had the owner.
    async fn orphan(&self, uid: Uid, owner: &Uid) -> Result<bool, Unfinished> {
        let Some(state) = self.graph.graph().state(&uid) else { return Ok(false) };
        let Some((kind, object)) = self.read(&uid, &state.coordinates).await? else { return Ok(false) };
        let has_owner = object.owner_references.iter().any(|reference| *reference.uid == **owner);
        if has_owner {
            self.remove_owners(&kind, &object, &[owner]).await?;
        }
        Ok(has_owner)
    }

    /// Removes owners, by their uids, from an object.
    pub(super) async fn remove_owners(
        &self,
        kind: &Arc<Kind>,
        object: &Metadata,
        owners: &[&str],
    ) -> Result<(), Unfinished> {
        let remaining = |object: &Metadata| -> Option<Value> {
            let references = &object.owner_references;
            let kept = references.iter().filter(|reference| !owners.contains(&reference.uid.as_str()));
            let kept: Vec<&OwnerReference> = kept.collect();
            (kept.len() < references.len()).then(|| json!({"ownerReferences": kept}))
        };
        self.change(kind, object, remaining).await
    }

    /// Makes an object one that none of its owners waits for.
    pub(super) async fn unblock_owners(&self, kind: &Arc<Kind>, object: &Metadata) -> Result<(), Unfinished> {
        let unblocked = |object: &Metadata| -> Option<Value> {
            object.owner_references.iter().any(OwnerReference::blocks).then_some(())?;
            let references = object.owner_references.iter().cloned();
            let unblocked: Vec<OwnerReference> = references
                .map(|reference| OwnerReference { block_owner_deletion: Some(false), ..reference })
                .collect();
            Some(json!({"ownerReferences": unblocked}))
        };
        self.change(kind, object, unblocked).await
    }

    /// Removes a finalizer from an object.
    pub(super) async fn remove_finalizer(
        &self,
        kind: &Arc<Kind>,
        object: &Metadata,
        finalizer: &str,
    ) -> Result<(), Unfinished> {
        let remaining = |object: &Metadata| -> Option<Value> {
            object.has_finalizer(finalizer).then_some(())?;
            let kept: Vec<&String> = object.finalizers.iter().filter(|own| *own != finalizer).collect();
            Some(json!({"finalizers": kept}))
        };
        self.change(kind, object, remaining).await
    }

    /// Changes the metadata of an object by a patch that is made from its state, unless that is `None`.
    async fn change(
        &self,
        kind: &Arc<Kind>,
        object: &Metadata,
        make_patch: impl Fn(&Metadata) -> Option<Value>,
    ) -> Result<(), Unfinished> {
        let path = kind.path(&object.namespace, &object.name);
        let mut state = object.clone();
        for attempt in 1.. {
            let Some(mut patch) = make_patch(&state) else { return Ok(()) };
            set(&mut patch, "uid", state.uid.as_str().into());
            set(&mut patch, "resourceVersion", state.resource_version.as_str().into());
            match self.client.merge(&path, &json!({"metadata": patch})).await {
                Ok(_) => return Ok(()),
                Err(failure) if failure.is_not_found() => return Ok(()),
                Err(failure) if failure.is_conflict() && attempt < ATTEMPTS => {}
                Err(failure) => return Err(failure.into()),
            }
            let newest = kind.read(&self.client, &object.namespace, &object.name).await?;
            let Some(newest) = newest.filter(|newest| newest.uid == object.uid) else { return Ok(()) };
            state = newest;
        }
        Ok(())
    }
}
