//! The validated model, from which the derive and code generation produce their output.

pub(crate) mod names;
mod own;
mod schemas;
mod validate;

use darling::FromDeriveInput;
use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::{DeriveInput, Ident, LitStr, Path, Type};

use crate::attributes::column::ColumnAttribute;
use crate::attributes::other_derives;
use crate::attributes::path::FieldPath;
use crate::attributes::release::Release;
use crate::attributes::retired::RetiredVersion;
use crate::attributes::scale::ScaleAttribute;
use crate::attributes::subresource::SubresourceAttribute;
use crate::attributes::{Attributes, ScopeAttribute};
use validate::Complaints;

/// A declared resource with all defaults filled in.
#[derive(Clone, Debug)]
pub struct ResourceModel {
    /// The annotated struct.
    pub ident: Ident,
    /// Its documentation, one string per line.
    pub documentation: Vec<String>,
    /// The Rust type of an object.
    pub object: ObjectKind,
    /// The group; empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind of an object.
    pub kind: String,
    /// The plural name in paths.
    pub plural: String,
    /// The singular name.
    pub singular: String,
    /// Short forms of the plural that clients accept.
    pub short_names: Vec<String>,
    /// The categories the resource belongs to.
    pub categories: Vec<String>,
    /// Whether objects belong to a namespace or to the cluster.
    pub scope: ResourceScope,
    /// Storage prefix below the store's prefix.
    pub storage_prefix: String,
    /// Whether the resource is served only if the operator enables it.
    pub is_off_by_default: bool,
    /// The feature that the resource belongs to; `None` if it belongs to none.
    pub feature_gate: Option<Path>,
    /// The first release of Kubernetes that serves the version; `None` if all supported releases do.
    pub introduced: Option<Release>,
    /// The first release of Kubernetes that no longer serves the version.
    pub removed: Option<Release>,
    /// The stored version, if objects are converted; `None` if they are stored as they are.
    pub hub: Option<Path>,
    /// Whether a version has the fields of the stored version, so that nothing is converted.
    pub same_fields: bool,
    /// The versions in which objects may be stored although they are not served any more.
    pub retired: Vec<RetiredVersion>,
    /// The warning that clients of a deprecated version get.
    pub deprecated: Option<String>,
    /// The function that returns the schema; `None` means the default for the kind of object.
    pub schema: Option<Path>,
    /// The fields that selectors can use.
    pub selectable: Vec<FieldPath>,
    /// The selectable fields that are indexed.
    pub indexes: Vec<FieldPath>,
    /// The table columns.
    pub columns: Columns,
    /// The function that returns the conditions of a table row; `None` if there are none.
    pub row_conditions: Option<Path>,
    /// The field paths of the `scale` subresource.
    pub scale: Option<ScaleAttribute>,
    /// Whether there is a `status` subresource.
    pub has_status: bool,
    /// Whether `metadata.generation` counts changes.
    pub has_generation: bool,
    /// Time after which objects expire, in seconds.
    pub time_to_live_seconds: Option<u64>,
    /// Whether `deletecollection` is served.
    pub serves_deletecollection: bool,
    /// Whether a deletion returns the object instead of a `Status`.
    pub returns_deleted_object: bool,
    /// The rules of writes that are constants.
    pub write_rules: WriteRules,
    /// The strategy; `None` means the default hooks.
    pub strategy: Option<Path>,
    /// Whether a version has the strategy of the stored version.
    pub has_hub_strategy: bool,
    /// The storage of a resource that is not persisted; `None` means the generic store.
    pub storage: Option<Path>,
    /// Custom subresources.
    pub subresources: Vec<SubresourceAttribute>,
}

/// The rules of writes that are constants. A spoke has the rules of its hub.
#[derive(Clone, Debug)]
pub struct WriteRules {
    /// The format of names, a `NameRule`; `None` means a DNS subdomain.
    pub names: Option<Path>,
    /// Whether updates without a resource version are allowed.
    pub unconditional_update: bool,
    /// Whether an update of an absent object creates it.
    pub create_on_update: bool,
    /// Whether finalizers need not be qualified by a domain, other than for most of Kubernetes' kinds.
    pub plain_finalizers: bool,
    /// Whether metadata errors of a change are reported once, other than for most of Kubernetes' kinds.
    pub metadata_errors_once: bool,
    /// The fields that the main resource resets.
    pub reset: Vec<FieldPath>,
    /// The fields that the `status` subresource resets.
    pub reset_by_status: Vec<FieldPath>,
}

/// The Rust type of an object.
#[derive(Clone, Debug)]
pub enum ObjectKind {
    /// The annotated struct itself.
    Own(Box<OwnObject>),
    /// Another crate's type, represented by a unit struct.
    Foreign(Path),
}

/// Properties of an annotated struct that is the object itself.
#[derive(Clone, Debug)]
pub struct OwnObject {
    /// The type of the `metadata` field, as written.
    pub metadata: Type,
}

/// Whether objects belong to a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceScope {
    /// They belong to a namespace.
    Namespaced,
    /// They belong to the cluster.
    Cluster,
}

/// The columns of a resource's table.
#[derive(Clone, Debug)]
pub enum Columns {
    /// Name, then these, then Age.
    Declared(Vec<ColumnAttribute>),
    /// A slice defined by the author.
    Slice(Path),
}

/// Whether a struct derives `Resource` (under any path that ends in it).
pub fn is_annotated(item: &syn::ItemStruct) -> bool {
    let mut derives = false;
    for attribute in item.attrs.iter().filter(|attribute| attribute.path().is_ident("derive")) {
        // Syntax errors are reported by the compiler.
        let _ = attribute.parse_nested_meta(|meta| {
            derives |= meta.path.segments.last().is_some_and(|last| last.ident == "Resource");
            Ok(())
        });
    }
    derives
}

// === impl ResourceModel ===

impl ResourceModel {
    /// Parses and checks the annotation of a struct.
    ///
    /// # Errors
    /// Returns all errors combined, each at the author's tokens.
    pub fn parse(input: &DeriveInput) -> syn::Result<Self> {
        if let Some(refused) = other_derives::refuse(&input.attrs) {
            return Err(refused);
        }
        let attributes = Attributes::from_derive_input(input)?;
        let mut complaints = Complaints::default();
        complaints.check_schemas(input);
        let model = Self::from_attributes(attributes, &mut complaints);
        match complaints.into_error() {
            Some(error) => Err(error),
            None => Ok(model),
        }
    }

    fn from_attributes(attributes: Attributes, complaints: &mut Complaints) -> Self {
        let object = object_kind(&attributes, complaints);
        complaints.check_names(&attributes);
        complaints.check_fields(&attributes);

        let text =
            |value: &Option<darling::util::SpannedValue<String>>| value.as_ref().map(|v| v.to_string());
        let kind = text(&attributes.kind).unwrap_or_else(|| default_kind(&attributes.ident, &object));
        let singular = text(&attributes.singular).unwrap_or_else(|| kind.to_lowercase());
        let plural = text(&attributes.plural).unwrap_or_else(|| names::plural_of(&kind));
        let group = text(&attributes.group).unwrap_or_default();
        let has_status = attributes.status.is_present() || status_field(&attributes);
        complaints.check_kind(&attributes, &kind);
        complaints.check_short_names(&attributes.short.0, &plural, &singular);
        let storage_prefix = text(&attributes.storage_prefix)
            .unwrap_or_else(|| names::default_storage_prefix(&group, &plural));
        Self {
            documentation: documentation(&attributes.attrs),
            version: text(&attributes.version).unwrap_or_default(),
            short_names: texts(&attributes.short.0),
            categories: texts(&attributes.categories.0),
            scope: scope(&attributes),
            hub: attributes.hub,
            same_fields: attributes.same_fields.is_present(),
            retired: attributes.retired.0,
            deprecated: text(&attributes.deprecated),
            is_off_by_default: attributes.off_by_default.is_present(),
            feature_gate: attributes.feature_gate,
            introduced: attributes.introduced,
            removed: attributes.removed,
            schema: attributes.schema,
            selectable: attributes.selectable.0,
            indexes: attributes.index.0,
            columns: match attributes.columns {
                Some(slice) => Columns::Slice(slice),
                None => Columns::Declared(attributes.column),
            },
            row_conditions: attributes.row_conditions,
            has_generation: attributes.generation.is_present()
                || matches!(object, ObjectKind::Own(_)) && (has_status || attributes.scale.is_some()),
            scale: attributes.scale,
            time_to_live_seconds: attributes.ttl_seconds.map(|seconds| seconds.0),
            serves_deletecollection: !attributes.without_deletecollection.is_present(),
            returns_deleted_object: attributes.returns_deleted_object.is_present(),
            write_rules: WriteRules {
                names: attributes.names,
                unconditional_update: attributes.unconditional_update.is_none_or(|allowed| *allowed),
                create_on_update: attributes.create_on_update.is_present(),
                plain_finalizers: attributes.plain_finalizers.is_present(),
                metadata_errors_once: attributes.metadata_errors_once.is_present(),
                reset: attributes.reset.0,
                reset_by_status: attributes.reset_by_status.0,
            },
            has_hub_strategy: match &attributes.strategy {
                Some(strategy) => strategy.is_ident("hub"),
                None => attributes.same_fields.is_present(),
            },
            strategy: attributes.strategy.filter(|strategy| !strategy.is_ident("hub")),
            storage: attributes.storage,
            subresources: attributes.subresource,
            ident: attributes.ident,
            object,
            group,
            kind,
            plural,
            singular,
            storage_prefix,
            has_status,
        }
    }

    /// Returns the kind of a list.
    pub fn list_kind(&self) -> String {
        format!("{}List", self.kind)
    }

    /// Returns `apiVersion`: `v1`, `apps/v1`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }
}

// === impl ObjectKind ===

impl ObjectKind {
    fn own(metadata: Type) -> Self {
        Self::Own(Box::new(OwnObject { metadata }))
    }
}

/// Returns the struct itself if it has fields, the foreign type if it is a unit struct, and reports an error otherwise.
fn object_kind(attributes: &Attributes, complaints: &mut Complaints) -> ObjectKind {
    let fields = attributes.data.as_ref().take_struct().map(|fields| fields.fields).unwrap_or_default();
    let metadata = fields.iter().find(|field| field.ident.as_ref().is_some_and(|name| name == "metadata"));
    match (&attributes.object, metadata) {
        (Some(foreign), _) => {
            if !fields.is_empty() {
                complaints.add(
                    foreign.span(),
                    "`object = …` stands for a foreign type and needs a unit struct: `pub struct Pods;`",
                );
            }
            ObjectKind::Foreign(foreign.clone())
        }
        (None, Some(metadata)) => ObjectKind::own(metadata.ty.clone()),
        (None, None) => {
            let message = if fields.is_empty() {
                "a unit struct stands for a foreign type: say which with `object = path::To::Type`, \
                 or give the struct `metadata: ObjectMeta` and its own fields"
            } else {
                "an API object has its metadata in a field: add `pub metadata: ObjectMeta`, and annotate the whole \
                 object, not its spec: `pub struct Pod { pub metadata: ObjectMeta, pub spec: PodSpec }`"
            };
            complaints.add(attributes.ident.span(), message);
            // The model is discarded because of the error; any type will do.
            ObjectKind::own(syn::parse_quote!(!))
        }
    }
}

fn default_kind(ident: &Ident, object: &ObjectKind) -> String {
    match object {
        ObjectKind::Own(_) => ident.to_string(),
        ObjectKind::Foreign(path) => {
            path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default()
        }
    }
}

fn scope(attributes: &Attributes) -> ResourceScope {
    let given = attributes.scope.as_ref().map(|scope| **scope);
    if attributes.cluster.is_present() || given == Some(ScopeAttribute::Cluster) {
        ResourceScope::Cluster
    } else {
        ResourceScope::Namespaced
    }
}

fn status_field(attributes: &Attributes) -> bool {
    let fields = attributes.data.as_ref().take_struct().map(|fields| fields.fields).unwrap_or_default();
    fields.iter().any(|field| field.status.is_present())
}

fn texts(literals: &[LitStr]) -> Vec<String> {
    literals.iter().map(LitStr::value).collect()
}

fn documentation(attributes: &[syn::Attribute]) -> Vec<String> {
    let mut lines = Vec::new();
    for attribute in attributes {
        if let syn::Meta::NameValue(pair) = &attribute.meta
            && let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = &pair.value
        {
            lines.push(text.value().trim().to_owned());
        }
    }
    lines
}

/// Returns the span of an attribute, or of the struct if it is absent.
fn span_or<T>(value: Option<&darling::util::SpannedValue<T>>, fallback: Span) -> Span {
    value.map_or(fallback, darling::util::SpannedValue::span)
}

#[cfg(test)]
mod tests;
