//! The properties of a resource that are plain data.

use std::fmt;

use crate::api::{GroupResource, GroupVersion, GroupVersionKind, GroupVersionResource, Object, Scope};
use crate::release::Lifecycle;

use super::{RetiredVersion, RowCondition, ScalePaths, SelectableField, WriteRules};

/// The properties of a resource in one version that its constant [description](super::ResourceDescription) and its
/// [run-time form](super::ResourceType) have in common. Both dereference to it; constant expressions name the field
/// `properties`.
///
/// Everything in it lives as long as the process, so that it is copied, and read without a check on the path of a request.
#[derive(Clone, Copy)]
pub struct ResourceProperties {
    /// The group, version and kind of an object.
    pub kind: GroupVersionKind,
    /// The kind of a list, for example `PodList`.
    pub list_kind: &'static str,
    /// The resource's name in paths: plural, lower case.
    pub plural: &'static str,
    /// The singular name, lower case.
    pub singular: &'static str,
    /// Short forms of the plural that clients accept.
    pub short_names: &'static [&'static str],
    /// The categories the resource belongs to, for example `all`.
    pub categories: &'static [&'static str],
    /// Whether objects belong to a namespace or to the cluster.
    pub scope: Scope,
    /// Storage prefix below the store's prefix, without leading and trailing slashes: `pods`, `services/specs`.
    pub storage_prefix: &'static str,
    /// The releases of Kubernetes that serve this version.
    pub lifecycle: Lifecycle,
    /// The warning that clients of this version get, if it is deprecated.
    pub deprecation: Option<&'static str>,
    /// The versions in which objects may be stored although they are not served any more.
    pub retired: &'static [RetiredVersion],
    /// The selectable fields in addition to `metadata.name` and `metadata.namespace`, which all resources have.
    pub selectable: &'static [SelectableField],
    /// Names of selectable fields with an index for lists and watches.
    pub indexes: &'static [&'static str],
    /// The names of all selectable fields, starting with `metadata.name` and `metadata.namespace`; see
    /// [`Attributes::field_names`](crate::storage::Attributes::field_names).
    pub field_names: &'static [&'static str],
    /// The conditions of an object's table row; `None` for kinds without any.
    pub row_conditions: Option<fn(&Object) -> &'static [RowCondition]>,
    /// Whether objects have a status that only the `status` subresource writes.
    pub has_status: bool,
    /// Whether `metadata.generation` counts changes of everything but metadata and status.
    pub has_generation: bool,
    /// The field paths of the `scale` subresource.
    pub scale: Option<ScalePaths>,
    /// Time after each write at which objects expire, in seconds; `None` if they do not.
    pub time_to_live_seconds: Option<u64>,
    /// Whether a deletion returns the object's last state instead of a `Status`. (`ReturnDeletedObject`.)
    pub returns_deleted_object: bool,
    /// Whether `deletecollection` is served.
    pub serves_deletecollection: bool,
    /// Whether the kind is one of Kubernetes' built-in types. Lists of built-in kinds omit the `kind` and `apiVersion`
    /// of their items, strategic merge patches are accepted, and the `status` subresource can also change metadata.
    pub is_builtin: bool,
    /// The rules of writes that are constants.
    pub write_rules: WriteRules,
    /// The place of the resource's declaration: `file:line`, or the name of a custom resource definition.
    pub declared_at: &'static str,
}

// === impl ResourceProperties ===

impl ResourceProperties {
    /// Returns the group, version and plural.
    pub const fn resource(&self) -> GroupVersionResource {
        GroupVersionResource { group: self.kind.group, version: self.kind.version, resource: self.plural }
    }

    /// Returns the group and plural, as used in error messages.
    pub const fn group_resource(&self) -> GroupResource {
        GroupResource { group: self.kind.group, resource: self.plural }
    }

    /// Returns the group and version.
    pub const fn group_version(&self) -> GroupVersion {
        self.kind.group_version()
    }

    /// Whether objects belong to a namespace.
    pub const fn is_namespaced(&self) -> bool {
        matches!(self.scope, Scope::Namespaced)
    }

    /// Creates an object with only its type set (NewFunc).
    pub fn new_object(&self) -> Object {
        let mut object = Object::default();
        object.set_type(&self.group_version().api_version(), self.kind.kind);
        object
    }
}

impl fmt::Debug for ResourceProperties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{} {}", self.group_version(), self.plural, self.kind.kind)
    }
}
