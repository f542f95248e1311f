//! The types that the derive generates for an annotated struct.
//!
//! [`Resource`] is the typed interface. [`ResourceDescription`] contains the same data without types, as a constant
//! that the derive generates. [`ResourceType`] is the form that the engine uses: it is created from a description when
//! the storage map is installed, or at run time, so that one engine serves every resource, however it was declared.
//! [`ResourceProperties`] is the data that both consist of, apart from constructors and what these make.
//!
//! | module | contents |
//! |---|---|
//! | [`testing`] | checks for authors that a conversion is lossless; schemas that tests have to wait for |
//! | `declaration` | checks of a declaration against its schema |
//! | `description` | the constant form |
//! | `defaulting` | the defaults of a decoded object |
//! | `versions` | the served versions of a stored kind |
//! | [`conversion`] | the conversion between a version and the stored one |
//! | `properties` | the properties that are plain data |
//! | `write_rules` | the rules of writes that are constants |
//! | `columns`, `cell` | the columns of tables, and their cells |
//! | `schema_rules` | the validation that a schema describes |
//! | `strategy` | the rules of creating, updating and deleting objects |
//! | `gated` | fields that exist only while a feature is enabled |
//! | `typed` | objects as the structs of authors |
//! | `extract` | the attributes of stored bytes |
//! | [`field`](mod@field) | access to a path of typed fields |

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::api::Object;
use crate::schema::Schema;
use crate::storage::{Attributes, InvalidValue};

mod cell;
mod columns;
pub mod conversion;
pub(crate) mod declaration;
mod defaulting;
mod description;
mod extract;
#[doc(hidden)]
pub mod field;
mod gated;
mod properties;
mod retired;
mod schema_rules;
mod strategy;
pub mod testing;
pub(crate) mod typed;
mod versions;
mod write_rules;

pub use cell::{Cell, CellValue, TableCell, duration_text};
pub use columns::{
    Column, ColumnFormat, ColumnType, RowCondition, RowConditionType, TableColumn, TableColumns,
};
pub use defaulting::{in_form, with_defaults};
pub(crate) use description::same_bytes;
pub use description::{ConversionDescription, ResourceDescription};
pub use gated::GatedField;
pub use properties::ResourceProperties;
pub use retired::{Renew, RetiredVersion};
pub use schema_rules::SchemaRules;
pub use strategy::{Deletion, HubDefaults, NoStrategy, ObjectStrategy, Strategy, WrittenValue};
pub(crate) use versions::with_unstored_defaults;
pub use versions::{StorageEncoding, Versions};
pub use write_rules::WriteRules;

use conversion::Conversion;

/// A type served by the API. Implemented by `#[derive(Resource)]`, on the object's own struct or on a unit struct that
/// represents a foreign type (`object = …`).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an API resource",
    label = "needs `#[derive(Resource)]`",
    note = "annotate the struct with `#[derive(Resource)]` and `#[resource(group = …, version = …)]`"
)]
pub trait Resource: Send + Sync + 'static {
    /// The Rust type of an object.
    type Object: Serialize + DeserializeOwned + Send + Sync + 'static;
    /// The declaration of the resource, from which the engine creates its [`ResourceType`].
    const TYPE: &'static ResourceDescription;
}

/// Everything that the engine knows about a resource in one version.
///
/// Kubernetes concept: the options of `registry.Store` and the `APIResource` of discovery, in one value.
pub struct ResourceType {
    /// The properties that the description has too.
    pub properties: ResourceProperties,
    /// The table columns, starting with `Name`.
    pub columns: TableColumns,
    /// The rules for creating, updating and deleting these objects.
    pub strategy: Arc<dyn ObjectStrategy>,
    /// The schema of the objects.
    pub schema: SchemaSource,
    /// The conversion to and from the stored version; `None` if this is the stored version. A spoke has its own names,
    /// columns, schema, defaults and reset fields, and its strategy's validation applies in addition to the hub's;
    /// everything else is the hub's.
    pub hub: Option<Arc<Conversion>>,
}

/// Provides the compiled schema of a kind. It may compile it on first use.
#[derive(Clone)]
pub struct SchemaSource {
    compiled: Arc<dyn Fn() -> Schema + Send + Sync>,
    preparation: Option<Arc<dyn PrepareSchema>>,
    published: Option<Published>,
    /// The rules of an author's struct, compiled on first use.
    own_rules: Arc<OnceLock<Option<SchemaRules>>>,
}

/// Compiles a schema before it is needed: on other threads, which may take long.
#[async_trait]
pub trait PrepareSchema: Send + Sync + 'static {
    /// Returns whether the schema is compiled, and those that reading stored objects takes.
    fn is_prepared(&self) -> bool;

    /// Waits until they are compiled. If that fails, they are still compiled on first use.
    async fn prepare(&self);
}

/// The schema that OpenAPI publishes for a custom kind: the schema of its definition instead of the compiled schema.
#[derive(Clone)]
pub struct Published {
    schema: Arc<dyn Fn() -> Option<Value> + Send + Sync>,
    fingerprint: Option<Arc<str>>,
    selectable: Option<&'static [&'static str]>,
}

/// A field that selectors can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SelectableField {
    /// The name in selectors, for example `spec.nodeName`.
    pub name: &'static str,
    /// The path in the JSON object.
    pub path: &'static [&'static str],
    /// The fallback path if there is nothing, or an empty string, at `path`; empty if there is none.
    pub other_path: &'static [&'static str],
    /// The value for selectors if the object does not have the field. For a Go type this is the zero value, which JSON
    /// omits: `spec.unschedulable=false` matches nodes without the field.
    pub absent: &'static str,
}

/// The paths that `autoscaling/v1 Scale` reads in an object.
#[derive(Clone, Copy, Debug)]
pub struct ScalePaths {
    /// The desired number of replicas.
    pub replicas: &'static [&'static str],
    /// The current number of replicas.
    pub current: &'static [&'static str],
    /// The label selector, as an object or as a string.
    pub selector: Option<&'static [&'static str]>,
}

// === impl ResourceType ===

impl ResourceType {
    /// Returns the schema of the objects.
    pub fn schema(&self) -> Schema {
        self.schema.get()
    }

    /// Returns the labels and selectable fields that the storage keeps with each object (AttrFunc).
    pub fn attributes(&self, object: &Object) -> Attributes {
        let other = |path| object.get(path).filter(|_| !<[&str]>::is_empty(path));
        let own =
            self.selectable.iter().map(|field| field.text(object.get(field.path), other(field.other_path)));
        let names = [object.name(), object.namespace()].map(Cow::Borrowed);
        Attributes::new(object.labels().collect(), names.into_iter().chain(own), self.field_names)
    }
}

/// Attributes of stored bytes. Storages are opened with [`Versions`], which also reads other versions.
impl ResourceType {
    /// Returns the attributes of a value in canonical encoding. They equal the attributes of the decoded object.
    ///
    /// # Errors
    /// Fails if the value is not a JSON object.
    pub fn attributes_of(&self, value: &[u8]) -> Result<Attributes, InvalidValue> {
        extract::attributes(self, value)
    }
}

impl Deref for ResourceType {
    type Target = ResourceProperties;

    fn deref(&self) -> &ResourceProperties {
        &self.properties
    }
}

impl fmt::Debug for ResourceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.properties.fmt(f)
    }
}

// === impl SchemaSource ===

impl SchemaSource {
    /// Creates a source that calls `schema` whenever the schema is needed; `schema` should cache its result.
    pub fn new(schema: impl Fn() -> Schema + Send + Sync + 'static) -> Self {
        Self { compiled: Arc::new(schema), preparation: None, published: None, own_rules: Arc::default() }
    }

    /// Like [`new`](Self::new), but calls `schema` once.
    pub fn once(schema: impl Fn() -> Schema + Send + Sync + 'static) -> Self {
        let compiled = OnceLock::new();
        Self::new(move || compiled.get_or_init(&schema).clone())
    }

    /// Compiles the schema in this way for callers that [prepare](Self::prepare) it.
    #[must_use]
    pub fn with_preparation(self, preparation: Arc<dyn PrepareSchema>) -> Self {
        Self { preparation: Some(preparation), ..self }
    }

    /// Publishes another schema in OpenAPI: the one that `published` returns is the `openAPIV3Schema` of a custom kind;
    /// `None` if it has none, or none that is structural. `published` is called whenever a document is created.
    #[must_use]
    pub fn with_published(self, published: impl Fn() -> Option<Value> + Send + Sync + 'static) -> Self {
        Self {
            published: Some(Published { schema: Arc::new(published), fingerprint: None, selectable: None }),
            ..self
        }
    }

    /// Identifies the published schema by a text that is different for another schema, for example the definition's uid
    /// and generation, so that the schema is not read to find out whether it changed. Does nothing without a published
    /// schema.
    #[must_use]
    pub fn with_fingerprint(mut self, fingerprint: impl Into<Arc<str>>) -> Self {
        if let Some(published) = &mut self.published {
            published.fingerprint = Some(fingerprint.into());
        }
        self
    }

    /// Publishes these names of selectable fields instead of all names in [`ResourceProperties::selectable`], which for
    /// a hub contains the names of its other versions too. Does nothing without a published schema.
    #[must_use]
    pub const fn with_published_fields(mut self, selectable: &'static [&'static str]) -> Self {
        if let Some(published) = &mut self.published {
            published.selectable = Some(selectable);
        }
        self
    }

    /// Returns the schema.
    pub fn get(&self) -> Schema {
        (self.compiled)()
    }

    /// Returns whether the schema can be used without compiling a large one.
    pub fn is_prepared(&self) -> bool {
        self.preparation.as_ref().is_none_or(|preparation| preparation.is_prepared())
    }

    /// Waits until the schema can be used without compiling a large one on the thread of the caller, which may serve other
    /// requests too.
    pub async fn prepare(&self) {
        if let Some(preparation) = &self.preparation
            && !preparation.is_prepared()
        {
            preparation.prepare().await;
        }
    }

    /// Returns the rules of an author's struct, by which the engine validates its objects; `None` for Kubernetes' own kinds
    /// and for custom resources, whose strategies validate them.
    pub fn own_rules(&self) -> Option<&SchemaRules> {
        if self.is_custom() {
            return None;
        }
        self.own_rules.get_or_init(|| self.get().definition().map(SchemaRules::from_definition)).as_ref()
    }

    /// Returns whether this is the schema of a custom kind, which has no types in Kubernetes' code.
    pub const fn is_custom(&self) -> bool {
        self.published.is_some()
    }

    /// Returns what OpenAPI publishes instead of the schema; `None` for kinds that are not custom.
    pub const fn published(&self) -> Option<&Published> {
        self.published.as_ref()
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

// === impl Published ===

impl Published {
    /// Returns the `openAPIV3Schema` of the definition; `None` if there is none that is structural.
    pub fn schema(&self) -> Option<Value> {
        (self.schema)()
    }

    /// Returns the text that identifies the schema, if there is one.
    pub fn fingerprint(&self) -> Option<&str> {
        self.fingerprint.as_deref()
    }

    /// Returns the names of the selectable fields, if they differ from the names of the resource.
    pub const fn selectable(&self) -> Option<&'static [&'static str]> {
        self.selectable
    }
}

impl fmt::Debug for Published {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Published").field("fingerprint", &self.fingerprint).finish_non_exhaustive()
    }
}

// === impl SelectableField ===

impl SelectableField {
    /// Returns the field in the form that selectors compare, given the values at its paths.
    fn text<'v>(&self, value: Option<&'v Value>, other: Option<&'v Value>) -> Cow<'v, str> {
        match scalar_text(value, self.absent) {
            text if text.is_empty() && !self.other_path.is_empty() => scalar_text(other, self.absent),
            text => text,
        }
    }
}

/// Formats a selectable field for comparison: strings as they are, numbers and booleans as JSON.
fn scalar_text<'v>(value: Option<&'v Value>, absent: &'static str) -> Cow<'v, str> {
    match value {
        None | Some(Value::Null) => absent.into(),
        Some(Value::String(text)) => text.as_str().into(),
        Some(other) => other.to_string().into(),
    }
}
