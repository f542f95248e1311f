//! Comparisons in filters, with the rules of Go's templates: both sides have the same type.

use std::cmp::Ordering;

use super::Found;

/// The types that can be compared.
enum Operand<'a> {
    Bool(bool),
    Integer(i64),
    Float(f64),
    String(&'a str),
}

/// Error of a comparison that Go's templates refuse. The text is Kubernetes'.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum CompareError {
    /// Both sides can be compared, but not with each other.
    #[error("incompatible types for comparison")]
    Incompatible,
    /// Values of this type have no order, or cannot be compared.
    #[error("invalid type for comparison")]
    Incomparable,
    #[error("unrecognized filter operator {0}")]
    UnknownOperator(String),
}

/// Compares two values with an operator.
pub(super) fn holds(left: Found<'_>, operator: &str, right: Found<'_>) -> Result<bool, CompareError> {
    match operator {
        "==" => equal(left, right),
        "!=" => equal(left, right).map(|equal| !equal),
        "<" => less(left, right),
        "<=" => at_most(left, right),
        ">" => at_most(left, right).map(|at_most| !at_most),
        ">=" => less(left, right).map(|less| !less),
        other => Err(CompareError::UnknownOperator(other.to_owned())),
    }
}

fn equal(left: Found<'_>, right: Found<'_>) -> Result<bool, CompareError> {
    match (operand(left)?, operand(right)?) {
        (Operand::Bool(left), Operand::Bool(right)) => Ok(left == right),
        (Operand::Integer(left), Operand::Integer(right)) => Ok(left == right),
        (Operand::Float(left), Operand::Float(right)) => {
            Ok(left.partial_cmp(&right) == Some(Ordering::Equal))
        }
        (Operand::String(left), Operand::String(right)) => Ok(left == right),
        _ => Err(CompareError::Incompatible),
    }
}

fn less(left: Found<'_>, right: Found<'_>) -> Result<bool, CompareError> {
    match (operand(left)?, operand(right)?) {
        (Operand::Integer(left), Operand::Integer(right)) => Ok(left < right),
        (Operand::Float(left), Operand::Float(right)) => Ok(left < right),
        (Operand::String(left), Operand::String(right)) => Ok(left < right),
        (Operand::Bool(_), Operand::Bool(_)) => Err(CompareError::Incomparable),
        _ => Err(CompareError::Incompatible),
    }
}

fn at_most(left: Found<'_>, right: Found<'_>) -> Result<bool, CompareError> {
    Ok(less(left, right)? || equal(left, right)?)
}

fn operand(value: Found<'_>) -> Result<Operand<'_>, CompareError> {
    match value {
        Found::Bool(value) => Ok(Operand::Bool(value)),
        Found::Number(number) => Ok(match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => Operand::Integer(integer),
            (None, float) => Operand::Float(float.unwrap_or_default()),
        }),
        Found::String(text) => Ok(Operand::String(text)),
        Found::Null | Found::Array(_) | Found::Object(_) => Err(CompareError::Incomparable),
    }
}
