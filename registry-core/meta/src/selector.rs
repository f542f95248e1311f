//! Label and field selectors, and shards of a list.
//!
//! Kubernetes concept: [labels and selectors](https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/),
//! [field selectors](https://kubernetes.io/docs/concepts/overview/working-with-objects/field-selectors/).

use crate::go_text::quote;
use crate::validation::ErrorList;

mod field;
mod label;
pub mod sharding;

pub use field::{FieldRequirement, FieldSelector};
pub use label::{LabelOperator, LabelRequirement, LabelSelector};

/// Error of a selector that is not valid. Not retryable. The texts are Kubernetes'.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    /// A label selector does not match the grammar.
    #[error("found '{found}'{expected}")]
    Unexpected {
        /// The word or symbol; empty at the end.
        found: String,
        /// The end of the sentence, with what is expected in its place.
        expected: &'static str,
    },
    /// A requirement of a label selector in text form is not valid.
    #[error("unable to parse requirement: {0}")]
    Requirement(Box<Self>),
    /// A key or a value is not that of a label.
    #[error("{0}")]
    Label(ErrorList),
    /// An expression has an unknown operator.
    #[error("{} is not a valid label selector operator", quote(.0))]
    Operator(String),
    /// A term of a field selector has no operator.
    #[error("invalid selector: '{selector}'; can't understand '{term}'")]
    Term {
        /// The whole selector.
        selector: String,
        /// The term.
        term: String,
    },
    /// A value of a field selector has an unknown escape sequence.
    #[error("invalid field selector: invalid escape sequence: {0}")]
    EscapeSequence(String),
    /// A value of a field selector has a character that must be escaped.
    #[error("invalid field selector: unescaped character in value: {}", u32::from(*.0))]
    Unescaped(char),
}
