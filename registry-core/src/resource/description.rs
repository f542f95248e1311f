//! The constant form of a resource, which the derive emits and the compiler checks.

use std::fmt;
use std::sync::Arc;

use crate::api::{GroupResource, GroupVersion, GroupVersionKind, GroupVersionResource, Object, Scope};
use crate::schema::Schema;

use super::conversion::{Conversion, ConversionDescription};
use super::{
    Column, ObjectStrategy, ResourceType, RowCondition, ScalePaths, SchemaSource, SelectableField,
    TableColumn,
};

/// The declaration of one resource in one version, as the derive writes it down.
pub struct ResourceDescription {
    /// Group, version and kind of one object.
    pub kind: GroupVersionKind,
    /// The kind of a list, for example `PodList`.
    pub list_kind: &'static str,
    /// The resource's name in paths: plural, lower case.
    pub plural: &'static str,
    /// The name for one object, lower case.
    pub singular: &'static str,
    /// What users may type instead of the plural.
    pub short_names: &'static [&'static str],
    /// Which groups of resources it belongs to, for example `all`.
    pub categories: &'static [&'static str],
    /// In a namespace, or in the cluster.
    pub scope: Scope,
    /// Where objects are kept below the store's prefix, without slashes at the ends: `pods`, `services/specs`.
    pub storage_prefix: &'static str,
    /// The fields selectors may name, beside `metadata.name` and `metadata.namespace`, which all have.
    pub selectable: &'static [SelectableField],
    /// Names of selectable fields by which watchers and lists are looked up instead of scanned.
    pub indexes: &'static [&'static str],
    /// The names of all selectable fields, `metadata.name` and `metadata.namespace` first: what
    /// [`Attributes::field_names`] holds.
    pub field_names: &'static [&'static str],
    /// The columns of a table, the `Name` first.
    pub columns: &'static [Column],
    /// The conditions of an object's table row; `None` for kinds without any.
    pub row_conditions: Option<fn(&Object) -> &'static [RowCondition]>,
    /// Whether objects have a status that only the `status` subresource writes.
    pub has_status: bool,
    /// Whether `metadata.generation` counts changes of everything but metadata and status.
    pub has_generation: bool,
    /// Where the `scale` subresource finds its numbers.
    pub scale: Option<ScalePaths>,
    /// Removes objects by themselves so many seconds after each write; `None` keeps them.
    pub time_to_live_seconds: Option<u64>,
    /// Whether a deletion answers with the object's last state instead of a `Status` that names it.
    /// (`ReturnDeletedObject`.)
    pub returns_deleted_object: bool,
    /// Whether the collection may be deleted as a whole.
    pub serves_deletecollection: bool,
    /// Whether the kind is one of Kubernetes' own types rather than an author's or a custom one. Of built-in kinds
    /// lists leave out what they say for all their items, strategic merge patches are taken, and the `status`
    /// subresource may also change metadata, labels and annotations above all.
    pub is_builtin: bool,
    /// Makes the rules for creating, updating and deleting these objects.
    pub strategy: fn() -> Arc<dyn ObjectStrategy>,
    /// Gives the schema of the objects; compiled on first use.
    pub schema: fn() -> Schema,
    /// How objects are converted to and from the stored version; `None` if this is the stored version.
    pub hub: Option<&'static ConversionDescription>,
    /// Where the author declared it, as `file:line`.
    pub declared_at: &'static str,
}

// === impl ResourceDescription ===

impl ResourceDescription {
    /// Group, version and plural.
    pub const fn resource(&self) -> GroupVersionResource {
        GroupVersionResource { group: self.kind.group, version: self.kind.version, resource: self.plural }
    }

    /// Group and plural, as error messages name the resource.
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

    /// The resource whose objects are stored: the hub, or this one when it has none.
    pub const fn stored(&'static self) -> &'static Self {
        match self.hub {
            Some(conversion) => conversion.hub,
            None => self,
        }
    }

    /// Makes the run-time form, its hub's included. Storage maps make one of each resource and share it.
    pub fn instantiate(&self) -> Arc<ResourceType> {
        self.instantiate_below(self.hub.map(|conversion| conversion.hub.instantiate()))
    }

    /// Makes the run-time form of a resource whose hub, if it has one, is already made.
    pub(crate) fn instantiate_below(&self, hub: Option<Arc<ResourceType>>) -> Arc<ResourceType> {
        let hub = self.hub.zip(hub).map(|(conversion, hub)| Arc::new(Conversion::described(conversion, hub)));
        Arc::new(ResourceType {
            kind: self.kind,
            list_kind: self.list_kind,
            plural: self.plural,
            singular: self.singular,
            short_names: self.short_names.into(),
            categories: self.categories.into(),
            scope: self.scope,
            storage_prefix: self.storage_prefix,
            selectable: self.selectable.into(),
            indexes: self.indexes,
            field_names: self.field_names,
            columns: TableColumn::declared(self.columns),
            row_conditions: self.row_conditions,
            has_status: self.has_status,
            has_generation: self.has_generation,
            scale: self.scale,
            time_to_live_seconds: self.time_to_live_seconds,
            returns_deleted_object: self.returns_deleted_object,
            serves_deletecollection: self.serves_deletecollection,
            is_builtin: self.is_builtin,
            strategy: (self.strategy)(),
            schema: SchemaSource::new(self.schema),
            hub,
            declared_at: self.declared_at.into(),
        })
    }
}

impl fmt::Debug for ResourceDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{} {}", self.group_version(), self.plural, self.kind.kind)
    }
}
