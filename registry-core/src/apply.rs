//! Server-side apply and tracking of field ownership.
//!
//! Merging is a pure function of objects and their schema: no storage, no HTTP. Conversions by a webhook, which it may
//! need, are arguments: see `conversions`. A [`FieldManager`] provides the two operations that writes need:
//! [`track_update`](FieldManager::track_update) records which fields a create, update or patch changed, and
//! [`apply`](FieldManager::apply) merges an applied configuration. Both happen before mutating admission, as in
//! Kubernetes: changes made by admission and strategies have no manager.
//!
//! | module | contents |
//! |---|---|
//! | `updating`, `applying` | the two operations |
//! | `element`, `set`, `fields_v1` | paths, sets of them, and their JSON |
//! | `shape` | how a type is treated by apply: as one value, or field by field |
//! | `collect`, `compare`, `merge` | the fields that a value sets; differences; merging and removing |
//! | `conversions` | conversions outside of this process, made before the fields are merged |
//! | `versions` | managers whose fields are of another version of the kind |
//! | `reconcile` | managers whose fields were recorded under another schema |
//! | `check` | whether an applied configuration fits its type |
//! | `managers`, `conflict` | the entries of `managedFields`; the conflict error |
//! | `last_applied` | migration from client-side apply |
//! | `mutation` | merging without managers, as policies do |
//! | `scale` | the managers of the replica count in a scale |
//!
//! Kubernetes concept: [server-side apply](https://kubernetes.io/docs/reference/using-api/server-side-apply/);
//! `sigs.k8s.io/structured-merge-diff`, `k8s.io/apimachinery/pkg/util/managedfields`.

use std::borrow::Cow;
use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::api::{GroupVersionKind, Object};
use crate::budget::Budget;
use crate::resource::{ResourceType, Versions};
use crate::schema::Schema;

mod applying;
mod check;
mod collect;
mod compare;
mod conflict;
mod conversions;
mod element;
mod fields_v1;
mod last_applied;
mod managers;
mod merge;
mod mutation;
mod reconcile;
pub mod scale;
mod set;
mod shape;
mod updating;
mod versions;

#[cfg(test)]
mod tests;

pub use conversions::{Conversions, Unconverted};
pub use element::{ElementError, PathElement};
pub use mutation::{MergeError, merge_configuration};
pub use set::FieldSet;

use compare::Changes;
use managers::{ManagedFieldsOperation, Manager};
use shape::ValueShape;

/// Manager of fields if the request does not name one.
const UNKNOWN_MANAGER: &str = "unknown";

pub(crate) const MANAGED_FIELDS: &[&str] = &["metadata", "managedFields"];

/// Fields that never have a manager: the server sets them, or they identify the object.
static STRIPPED: LazyLock<FieldSet<'static>> = LazyLock::new(|| {
    const PATHS: &[&[&str]] = &[
        &["apiVersion"],
        &["kind"],
        &["metadata"],
        &["metadata", "name"],
        &["metadata", "namespace"],
        &["metadata", "creationTimestamp"],
        &["metadata", "selfLink"],
        &["metadata", "uid"],
        &["metadata", "clusterName"],
        &["metadata", "generation"],
        MANAGED_FIELDS,
        &["metadata", "resourceVersion"],
    ];
    FieldSet::from_paths(PATHS.iter().copied())
});

/// Tracks the managers of the objects of one path.
#[derive(Clone, Debug)]
pub struct FieldManager<'a> {
    /// The kind that the path accepts.
    pub kind: GroupVersionKind,
    /// Its `apiVersion`.
    pub api_version: &'a str,
    /// The subresource; empty for the main one.
    pub subresource: &'a str,
    /// The kind's schema.
    pub schema: Schema,
    /// Fields that this path ignores in what the client sends; they get no manager through it.
    pub reset: Reset<'a>,
    /// An empty object of the kind, conformed to the schema; new objects are compared with it.
    pub blank: &'a Object,
    /// The served versions of the kind; `None` if there is only this one.
    pub versions: Option<&'a Versions>,
    /// Conversions that were made outside of this process; none at first, see
    /// [`with_conversions`](Self::with_conversions).
    pub conversions: Conversions,
    /// The budget for what applying adds to an object; `None` if it is not limited.
    pub budget: Option<&'a Budget>,
}

/// The fields that a path ignores in what the client sends.
///
/// Kubernetes concept: `rest.ResetFieldsStrategy` and `rest.ResetFieldsFilterStrategy`.
#[derive(Clone, Debug)]
pub enum Reset<'a> {
    /// These fields and everything below them. See [`reset_fields`].
    Fields(FieldSet<'a>),
    /// Everything except these paths and what is below them; `*` matches any list element.
    AllBut(&'static [&'static [&'static str]]),
}

/// Returns the fields that the main resource (`subresource` empty) or a subresource resets: the main resource resets
/// the status, `status` resets everything else; both also reset the fields that the declaration names.
pub fn reset_fields(resource: &ResourceType, subresource: &str) -> FieldSet<'static> {
    match subresource {
        "" => {
            let status: &[&[&str]] = if resource.has_status { &[&["status"]] } else { &[] };
            FieldSet::from_paths(status.iter().chain(resource.write_rules.reset).copied())
        }
        "status" => {
            let mut reset = FieldSet::from_paths(resource.write_rules.reset_by_status.iter().copied());
            let schema = resource.schema();
            for field in schema.root().fields() {
                let is_kept = match field.name() {
                    "apiVersion" | "kind" | "status" => true,
                    "metadata" => resource.is_builtin,
                    _ => false,
                };
                if !is_kept {
                    reset.insert(&[PathElement::field(field.name()).into_owned()]);
                }
            }
            reset
        }
        _ => FieldSet::default(),
    }
}

/// Preserves a client's request to reset all managers through conforming, which drops empty lists: replaces an empty
/// `managedFields` by a list with one empty entry, which means the same.
pub fn keep_reset(value: &mut Value) {
    let managed = value.get_mut("metadata").and_then(|metadata| metadata.get_mut("managedFields"));
    if let Some(Value::Array(entries)) = managed
        && entries.is_empty()
    {
        entries.push(Value::Object(Map::new()));
    }
}

impl Default for Reset<'_> {
    /// The path can change every field.
    fn default() -> Self {
        Self::Fields(FieldSet::default())
    }
}

// === impl FieldManager ===

impl FieldManager<'_> {
    /// Returns the differences between two objects in the fields that can have a manager through this path.
    fn changes<'m>(&'m self, old: &'m Map<String, Value>, new: &'m Map<String, Value>) -> Changes<'m> {
        let changes = match &self.reset {
            Reset::Fields(fields) => Changes::between(self.shape(), old, new, fields),
            Reset::AllBut(paths) => {
                let Changes { changed, removed } =
                    Changes::between(self.shape(), old, new, &FieldSet::default());
                Changes { changed: changed.only(paths), removed: removed.only(paths) }
            }
        };
        Changes {
            changed: changes.changed.difference(&STRIPPED),
            removed: changes.removed.difference(&STRIPPED),
        }
    }

    fn manager<'m>(&'m self, name: &'m str, operation: ManagedFieldsOperation) -> Manager<'m> {
        Manager {
            name: Cow::Borrowed(if name.is_empty() { UNKNOWN_MANAGER } else { name }),
            operation,
            api_version: Cow::Borrowed(self.api_version),
            subresource: Cow::Borrowed(self.subresource),
        }
    }

    fn shape(&self) -> ValueShape<'_> {
        ValueShape::Struct(self.schema.root())
    }
}
