//! What else happens around the writes of one store: allocators of addresses and ports, caches of policy.
//!
//! Kubernetes concept: `Store.BeginCreate`, `BeginUpdate`, `AfterCreate`, `AfterUpdate`, `AfterDelete`.

use async_trait::async_trait;

use crate::api::{Object, StatusError};
use crate::context::RequestContext;
use crate::storage::StoredObject;

use super::Store;

/// Hooks around the writes of a store. Every hook has a default that does nothing.
///
/// The `begin` hooks run inside the store's retry, before validation, and may run several times for one
/// request; whatever one of them sets aside is settled by the [`FinishHook`] it returns. The `after` hooks run
/// once for each committed change (never for a dry run or an update that changed nothing), must not block, and
/// spawn what takes time: the change has happened, whoever waits for the answer.
#[async_trait]
pub trait StoreHooks: Send + Sync + 'static {
    /// Before a new object is validated; may fill it in.
    ///
    /// # Errors
    /// Refuses the creation.
    async fn begin_create(
        &self,
        _context: &RequestContext,
        _object: &mut Object,
        _dry_run: bool,
    ) -> Result<Option<Box<dyn FinishHook>>, StatusError> {
        Ok(None)
    }

    /// Before a change is validated; may fill the new object in.
    ///
    /// # Errors
    /// Refuses the update.
    async fn begin_update(
        &self,
        _context: &RequestContext,
        _new: &mut Object,
        _old: &Object,
        _dry_run: bool,
    ) -> Result<Option<Box<dyn FinishHook>>, StatusError> {
        Ok(None)
    }

    /// An object was created.
    fn after_create(&self, _object: &StoredObject) {}

    /// An object was changed.
    fn after_update(&self, _object: &StoredObject) {}

    /// An object was removed; this is its last state.
    fn after_delete(&self, _object: &StoredObject) {}
}

/// Settles what a `begin` hook set aside.
pub trait FinishHook: Send {
    /// Called exactly once: with `true` after the write was committed, with `false` when it was not, whether it
    /// was refused, lost a race, was a dry run, or its request was abandoned. Must not block.
    fn finish(self: Box<Self>, committed: bool);
}

/// A hook that waits for its write; dropped without [`commit`](Self::commit), it is told that there was none.
#[derive(Default)]
pub(super) struct Pending(Option<Box<dyn FinishHook>>);

// === impl Pending ===

impl Pending {
    /// The write has happened.
    pub(super) fn commit(mut self) {
        if let Some(hook) = self.0.take() {
            hook.finish(true);
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(hook) = self.0.take() {
            hook.finish(false);
        }
    }
}

// === impl Store ===

impl Store {
    pub(super) fn hooks(&self) -> Option<&dyn StoreHooks> {
        self.hooks.get().map(AsRef::as_ref)
    }

    pub(super) async fn begin_create(
        &self,
        context: &RequestContext,
        object: &mut Object,
        dry_run: bool,
    ) -> Result<Pending, StatusError> {
        match self.hooks() {
            Some(hooks) => Ok(Pending(hooks.begin_create(context, object, dry_run).await?)),
            None => Ok(Pending::default()),
        }
    }

    pub(super) async fn begin_update(
        &self,
        context: &RequestContext,
        new: &mut Object,
        old: &Object,
        dry_run: bool,
    ) -> Result<Pending, StatusError> {
        match self.hooks() {
            Some(hooks) => Ok(Pending(hooks.begin_update(context, new, old, dry_run).await?)),
            None => Ok(Pending::default()),
        }
    }
}
