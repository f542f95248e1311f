//! The policy in force, and its changes.
//!
//! Changes arrive twice: from the writes of this server, and from informers. The revision of each object decides which one
//! is newer; the revision of a removed one is kept until the informer has passed it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use parking_lot::{Mutex, MutexGuard};
use registry_core::storage::Revision;

use super::policy::{Binding, Policy};
use super::rules::Role;

/// The policy in force. Readers take no lock.
#[derive(Default)]
pub(in crate::authorization) struct RbacIndex {
    published: ArcSwap<Policy>,
    pending: Mutex<Pending>,
}

/// The policy with the changes that are not in force yet.
#[derive(Default)]
struct Pending {
    policy: Policy,
    /// The revisions of the objects in the policy.
    present: HashMap<Arc<str>, Revision>,
    /// The last known revisions of objects that were removed a short time ago.
    gone: HashMap<Arc<str>, Revision>,
    /// The objects that the last lists do not have.
    missing: Vec<Arc<str>>,
}

/// An object of the policy: its key in the store, its revision, and what was made of it.
pub(super) struct Item {
    /// The key in the store.
    pub(super) key: Arc<str>,
    /// The revision of the state.
    pub(super) revision: Revision,
    /// The role or the binding.
    pub(super) content: Content,
}

/// A role or a binding, or the fact that it is gone.
pub(super) enum Content {
    /// A role, by its key in the policy; `None` if it is gone.
    Role(Arc<str>, Option<Arc<Role>>),
    /// A binding; `None` if it is gone.
    Binding(Option<Arc<Binding>>),
}

// === impl RbacIndex ===

impl RbacIndex {
    /// Returns the policy in force.
    pub(super) fn policy(&self) -> Guard<Arc<Policy>> {
        self.published.load()
    }

    /// Whether this state of an object, or a newer one, has been applied: what this server wrote comes from the informer again.
    pub(super) fn knows(&self, key: &str, revision: Revision) -> bool {
        let pending = self.pending();
        let is_known =
            |states: &HashMap<Arc<str>, Revision>| states.get(key).is_some_and(|known| *known >= revision);
        is_known(&pending.present) || is_known(&pending.gone)
    }

    /// Applies a change, unless a newer one of the same object is known. It is in force when it is [published](Self::publish).
    pub(super) fn apply(&self, item: Item) {
        self.pending().apply(item);
    }

    /// Applies a list of all objects whose keys start with `prefix`, of which `items` are those that it does not
    /// [know](Self::knows). Those that are not in it are removed as soon as the revision of the list is
    /// [known](Self::reached): a write of this server may be newer.
    pub(super) fn replace(&self, prefix: &str, keys: &HashSet<&str>, items: Vec<Item>) {
        let mut pending = self.pending();
        let is_missing = |key: &Arc<str>| key.starts_with(prefix) && !keys.contains(&**key);
        let missing: Vec<Arc<str>> = pending.present.keys().filter(|key| is_missing(key)).cloned().collect();
        pending.missing.extend(missing);
        for item in items {
            pending.apply(item);
        }
    }

    /// Puts all changes in force.
    pub(super) fn publish(&self) {
        // The lock is held until the state is stored, so that an older one never replaces it.
        let pending = self.pending();
        self.published.store(Arc::new(pending.policy.clone()));
    }

    /// All changes up to `revision` of the objects whose keys start with `prefix` have arrived: removes those that are gone,
    /// and forgets those that were removed before. `gone` makes the content of an object that does not exist.
    pub(super) fn reached(&self, prefix: &str, revision: Revision, gone: impl Fn(&str) -> Content) {
        let mut pending = self.pending();
        pending.gone.retain(|key, removed| *removed > revision || !key.starts_with(prefix));
        let (missing, others) = std::mem::take(&mut pending.missing)
            .into_iter()
            .partition::<Vec<_>, _>(|key| key.starts_with(prefix));
        pending.missing = others;
        for key in &missing {
            // A newer one was written after the list.
            if pending.present.get(key).is_some_and(|present| *present <= revision) {
                pending.present.remove(key);
                pending.policy.set(key, gone(key));
            }
        }
        if !missing.is_empty() {
            self.published.store(Arc::new(pending.policy.clone()));
        }
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock()
    }
}

// === impl Pending ===

impl Pending {
    fn apply(&mut self, item: Item) {
        let Item { key, revision, content } = item;
        if self.gone.get(&key).is_some_and(|gone| *gone >= revision) {
            return;
        }
        let known = self.present.get(&key).copied();
        if content.is_gone() {
            // The last state of a removed object may have the revision of its last change.
            if known.is_some_and(|known| known > revision) {
                return;
            }
            self.present.remove(&key);
            self.gone.insert(key.clone(), revision);
        } else {
            if known.is_some_and(|known| known >= revision) {
                return;
            }
            self.gone.remove(&key);
            self.present.insert(key.clone(), revision);
        }
        self.policy.set(&key, content);
    }
}

// === impl Policy ===

impl Policy {
    /// Sets what an object puts in force.
    fn set(&mut self, key: &Arc<str>, content: Content) {
        match content {
            Content::Role(name, role) => self.set_role(&name, role),
            Content::Binding(binding) => self.set_binding(key, binding),
        }
    }
}

// === impl Content ===

impl Content {
    fn is_gone(&self) -> bool {
        matches!(self, Self::Role(_, None) | Self::Binding(None))
    }
}
