//! The generic store: create, read, update, delete, list and watch of any resource.
//!
//! One concrete type for all resources: what is special about one is in its [`ResourceType`] and strategy.
//!
//! | module | what lives there |
//! |---|---|
//! | `keys` | names and namespaces to keys |
//! | `read` | get, list, watch; field selectors |
//! | `create` | create, and what every creation shares |
//! | `update` | update, create on update, deletion by removing the last finalizer |
//! | `rules` | what differs between an update of the main resource and of a subresource |
//! | `delete`, `deletion` | delete; how one state of an object is to be deleted |
//! | `collection` | delete many |
//! | `hooks` | what else happens around writes: allocators |
//! | `dry_run` | what a write would do, without it |
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/registry/generic/registry.Store`.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::Value;

use crate::api::{ErrorList, GroupResource, GroupVersionKind, Object, Reason, Scope, StatusError};
use crate::codec::stored;
use crate::context::RequestContext;
use crate::resource::{ObjectStrategy, ResourceType, TableColumn};
use crate::rest::Storage;
use crate::schema::Schema;
use crate::storage::{Interface, NewValue, StoredObject};

use super::errors::{StoreOperation, Verb};

mod collection;
mod create;
mod delete;
mod deletion;
mod dry_run;
mod generate_name;
mod hooks;
mod keys;
mod read;
mod rules;
mod update;

#[cfg(test)]
mod tests;

pub use create::new_uid;
pub use generate_name::generate_name;
pub use hooks::{FinishHook, StoreHooks};
pub(super) use read::check_field_selector;
pub use rules::{MainRules, StatusRules, UpdateRules};

/// The store of one resource.
pub struct Store {
    resource: Arc<ResourceType>,
    storage: Arc<dyn Interface>,
    /// Where all keys of the resource begin, without the slash at the end: `/registry/pods`.
    root: String,
    options: StoreOptions,
    hooks: OnceLock<Arc<dyn StoreHooks>>,
    blank_status: OnceLock<Option<Value>>,
}

/// What an operator may set of a store.
#[derive(Clone, Copy, Debug)]
pub struct StoreOptions {
    /// Removes objects by themselves so many seconds after each write; `None` is as the resource says
    /// (`--event-ttl` sets it for events).
    pub time_to_live_seconds: Option<u64>,
    /// How many deletions of one `deletecollection` run at a time; at least 1.
    pub delete_collection_workers: usize,
    /// Whether a garbage collector runs: without one, its finalizers would never be removed.
    pub garbage_collection: bool,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self { time_to_live_seconds: None, delete_collection_workers: 8, garbage_collection: true }
    }
}

// === impl Store ===

impl Store {
    /// A store of this resource's objects below `prefix` (`/registry`).
    pub fn new(resource: Arc<ResourceType>, storage: Arc<dyn Interface>, prefix: &str) -> Arc<Self> {
        Self::with_options(resource, storage, prefix, StoreOptions::default())
    }

    /// The same, with what the operator set.
    pub fn with_options(
        resource: Arc<ResourceType>,
        storage: Arc<dyn Interface>,
        prefix: &str,
        options: StoreOptions,
    ) -> Arc<Self> {
        let root = format!("{}/{}", prefix.trim_end_matches('/'), resource.storage_prefix);
        Arc::new(Self {
            resource,
            storage,
            root,
            options,
            hooks: OnceLock::new(),
            blank_status: OnceLock::new(),
        })
    }

    /// The resource.
    pub fn resource(&self) -> &Arc<ResourceType> {
        &self.resource
    }

    /// The storage below.
    pub fn storage(&self) -> &Arc<dyn Interface> {
        &self.storage
    }

    /// Attaches what else happens around writes, once, before the store is served.
    ///
    /// # Errors
    /// Gives the hooks back when the store has some already.
    pub fn attach_hooks(&self, hooks: Arc<dyn StoreHooks>) -> Result<(), Arc<dyn StoreHooks>> {
        self.hooks.set(hooks)
    }

    /// A stored object as an in-flight one, `metadata.resourceVersion` included.
    ///
    /// # Errors
    /// The stored value cannot be read: 500.
    pub fn read(&self, entry: &StoredObject) -> Result<Object, StatusError> {
        stored::decode(&entry.json).map_err(|error| {
            StatusError::internal(format!("the stored value of {} cannot be read: {error}", entry.key))
        })
    }

    fn strategy(&self) -> &dyn ObjectStrategy {
        self.resource.strategy.as_ref()
    }

    /// An object as it is handed to storage: encoded once, its attributes extracted once.
    fn new_value(&self, object: &Object) -> NewValue {
        NewValue { bytes: stored::encode(object), attributes: self.resource.attributes(object) }
    }

    fn time_to_live(&self) -> Option<Duration> {
        self.options.time_to_live_seconds.or(self.resource.time_to_live_seconds).map(Duration::from_secs)
    }

    /// The status of an object nobody has reported on yet: what conforming adds to an empty object, or nothing.
    fn blank_status(&self) -> Option<&Value> {
        let make = || {
            let mut blank = self.resource.new_object().into_value();
            self.resource.schema().conform(&mut blank, &mut Vec::new()).ok()?;
            blank.get("status").cloned()
        };
        self.blank_status.get_or_init(make).as_ref()
    }

    /// What the schema itself finds wrong. Kubernetes' own kinds have code for this instead.
    fn schema_errors(&self, object: &mut Object) -> ErrorList {
        let schema = self.resource.schema();
        if !schema.has_rules() {
            return ErrorList::default();
        }
        let value = Value::Object(std::mem::take(&mut object.0));
        let errors = schema.validate(&value);
        *object = Object::from_value(value).unwrap_or_default();
        errors
    }

    fn operation<'a>(
        &self,
        context: &RequestContext,
        verb: Verb,
        name: &'a str,
        key: &'a str,
    ) -> StoreOperation<'a> {
        StoreOperation { verb, resource: self.named(context), name, key }
    }

    /// The resource as messages to this client name it.
    fn named(&self, context: &RequestContext) -> GroupResource {
        context.named(self.resource.group_resource())
    }
}

impl Storage for Store {
    fn group_resource(&self) -> GroupResource {
        self.resource.group_resource()
    }

    fn kind(&self) -> GroupVersionKind {
        self.resource.kind
    }

    fn scope(&self) -> Scope {
        self.resource.scope
    }

    fn schema(&self) -> Schema {
        self.resource.schema()
    }

    fn apply_defaults(&self, object: &mut Object) {
        self.strategy().apply_defaults(object);
    }

    fn columns(&self) -> Arc<[TableColumn]> {
        self.resource.columns.clone()
    }
}

fn set_resource_version(object: &mut Object, revision: u64) {
    object.metadata_mut().insert("resourceVersion".to_owned(), revision.to_string().into());
}

/// The revision an object claims to be of; 0 when it claims none.
fn claimed_revision(object: &Object) -> Result<u64, StatusError> {
    match object.resource_version() {
        "" => Ok(0),
        text => text.parse().map_err(|_| {
            // The words, and the code without a reason, are kube-apiserver's.
            let mut failure = StatusError::new(
                Reason::Unknown,
                format!("strconv.ParseUint: parsing {text:?}: invalid syntax"),
            );
            failure.code = 500;
            failure
        }),
    }
}
