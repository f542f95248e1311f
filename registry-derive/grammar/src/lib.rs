//! What `#[resource(…)]` may say: parsed once, for the derive macro and for code generation.
//!
//! [`ResourceModel::parse`] turns an annotated struct into a validated model, or into all its errors at once,
//! each at the author's tokens. Neither user looks at attributes itself, so both always agree.
//!
#![doc = include_str!("../grammar.md")]

mod attributes;
mod model;

pub use attributes::column::{ColumnAttribute, ColumnFormat, ColumnKind};
pub use attributes::path::FieldPath;
pub use attributes::scale::ScaleAttribute;
pub use attributes::subresource::{SubresourceAttribute, Verb};
pub use model::names::plural_of;
pub use model::{Columns, ObjectKind, OwnObject, ResourceModel, ResourceScope, is_annotated};
