//! Label and field selectors.
//!
//! Kubernetes concept: [labels and selectors](https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/),
//! [field selectors](https://kubernetes.io/docs/concepts/overview/working-with-objects/field-selectors/).

mod field;
mod label;

pub use field::{FieldRequirement, FieldSelector};
pub use label::{LabelOperator, LabelRequirement, LabelSelector};

/// Error of parsing a selector, with position and cause.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SelectorError(pub String);
