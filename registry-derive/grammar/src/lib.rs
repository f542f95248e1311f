//! The grammar of `#[resource(…)]`, shared by the derive macro and code generation.
//!
//! [`ResourceModel::parse`] converts an annotated struct to a validated model, or returns all its errors at once, each
//! at the author's tokens. Neither user parses attributes itself, so both always agree.
//!
#![doc = include_str!("../grammar.md")]

mod attributes;
mod model;
pub mod reference;

pub use attributes::column::{ColumnAttribute, ColumnFormat, ColumnKind};
pub use attributes::path::FieldPath;
pub use attributes::release::Release;
pub use attributes::retired::{Renew, RetiredVersion};
pub use attributes::scale::ScaleAttribute;
pub use attributes::subresource::{SubresourceAttribute, Verb};
pub use model::names::plural_of;
pub use model::{Columns, ObjectKind, OwnObject, ResourceModel, ResourceScope, WriteRules, is_annotated};
