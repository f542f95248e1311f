//! Arithmetic, comparison and membership.

use std::cmp::Ordering;
use std::sync::Arc;

use super::Binary;
use crate::budget::CostBudget;
use crate::value::{Evaluated, EvaluationError, List, Value, compare, fail, no_such_overload};

/// Maximum length of a list that is made of two.
const MAX_ELEMENTS: usize = 1_000_000;
const INT_OVERFLOW: &str = "integer overflow";
const UINT_OVERFLOW: &str = "unsigned integer overflow";

/// Applies an operator.
pub(super) fn binary<'a>(
    operator: Binary,
    left: &Value<'a>,
    right: &Value<'a>,
    budget: &CostBudget<'_>,
) -> Evaluated<'a> {
    match operator {
        Binary::Add => add(left, right, budget),
        Binary::Subtract => subtract(left, right),
        Binary::Multiply | Binary::Divide | Binary::Modulo => multiplicative(operator, left, right),
        Binary::Equal => compare::equal(left, right, budget).map(Value::Bool),
        Binary::NotEqual => not_equal(left, right, budget),
        Binary::Less => ordered(operator, left, right, budget, Ordering::is_lt),
        Binary::LessEqual => ordered(operator, left, right, budget, Ordering::is_le),
        Binary::Greater => ordered(operator, left, right, budget, Ordering::is_gt),
        Binary::GreaterEqual => ordered(operator, left, right, budget, Ordering::is_ge),
        Binary::In => is_in(left, right, budget),
    }
}

/// Values that cannot be compared are not equal, which is not an error as it is for `==`.
fn not_equal<'a>(left: &Value<'a>, right: &Value<'a>, budget: &CostBudget<'_>) -> Evaluated<'a> {
    match compare::equal(left, right, budget) {
        Ok(equal) => Ok(Value::Bool(!equal)),
        Err(error) if matches!(*error, EvaluationError::Failed(_)) => Ok(Value::Bool(true)),
        Err(error) => Err(error),
    }
}

fn ordered<'a>(
    operator: Binary,
    left: &Value<'a>,
    right: &Value<'a>,
    budget: &CostBudget<'_>,
    holds: fn(Ordering) -> bool,
) -> Evaluated<'a> {
    if !supports(operator, left) {
        return refuse(operator, left);
    }
    compare::compare(left, right, budget).map(|ordering| Value::Bool(holds(ordering)))
}

/// Whether a type has an operator for some values on its right.
fn supports(operator: Binary, left: &Value<'_>) -> bool {
    match left {
        Value::Int(_) | Value::Uint(_) => true,
        Value::Double(_) => operator != Binary::Modulo,
        Value::Duration(_) | Value::Timestamp(_) => {
            !matches!(operator, Binary::Multiply | Binary::Divide | Binary::Modulo)
        }
        Value::String(_) | Value::Bytes(_) => {
            !matches!(operator, Binary::Subtract | Binary::Multiply | Binary::Divide | Binary::Modulo)
        }
        Value::List(_) => operator == Binary::Add,
        Value::Bool(_) => {
            matches!(operator, Binary::Less | Binary::LessEqual | Binary::Greater | Binary::GreaterEqual)
        }
        _ => false,
    }
}

/// Returns the error of operands that an operator does not take. It names the operator if it does not exist for the
/// type of the left operand, except for types with methods, whose operators are looked up as such.
fn refuse<'a>(operator: Binary, left: &Value<'a>) -> Evaluated<'a> {
    if supports(operator, left) || left.has_methods() {
        return no_such_overload();
    }
    fail(format!("no such overload: {}", operator.function()))
}

fn is_in<'a>(element: &Value<'a>, container: &Value<'a>, budget: &CostBudget<'_>) -> Evaluated<'a> {
    match container {
        Value::List(list) => {
            for other in list.iter() {
                if compare::equal(element, &other?, budget)? {
                    return Ok(Value::Bool(true));
                }
            }
            Ok(Value::Bool(false))
        }
        Value::Map(map) => Ok(Value::Bool(map.get(element).is_some())),
        _ => no_such_overload(),
    }
}

fn checked<'a, T>(
    result: Option<T>,
    make: impl FnOnce(T) -> Value<'a>,
    overflow: &'static str,
) -> Evaluated<'a> {
    match result {
        Some(result) => Ok(make(result)),
        None => fail(overflow),
    }
}

fn add<'a>(left: &Value<'a>, right: &Value<'a>, budget: &CostBudget<'_>) -> Evaluated<'a> {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => checked(a.checked_add(*b), Value::Int, INT_OVERFLOW),
        (Value::Uint(a), Value::Uint(b)) => checked(a.checked_add(*b), Value::Uint, UINT_OVERFLOW),
        (Value::Double(a), Value::Double(b)) => Ok(Value::Double(a + b)),
        (Value::String(a), Value::String(b)) => {
            let a = a.as_str();
            let b = b.as_str();
            let mut joined = String::with_capacity(a.len() + b.len());
            joined.push_str(a);
            joined.push_str(b);
            Ok(Value::string(joined))
        }
        (Value::Bytes(a), Value::Bytes(b)) => Ok(Value::Bytes(Arc::from([a.as_ref(), b.as_ref()].concat()))),
        (Value::List(a), Value::List(b)) => add_lists(a, b, budget),
        (Value::Duration(a), Value::Duration(b)) => checked(a.checked_add(*b), Value::Duration, INT_OVERFLOW),
        (Value::Duration(span), Value::Timestamp(time)) | (Value::Timestamp(time), Value::Duration(span)) => {
            checked(time.add(*span), Value::Timestamp, "timestamp overflow")
        }
        _ => refuse(Binary::Add, left),
    }
}

fn add_lists<'a>(first: &List<'a>, second: &List<'a>, budget: &CostBudget<'_>) -> Evaluated<'a> {
    if second.is_empty() {
        return Ok(Value::List(first.clone()));
    }
    if first.len() + second.len() > MAX_ELEMENTS {
        return Err(Box::new(EvaluationError::CostLimitExceeded));
    }
    compare::concatenate(first, second, budget)
}

fn subtract<'a>(left: &Value<'a>, right: &Value<'a>) -> Evaluated<'a> {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => checked(a.checked_sub(*b), Value::Int, INT_OVERFLOW),
        (Value::Uint(a), Value::Uint(b)) => checked(a.checked_sub(*b), Value::Uint, UINT_OVERFLOW),
        (Value::Double(a), Value::Double(b)) => Ok(Value::Double(a - b)),
        (Value::Duration(a), Value::Duration(b)) => checked(a.checked_sub(*b), Value::Duration, INT_OVERFLOW),
        (Value::Timestamp(a), Value::Timestamp(b)) => checked(a.since(b), Value::Duration, INT_OVERFLOW),
        (Value::Timestamp(time), Value::Duration(span)) => {
            let earlier = span.checked_neg().and_then(|span| time.add(span));
            checked(earlier, Value::Timestamp, "timestamp overflow")
        }
        _ => refuse(Binary::Subtract, left),
    }
}

fn multiplicative<'a>(operator: Binary, left: &Value<'a>, right: &Value<'a>) -> Evaluated<'a> {
    match (operator, left, right) {
        (Binary::Divide, Value::Int(_), Value::Int(0)) | (Binary::Divide, Value::Uint(_), Value::Uint(0)) => {
            fail("division by zero")
        }
        (Binary::Modulo, Value::Int(_), Value::Int(0)) | (Binary::Modulo, Value::Uint(_), Value::Uint(0)) => {
            fail("modulus by zero")
        }
        (Binary::Multiply, Value::Int(a), Value::Int(b)) => {
            checked(a.checked_mul(*b), Value::Int, INT_OVERFLOW)
        }
        (Binary::Divide, Value::Int(a), Value::Int(b)) => {
            checked(a.checked_div(*b), Value::Int, INT_OVERFLOW)
        }
        (Binary::Modulo, Value::Int(a), Value::Int(b)) => {
            checked(a.checked_rem(*b), Value::Int, INT_OVERFLOW)
        }
        (Binary::Multiply, Value::Uint(a), Value::Uint(b)) => {
            checked(a.checked_mul(*b), Value::Uint, UINT_OVERFLOW)
        }
        (Binary::Divide, Value::Uint(a), Value::Uint(b)) => {
            checked(a.checked_div(*b), Value::Uint, UINT_OVERFLOW)
        }
        (Binary::Modulo, Value::Uint(a), Value::Uint(b)) => {
            checked(a.checked_rem(*b), Value::Uint, UINT_OVERFLOW)
        }
        (Binary::Multiply, Value::Double(a), Value::Double(b)) => Ok(Value::Double(a * b)),
        (Binary::Divide, Value::Double(a), Value::Double(b)) => Ok(Value::Double(a / b)),
        _ => refuse(operator, left),
    }
}

/// Changes the sign of a number.
#[allow(clippy::needless_pass_by_value, reason = "it is passed where values are consumed")]
pub(super) fn negate(value: Value<'_>) -> Evaluated<'_> {
    match value {
        Value::Int(number) => checked(number.checked_neg(), Value::Int, INT_OVERFLOW),
        Value::Double(number) => Ok(Value::Double(-number)),
        Value::Duration(span) => checked(span.checked_neg(), Value::Duration, INT_OVERFLOW),
        other if other.has_methods() || matches!(other, Value::Bool(_)) => no_such_overload(),
        _ => fail("no such overload: -_"),
    }
}
