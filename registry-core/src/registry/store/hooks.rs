//! Additional actions around the writes of a store: allocators of addresses and ports, policy caches.
//!
//! Kubernetes concept: `Store.BeginCreate`, `BeginUpdate`, `AfterCreate`, `AfterUpdate`, `AfterDelete`.

use std::sync::Arc;

use async_trait::async_trait;
use futures::future::join_all;

use crate::api::{ErrorList, Object, StatusError};
use crate::context::RequestContext;
use crate::storage::StoredObject;

use super::Store;

/// Hooks around the writes of a store. Every hook has a default that does nothing. A store may have several: they are
/// called in the order in which they were attached, and if one refuses a write, the reservations of those before it are
/// released.
///
/// The `begin` hooks run inside the store's retry loop, before validation, and may run several times for one request;
/// their reservations are committed or released by the [`FinishHook`] that they return. The `after` hooks run once for
/// each committed change (never for a dry run or an update without changes). They must not block and must spawn
/// long-running work: the change is committed even if the request is abandoned.
#[async_trait]
pub trait StoreHooks: Send + Sync + 'static {
    /// Called before a new object is validated; may modify it.
    ///
    /// # Errors
    /// Returns an error to refuse the creation.
    async fn begin_create(
        &self,
        _context: &RequestContext,
        _object: &mut Object,
        _dry_run: bool,
    ) -> Result<Option<Box<dyn FinishHook>>, StatusError> {
        Ok(None)
    }

    /// Called before a change is validated; may modify the new object. `is_status`: the write goes through the `status`
    /// subresource.
    ///
    /// # Errors
    /// Returns an error to refuse the update.
    async fn begin_update(
        &self,
        _context: &RequestContext,
        _new: &mut Object,
        _old: &Object,
        _is_status: bool,
        _dry_run: bool,
    ) -> Result<Option<Box<dyn FinishHook>>, StatusError> {
        Ok(None)
    }

    /// Called when a prepared object is validated. The errors are reported together with those of the kind's rules.
    ///
    /// # Errors
    /// Fails if the write cannot be checked.
    async fn check(
        &self,
        _context: &RequestContext,
        _write: PreparedWrite<'_>,
    ) -> Result<ErrorList, StatusError> {
        Ok(ErrorList::default())
    }

    /// Called for a prepared object that is valid by all other rules: for questions that only a complete object answers.
    ///
    /// # Errors
    /// Fails if the write cannot be checked.
    async fn check_valid(
        &self,
        _context: &RequestContext,
        _write: PreparedWrite<'_>,
    ) -> Result<ErrorList, StatusError> {
        Ok(ErrorList::default())
    }

    /// Called after an object was created.
    fn after_create(&self, _object: &StoredObject) {}

    /// Called after an object was updated.
    fn after_update(&self, _object: &StoredObject) {}

    /// Called after an object was removed, with its last state. The response waits for it; an abandoned request does not, so
    /// that work after the first wait must be spawned.
    async fn after_delete(&self, _object: &StoredObject) {}
}

/// A write that is about to be validated.
#[derive(Clone, Copy, Debug)]
pub struct PreparedWrite<'a> {
    /// The prepared object.
    pub new: &'a Object,
    /// The stored object; `None` for a creation.
    pub old: Option<&'a Object>,
    /// Whether the write goes through the `status` subresource.
    pub is_status: bool,
}

/// The moment at which hooks check a write.
#[derive(Clone, Copy, Debug)]
pub(super) enum CheckMoment {
    /// With the rules of the kind.
    WithRules,
    /// After them, if all are met.
    AfterRules,
}

/// Commits or releases the reservations of a `begin` hook.
pub trait FinishHook: Send {
    /// Called exactly once: with `true` after the write was committed, with `false` if it was not, because it was
    /// refused, lost a race, was a dry run, or its request was abandoned. Must not block.
    fn finish(self: Box<Self>, committed: bool);
}

/// The hooks of a pending write; if dropped without [`commit`](Self::commit), they are called with `false`, the last one
/// first.
#[derive(Default)]
pub(super) struct Pending(Vec<Box<dyn FinishHook>>);

// === impl Pending ===

impl Pending {
    /// Reports that the write was committed.
    pub(super) fn commit(mut self) {
        for hook in std::mem::take(&mut self.0) {
            hook.finish(true);
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        while let Some(hook) = self.0.pop() {
            hook.finish(false);
        }
    }
}

// === impl Store ===

impl Store {
    /// Attaches hooks around writes, after those that the store has. Writes that have begun do not see them.
    pub fn attach_hooks(&self, hooks: &Arc<dyn StoreHooks>) {
        self.hooks.rcu(|present| present.iter().chain([hooks]).cloned().collect::<Vec<_>>());
    }

    /// Calls `notify` for each of the store's hooks.
    pub(super) fn notify_hooks(&self, notify: impl Fn(&dyn StoreHooks)) {
        for hooks in self.hooks.load().iter() {
            notify(hooks.as_ref());
        }
    }

    /// Notifies the hooks of a committed deletion. All begin at once, so that none is left out if the request is abandoned
    /// while another one waits.
    pub(super) async fn removed(&self, last: &StoredObject) {
        let hooks = self.hooks.load_full();
        join_all(hooks.iter().map(|hooks| hooks.after_delete(last))).await;
    }

    pub(super) async fn begin_create(
        &self,
        context: &RequestContext,
        object: &mut Object,
        dry_run: bool,
    ) -> Result<Pending, StatusError> {
        let mut pending = Pending::default();
        for hooks in self.hooks.load_full().iter() {
            pending.0.extend(hooks.begin_create(context, object, dry_run).await?);
        }
        Ok(pending)
    }

    pub(super) async fn begin_update(
        &self,
        context: &RequestContext,
        new: &mut Object,
        old: &Object,
        is_status: bool,
        dry_run: bool,
    ) -> Result<Pending, StatusError> {
        let mut pending = Pending::default();
        for hooks in self.hooks.load_full().iter() {
            pending.0.extend(hooks.begin_update(context, new, old, is_status, dry_run).await?);
        }
        Ok(pending)
    }

    /// Returns the errors that the hooks have for a write at a moment.
    pub(super) async fn check_by_hooks(
        &self,
        context: &RequestContext,
        write: PreparedWrite<'_>,
        moment: CheckMoment,
    ) -> Result<ErrorList, StatusError> {
        let mut errors = ErrorList::default();
        for hooks in self.hooks.load_full().iter() {
            let found = match moment {
                CheckMoment::WithRules => hooks.check(context, write),
                CheckMoment::AfterRules => hooks.check_valid(context, write),
            };
            errors.append(found.await?);
        }
        Ok(errors)
    }
}
