//! What the derive makes of an annotated struct.
//!
//! [`Resource`] is the typed face. [`ResourceDescription`] holds the same facts erased, as a constant that the derive
//! emits. [`ResourceType`] is what the engine works on: it is made from a description when the storage map is
//! installed, or while the server runs, so that one engine serves every resource, however it was declared.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::api::{GroupResource, GroupVersion, GroupVersionKind, GroupVersionResource, Object, Scope};
use crate::schema::Schema;
use crate::storage::Attributes;

mod columns;
pub mod conversion;
pub(crate) mod declaration;
mod description;
mod extract;
#[doc(hidden)]
pub mod field;
mod strategy;
mod versions;

pub use columns::{
    Cell, Column, ColumnFormat, ColumnType, RowCondition, RowConditionType, TableCell, TableColumn,
    duration_text,
};
pub use description::ResourceDescription;
pub use strategy::{Deletion, NoStrategy, ObjectStrategy, Strategy};
pub use versions::Versions;

use conversion::Conversion;

/// A type the API serves. Implemented by `#[derive(Resource)]`, on the object's own struct or on a unit struct
/// that stands for a foreign one (`object = …`).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an API resource",
    label = "needs `#[derive(Resource)]`",
    note = "annotate the struct with `#[derive(Resource)]` and `#[resource(group = …, version = …)]`"
)]
pub trait Resource: Send + Sync + 'static {
    /// The Rust type of one object.
    type Object: Serialize + DeserializeOwned + Send + Sync + 'static;
    /// The declaration of the resource, from which the engine makes its [`ResourceType`].
    const TYPE: &'static ResourceDescription;
}

/// Everything the engine knows of one resource in one version.
///
/// Kubernetes concept: the options of `registry.Store` and the `APIResource` of discovery, in one value.
pub struct ResourceType {
    /// Group, version and kind of one object.
    pub kind: GroupVersionKind,
    /// The kind of a list, for example `PodList`.
    pub list_kind: &'static str,
    /// The resource's name in paths: plural, lower case.
    pub plural: &'static str,
    /// The name for one object, lower case.
    pub singular: &'static str,
    /// Short forms of the plural that clients accept.
    pub short_names: Box<[&'static str]>,
    /// The categories the resource belongs to, for example `all`.
    pub categories: Box<[&'static str]>,
    /// Whether objects live in a namespace or in the cluster.
    pub scope: Scope,
    /// Where objects are kept below the store's prefix, without slashes at the ends: `pods`, `services/specs`.
    pub storage_prefix: &'static str,
    /// The fields selectors may name, beside `metadata.name` and `metadata.namespace`, which all have.
    pub selectable: Box<[SelectableField]>,
    /// Names of selectable fields by which watchers and lists are looked up instead of scanned.
    pub indexes: &'static [&'static str],
    /// The names of all selectable fields, `metadata.name` and `metadata.namespace` first: what
    /// [`Attributes::field_names`] holds.
    pub field_names: &'static [&'static str],
    /// The columns of a table, the `Name` first.
    pub columns: Arc<[TableColumn]>,
    /// The conditions of an object's table row; `None` for kinds without any.
    pub row_conditions: Option<fn(&Object) -> &'static [RowCondition]>,
    /// Whether objects have a status that only the `status` subresource writes.
    pub has_status: bool,
    /// Whether `metadata.generation` counts changes of everything but metadata and status.
    pub has_generation: bool,
    /// Where the `scale` subresource finds its numbers.
    pub scale: Option<ScalePaths>,
    /// Seconds after each write at which the store removes an object; `None` keeps it.
    pub time_to_live_seconds: Option<u64>,
    /// Whether a deletion answers with the object's last state instead of a `Status` that names it.
    /// (`ReturnDeletedObject`.)
    pub returns_deleted_object: bool,
    /// Whether the collection may be deleted as a whole.
    pub serves_deletecollection: bool,
    /// Whether the kind is one of Kubernetes' own types rather than an author's or a custom one. Lists of built-in
    /// kinds leave out the `kind` and `apiVersion` of their items, strategic merge patches are accepted, and the
    /// `status` subresource may also change metadata.
    pub is_builtin: bool,
    /// The rules for creating, updating and deleting these objects.
    pub strategy: Arc<dyn ObjectStrategy>,
    /// Gives the schema of the objects.
    pub schema: SchemaSource,
    /// How objects are converted to and from the stored version; `None` if this is the stored version. Names,
    /// columns, schema, defaults and reset fields of a spoke are its own, and what its strategy validates holds
    /// beside the rules of the hub; everything else is the hub's.
    pub hub: Option<Arc<Conversion>>,
    /// Where the resource was declared: `file:line`, or the name of a custom resource definition.
    pub declared_at: Cow<'static, str>,
}

/// Gives the compiled schema of a kind. It may compile it on first use.
#[derive(Clone)]
pub struct SchemaSource(Arc<dyn Fn() -> Schema + Send + Sync>);

/// A field that selectors may name.
#[derive(Clone, Copy, Debug)]
pub struct SelectableField {
    /// The name in selectors, for example `spec.nodeName`.
    pub name: &'static str,
    /// The path in the JSON object.
    pub path: &'static [&'static str],
    /// Where it is looked for when there is nothing, or an empty text, at the path; no path for nowhere.
    pub other_path: &'static [&'static str],
    /// What it is compared as where the object does not have it. Of a Go type this is its zero, which JSON leaves
    /// out: `spec.unschedulable=false` finds the nodes that do not say it.
    pub absent: &'static str,
}

/// Where `autoscaling/v1 Scale` finds its numbers in an object.
#[derive(Clone, Copy, Debug)]
pub struct ScalePaths {
    /// How many are wanted.
    pub replicas: &'static [&'static str],
    /// How many there are.
    pub current: &'static [&'static str],
    /// Which ones they are: a label selector as an object or as a string.
    pub selector: Option<&'static [&'static str]>,
}

// === impl ResourceType ===

impl ResourceType {
    /// Group, version and plural.
    pub const fn resource(&self) -> GroupVersionResource {
        GroupVersionResource { group: self.kind.group, version: self.kind.version, resource: self.plural }
    }

    /// Group and plural: what error messages name.
    pub const fn group_resource(&self) -> GroupResource {
        GroupResource { group: self.kind.group, resource: self.plural }
    }

    /// Group and version.
    pub const fn group_version(&self) -> GroupVersion {
        self.kind.group_version()
    }

    /// Whether objects live in a namespace.
    pub const fn is_namespaced(&self) -> bool {
        matches!(self.scope, Scope::Namespaced)
    }

    /// An object with nothing set but its type (NewFunc).
    pub fn new_object(&self) -> Object {
        let mut object = Object::default();
        object.set_type(&self.group_version().api_version(), self.kind.kind);
        object
    }

    /// The schema of the objects.
    pub fn schema(&self) -> Schema {
        self.schema.get()
    }

    /// AttrFunc: labels and selectable fields, as the storage keeps them beside each object.
    pub fn attributes(&self, object: &Object) -> Attributes {
        let other = |path| object.get(path).filter(|_| !<[&str]>::is_empty(path));
        let own =
            self.selectable.iter().map(|field| field.text(object.get(field.path), other(field.other_path)));
        let names = [object.name(), object.namespace()].map(Cow::Borrowed);
        Attributes::new(object.labels().collect(), names.into_iter().chain(own), self.field_names)
    }
}

/// The attributes of stored bytes. Storages are opened with [`Versions`], which reads more than this.
impl ResourceType {
    /// The attributes of a value in the canonical encoding; the same as of the object it decodes to.
    ///
    /// # Errors
    /// The value is no JSON object.
    pub fn attributes_of(&self, value: &[u8]) -> Result<Attributes, String> {
        extract::attributes(self, value)
    }
}

impl fmt::Debug for ResourceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{} {}", self.group_version(), self.plural, self.kind.kind)
    }
}

// === impl SchemaSource ===

impl SchemaSource {
    /// A source that calls `schema` whenever the schema is needed: it should remember what it compiled.
    pub fn new(schema: impl Fn() -> Schema + Send + Sync + 'static) -> Self {
        Self(Arc::new(schema))
    }

    /// The schema.
    pub fn get(&self) -> Schema {
        (self.0)()
    }
}

impl From<Schema> for SchemaSource {
    fn from(schema: Schema) -> Self {
        Self::new(move || schema.clone())
    }
}

impl fmt::Debug for SchemaSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SchemaSource")
    }
}

// === impl SelectableField ===

impl SelectableField {
    /// The field as selectors compare it, from what is at its paths.
    fn text<'v>(&self, value: Option<&'v Value>, other: Option<&'v Value>) -> Cow<'v, str> {
        match scalar_text(value, self.absent) {
            text if text.is_empty() && !self.other_path.is_empty() => scalar_text(other, self.absent),
            text => text,
        }
    }
}

/// A selectable field as selectors compare it: strings bare, numbers and booleans as JSON.
fn scalar_text<'v>(value: Option<&'v Value>, absent: &'static str) -> Cow<'v, str> {
    match value {
        None | Some(Value::Null) => absent.into(),
        Some(Value::String(text)) => text.as_str().into(),
        Some(other) => other.to_string().into(),
    }
}
