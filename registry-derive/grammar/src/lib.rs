//! What `#[resource(…)]` may say: parsed once, for the derive macro and for code generation.
//!
//! [`ResourceModel::parse`] turns an annotated struct into a validated model, or into all its errors at once,
//! each at the author's tokens. Neither user looks at attributes itself, so both always agree.
//!
//! ```text
//! #[resource(
//!     group = "zoo.example.dev", version = "v1",        // where it is served; no group is the core group
//!     kind = "…", plural = "…", singular = "…",         // names; defaults come from the struct's
//!     short = "enc" | short("enc", "pen"), categories("all"),
//!     scope = namespaced | scope = cluster | cluster,
//!     storage_prefix = "…",                             // keys in the store; the default is kube-apiserver's
//!     object = path::To::Foreign,                       // a unit struct stands for this type
//!     schema = path::to::function,                      // fn() -> Schema
//!     selectable(spec.keeper, status.pod_ip = "status.podIP", spec.source or spec.origin as "source"), index(spec.keeper),
//!     column("Name", path, priority = 1, type = integer, format = name, description = "…"),
//!     columns = path::TO_SLICE,                         // &'static [Column], for computed cells
//!     row_conditions = path::to::function,              // fn(&Object) -> &'static [RowCondition]
//!     scale(replicas = path, current = path, selector = path),
//!     status, generation, ttl_seconds = 3600, returns_deleted_object, without_deletecollection,
//!     strategy = Type, subresource(Type, verbs(create)),
//! )]
//! ```

mod attributes;
mod model;

pub use attributes::column::{ColumnAttribute, ColumnFormat, ColumnKind};
pub use attributes::path::FieldPath;
pub use attributes::scale::ScaleAttribute;
pub use attributes::subresource::{SubresourceAttribute, Verb};
pub use model::names::plural_of;
pub use model::{Columns, ObjectKind, OwnObject, ResourceModel, ResourceScope, is_annotated};
