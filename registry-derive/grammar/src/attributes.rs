//! The parsed attribute, before its parts are checked against each other.

pub(crate) mod column;
pub(crate) mod list;
pub(crate) mod other_derives;
pub(crate) mod path;
pub(crate) mod release;
pub(crate) mod retired;
pub(crate) mod scale;
pub(crate) mod seconds;
pub(crate) mod subresource;

use darling::util::{Flag, Ignored, SpannedValue};
use darling::{FromDeriveInput, FromField, FromMeta, ast};

use column::ColumnAttribute;
use list::{PathList, TextList};
use release::Release;
use retired::RetiredList;
use scale::ScaleAttribute;
use seconds::Seconds;
use subresource::SubresourceAttribute;

/// Everything inside `#[resource(…)]` on a struct. Each field corresponds to a keyword of the grammar.
#[derive(Debug, FromDeriveInput)]
#[darling(attributes(resource), supports(struct_named, struct_unit), forward_attrs(doc, serde))]
pub(crate) struct Attributes {
    pub(crate) ident: syn::Ident,
    pub(crate) generics: syn::Generics,
    pub(crate) attrs: Vec<syn::Attribute>,
    pub(crate) data: ast::Data<Ignored, FieldAttributes>,

    // --- where it is served, and under which names
    pub(crate) group: Option<SpannedValue<String>>,
    pub(crate) version: Option<SpannedValue<String>>,
    pub(crate) kind: Option<SpannedValue<String>>,
    pub(crate) plural: Option<SpannedValue<String>>,
    pub(crate) singular: Option<SpannedValue<String>>,
    #[darling(default)]
    pub(crate) short: TextList,
    #[darling(default)]
    pub(crate) categories: TextList,
    pub(crate) scope: Option<SpannedValue<ScopeAttribute>>,
    pub(crate) cluster: Flag,
    pub(crate) storage_prefix: Option<SpannedValue<String>>,
    pub(crate) hub: Option<syn::Path>,
    pub(crate) same_fields: Flag,
    #[darling(default)]
    pub(crate) retired: RetiredList,
    pub(crate) deprecated: Option<SpannedValue<String>>,
    pub(crate) off_by_default: Flag,
    pub(crate) feature_gate: Option<syn::Path>,
    pub(crate) introduced: Option<Release>,
    pub(crate) removed: Option<Release>,

    // --- what it is made of
    pub(crate) object: Option<syn::Path>,
    pub(crate) schema: Option<syn::Path>,
    #[darling(default)]
    pub(crate) selectable: PathList,
    #[darling(default)]
    pub(crate) index: PathList,
    #[darling(multiple)]
    pub(crate) column: Vec<ColumnAttribute>,
    pub(crate) columns: Option<syn::Path>,
    pub(crate) row_conditions: Option<syn::Path>,
    pub(crate) scale: Option<ScaleAttribute>,
    pub(crate) status: Flag,
    pub(crate) generation: Flag,

    // --- how it behaves
    pub(crate) returns_deleted_object: Flag,
    pub(crate) without_deletecollection: Flag,
    pub(crate) ttl_seconds: Option<SpannedValue<Seconds>>,
    pub(crate) names: Option<syn::Path>,
    pub(crate) unconditional_update: Option<SpannedValue<bool>>,
    pub(crate) create_on_update: Flag,
    pub(crate) plain_finalizers: Flag,
    pub(crate) metadata_errors_once: Flag,
    #[darling(default)]
    pub(crate) reset: PathList,
    #[darling(default)]
    pub(crate) reset_by_status: PathList,
    pub(crate) strategy: Option<syn::Path>,
    pub(crate) storage: Option<syn::Path>,
    #[darling(multiple)]
    pub(crate) subresource: Vec<SubresourceAttribute>,
}

/// A field of the annotated struct.
#[derive(Debug, FromField)]
#[darling(attributes(resource), forward_attrs(serde))]
pub(crate) struct FieldAttributes {
    pub(crate) ident: Option<syn::Ident>,
    pub(crate) ty: syn::Type,
    pub(crate) attrs: Vec<syn::Attribute>,
    /// `#[resource(status)]`: this field is the status.
    pub(crate) status: Flag,
}

/// `scope = cluster` or `scope = namespaced`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScopeAttribute {
    Cluster,
    Namespaced,
}

// === impl ScopeAttribute ===

impl FromMeta for ScopeAttribute {
    fn from_expr(expr: &syn::Expr) -> darling::Result<Self> {
        if let syn::Expr::Path(word) = expr {
            if word.path.is_ident("cluster") {
                return Ok(Self::Cluster);
            }
            if word.path.is_ident("namespaced") {
                return Ok(Self::Namespaced);
            }
        }
        Err(darling::Error::custom("expected `scope = cluster` or `scope = namespaced`").with_span(expr))
    }
}
