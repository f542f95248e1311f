//! Brings the changes of one kind of roles or bindings into the index.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use registry_core::api::Object;
use registry_core::codec::json::Parts;
use registry_core::registry::{
    Informer, InformerChange, InformerHandler, InformerTask, InstalledApi, Store, StoreHooks,
};
use registry_core::resource::{Resource, ResourceDescription};
use registry_core::storage::{Revision, StoredObject};
use resources::api::rbac::clusterrolebindings::ClusterRoleBindings;
use resources::api::rbac::clusterroles::ClusterRoles;
use resources::api::rbac::rolebindings::RoleBindings;
use resources::api::rbac::roles::Roles;
use serde_json::Value;

use super::index::{Content, Item, RbacIndex};
use super::policy::{Binding, role_key};
use super::rules::Role;

/// The kinds of the policy.
const KINDS: [(&ResourceDescription, bool); 4] = [
    (ClusterRoles::TYPE, true),
    (Roles::TYPE, true),
    (ClusterRoleBindings::TYPE, false),
    (RoleBindings::TYPE, false),
];

/// The fields that a role or a binding is compiled from: all but the managers of fields, which are most of it.
const PARTS: Parts = Parts::Only(&[
    &["metadata", "name"],
    &["metadata", "namespace"],
    &["rules"],
    &["roleRef"],
    &["subjects"],
]);

/// Follows the objects of one kind.
pub(in crate::authorization) struct RbacFollower {
    index: Arc<RbacIndex>,
    store: Arc<Store>,
    /// The prefix of the kind's keys, with a trailing slash.
    prefix: String,
    is_role: bool,
}

// === impl RbacFollower ===

impl RbacFollower {
    /// Returns the informers that keep an index equal to what is stored, and attaches hooks that bring the writes of this
    /// server into it at once.
    pub(in crate::authorization) fn follow(
        installed: &InstalledApi,
        index: &Arc<RbacIndex>,
    ) -> Vec<InformerTask> {
        let followed = KINDS.iter().filter_map(|(resource, is_role)| {
            let store = installed.store(resource)?;
            let prefix = format!("{}/", store.root());
            let index = index.clone();
            let follower = Arc::new(Self { index, store: store.clone(), prefix, is_role: *is_role });
            store.attach_hooks(&(follower.clone() as Arc<dyn StoreHooks>));
            Some(Informer::new(store, follower).into_task())
        });
        followed.collect()
    }

    /// Returns what an object puts in force. One that cannot be decoded allows nothing.
    fn item(&self, stored: &StoredObject) -> Item {
        let (key, revision) = (stored.key.clone(), stored.revision);
        let decoded = self.store.read_parts(stored, PARTS);
        let decoded = decoded
            .inspect_err(|failure| tracing::warn!("an object of the RBAC policy is ignored: {failure}"));
        let content = match decoded {
            Ok(object) => self.content(&key, &object),
            Err(_) => self.gone(&key),
        };
        Item { key, revision, content }
    }

    fn content(&self, key: &str, object: &Object) -> Content {
        if !self.is_role {
            let binding = Binding::new(object, self.store.resource().is_namespaced());
            return Content::Binding(Some(Arc::new(binding)));
        }
        let rules = object.get(&["rules"]).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        Content::Role(self.role_key(key), Some(Arc::new(Role::new(rules))))
    }

    fn gone(&self, key: &str) -> Content {
        if self.is_role { Content::Role(self.role_key(key), None) } else { Content::Binding(None) }
    }

    /// Returns the key of a role in the policy: the part of its key in the store that names it.
    fn role_key(&self, key: &str) -> Arc<str> {
        let name = key.strip_prefix(&self.prefix).unwrap_or_default();
        if self.store.resource().is_namespaced() { name.into() } else { role_key("", name).into() }
    }

    fn apply(&self, stored: &StoredObject) {
        if !self.index.knows(&stored.key, stored.revision) {
            self.index.apply(self.item(stored));
        }
    }

    fn remove(&self, last: &StoredObject) {
        let content = self.gone(&last.key);
        self.index.apply(Item { key: last.key.clone(), revision: last.revision, content });
    }
}

impl InformerHandler for RbacFollower {
    fn replaced(&self, objects: Vec<StoredObject>) {
        let keys: HashSet<&str> = objects.iter().map(|object| &*object.key).collect();
        let news = objects.iter().filter(|object| !self.index.knows(&object.key, object.revision));
        let items = news.map(|object| self.item(object)).collect();
        self.index.replace(&self.prefix, &keys, items);
    }

    fn changed(&self, change: InformerChange) {
        match &change {
            InformerChange::Added(object) | InformerChange::Modified(object) => self.apply(object),
            InformerChange::Deleted(last) => self.remove(last),
        }
    }

    fn publish(&self) {
        self.index.publish();
    }

    fn reached(&self, revision: Revision) {
        self.index.reached(&self.prefix, revision, |key| self.gone(key));
    }
}

#[async_trait]
impl StoreHooks for RbacFollower {
    fn after_create(&self, object: &StoredObject) {
        self.apply(object);
        self.index.publish();
    }

    fn after_update(&self, object: &StoredObject) {
        self.apply(object);
        self.index.publish();
    }

    async fn after_delete(&self, last: &StoredObject) {
        self.remove(last);
        self.index.publish();
    }
}
