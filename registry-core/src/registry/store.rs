//! The generic store: create, read, update, delete, list and watch of any resource.
//!
//! The type is the same for all resources; everything specific to a resource is in its [`ResourceType`] and strategy.
//!
//! | module | contents |
//! |---|---|
//! | `keys` | conversion of names and namespaces to keys |
//! | `read` | get, list, watch; field selectors |
//! | `create` | create, and the steps common to all creations |
//! | `update` | update, create on update, deletion by removing the last finalizer |
//! | `validate` | validation of prepared writes |
//! | `rules` | differences between updates of the main resource and of subresources |
//! | `delete`, `deletion` | delete; the deletion decision for one state of an object |
//! | `collection` | deletecollection |
//! | `hooks` | additional actions around writes, such as allocators |
//! | `dry_run` | writes without storing |
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/registry/generic/registry.Store`.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use serde_json::Value;

use crate::api::{GetOptions, GroupResource, GroupVersionKind, Object, Reason, Scope, StatusError, go_text};
use crate::codec::json::Parts;
use crate::codec::{DecodeError, stored};
use crate::context::RequestContext;
use crate::features::{Feature, Features};
use crate::resource::{GatedField, ObjectStrategy, ResourceType, TableColumns, with_unstored_defaults};
use crate::rest::{Answer, Getter as _, Storage};
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
mod validate;

#[cfg(test)]
mod tests;

pub(super) use collection::CollectionDeletion;
pub use create::new_uid;
pub use generate_name::generate_name;
pub use hooks::{FinishHook, PreparedWrite, StoreHooks};
pub(super) use read::check_field_selector;
pub use rules::{MainRules, StatusRules, UpdateRules};
pub use update::RuledStore;
pub(super) use validate::Write;

/// The store of one resource.
pub struct Store {
    resource: Arc<ResourceType>,
    storage: Arc<dyn Interface>,
    /// Prefix of all keys of the resource, without a trailing slash: `/registry/pods`.
    root: String,
    options: StoreOptions,
    hooks: ArcSwap<Vec<Arc<dyn StoreHooks>>>,
    blank_status: OnceLock<Option<Value>>,
    /// The fields whose features are disabled.
    disabled_fields: Box<[GatedField]>,
}

/// Store options set by the operator.
#[derive(Clone, Copy, Debug)]
pub struct StoreOptions {
    /// Time after each write at which an object expires, in seconds; `None` uses the resource's default (`--event-ttl`
    /// sets it for events).
    pub time_to_live_seconds: Option<u64>,
    /// Maximum number of concurrent deletions of a `deletecollection`; at least 1.
    pub delete_collection_workers: usize,
    /// The enabled features.
    pub features: Features,
    /// Whether a garbage collector runs: without one, its finalizers would never be removed.
    pub garbage_collection: bool,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            time_to_live_seconds: None,
            delete_collection_workers: 8,
            features: Features::default(),
            garbage_collection: true,
        }
    }
}

// === impl Store ===

impl Store {
    /// Creates a store of this resource's objects below `prefix` (`/registry`).
    pub fn new(resource: Arc<ResourceType>, storage: Arc<dyn Interface>, prefix: &str) -> Arc<Self> {
        Self::with_options(resource, storage, prefix, StoreOptions::default())
    }

    /// Like [`new`](Self::new), with the operator's options.
    pub fn with_options(
        resource: Arc<ResourceType>,
        storage: Arc<dyn Interface>,
        prefix: &str,
        options: StoreOptions,
    ) -> Arc<Self> {
        let root = format!("{}/{}", prefix.trim_end_matches('/'), resource.storage_prefix);
        let gated = resource.strategy.gated_fields().into_iter();
        let disabled_fields = gated.filter(|field| !field.is_enabled(options.features)).collect();
        Arc::new(Self {
            resource,
            storage,
            root,
            options,
            hooks: ArcSwap::default(),
            blank_status: OnceLock::new(),
            disabled_fields,
        })
    }

    /// Removes the fields whose features are disabled, unless the stored object has them.
    fn drop_disabled_fields(&self, new: &mut Object, old: Option<&Object>) {
        for field in &self.disabled_fields {
            field.drop_from(new, old);
        }
    }

    /// Returns the resource.
    pub fn resource(&self) -> &Arc<ResourceType> {
        &self.resource
    }

    /// Returns the storage.
    pub fn storage(&self) -> &Arc<dyn Interface> {
        &self.storage
    }

    /// Returns the prefix of all keys, without a trailing slash, for example `/registry/pods`.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// Returns a stored object from the cache; if it is missing there, reads consistently. `None` if there is none.
    ///
    /// # Errors
    /// Fails if the object cannot be read.
    pub async fn find(
        &self,
        context: &RequestContext,
        name: &str,
    ) -> Result<Option<StoredObject>, StatusError> {
        for options in [GetOptions { resource_version: Some(0) }, GetOptions::default()] {
            match self.get(context, name, &options).await {
                Ok(Answer::Stored(entry)) => return Ok(Some(entry)),
                // A store answers with what is stored.
                Ok(Answer::Object(_) | Answer::Success(_)) => {}
                Err(failure) if failure.is_not_found() => {}
                Err(failure) => return Err(failure),
            }
        }
        Ok(None)
    }

    /// Decodes a stored object, including `metadata.resourceVersion`.
    ///
    /// # Errors
    /// 500 if the stored value cannot be decoded.
    pub fn read(&self, entry: &StoredObject) -> Result<Object, StatusError> {
        stored::decode(entry.json()).map_err(|error| unreadable(entry, &error))
    }

    /// Decodes parts of a stored object.
    ///
    /// # Errors
    /// 500 if the stored value cannot be decoded.
    pub fn read_parts(&self, entry: &StoredObject, parts: Parts) -> Result<Object, StatusError> {
        stored::decode_parts(entry.json(), parts).map_err(|error| unreadable(entry, &error))
    }

    fn strategy(&self) -> &dyn ObjectStrategy {
        self.resource.strategy.as_ref()
    }

    /// Prepares an object for storage: encodes it and extracts its attributes once.
    fn new_value(&self, object: &Object) -> NewValue {
        let schema = self.resource.schema();
        let bytes = stored::encode(object, schema.field_order());
        let shown = with_unstored_defaults(&self.resource, object, bytes.len());
        NewValue {
            shown: shown.as_ref().map(|shown| stored::encode(shown, schema.field_order())),
            attributes: self.resource.attributes(shown.as_ref().unwrap_or(object)),
            bytes,
        }
    }

    fn time_to_live(&self) -> Option<Duration> {
        self.options.time_to_live_seconds.or(self.resource.time_to_live_seconds).map(Duration::from_secs)
    }

    /// Returns the initial status of an object: what conforming adds to an empty object, or nothing.
    fn blank_status(&self) -> Option<&Value> {
        let make = || {
            let mut blank = self.resource.new_object().into_value();
            self.resource.schema().conform(&mut blank, &mut Vec::new()).ok()?;
            blank.get("status").cloned()
        };
        self.blank_status.get_or_init(make).as_ref()
    }

    fn operation<'a>(
        &self,
        context: &RequestContext,
        verb: Verb,
        name: &'a str,
        key: &'a str,
    ) -> StoreOperation<'a> {
        let corrupt_key = self.deletes_corrupt_objects().then(|| {
            let prefix = self.root.len() - self.resource.storage_prefix.len() - 1;
            key.get(prefix..).unwrap_or_default()
        });
        StoreOperation { verb, resource: self.named(context), name, key, corrupt_key }
    }

    /// Whether objects can be deleted whose stored values cannot be read.
    const fn deletes_corrupt_objects(&self) -> bool {
        self.options.features.contains(Feature::AllowUnsafeMalformedObjectDeletion)
    }

    /// Returns the resource as named in messages to this client.
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

    fn columns(&self) -> TableColumns {
        self.resource.columns.clone()
    }
}

fn unreadable(entry: &StoredObject, error: &DecodeError) -> StatusError {
    StatusError::internal(format!("the stored value of {} cannot be read: {error}", entry.key))
}

fn set_resource_version(object: &mut Object, revision: u64) {
    object.metadata_mut().insert("resourceVersion".to_owned(), revision.to_string().into());
}

/// Returns the object's resource version; 0 if it has none.
fn claimed_revision(object: &Object) -> Result<u64, StatusError> {
    match object.resource_version() {
        "" => Ok(0),
        // kube-apiserver gives no reason either.
        text => {
            go_text::parse_uint(text).map_err(|error| StatusError::new(Reason::Unknown, error.to_string()))
        }
    }
}
