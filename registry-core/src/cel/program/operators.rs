//! Arithmetic, comparison and membership.

use std::cmp::Ordering;
use std::sync::Arc;

use super::Binary;
use crate::cel::value::{Evaluated, EvaluationError, List, Value, compare, fail, no_such_overload};

/// Maximum length of a list that is made of two.
const MAX_ELEMENTS: usize = 1_000_000;
const INT_OVERFLOW: &str = "integer overflow";
const UINT_OVERFLOW: &str = "unsigned integer overflow";

/// Applies an operator.
pub(super) fn binary<'a>(operator: Binary, left: &Value<'a>, right: &Value<'a>) -> Evaluated<'a> {
    match operator {
        Binary::Add => add(left, right),
        Binary::Subtract => subtract(left, right),
        Binary::Multiply | Binary::Divide | Binary::Modulo => multiplicative(operator, left, right),
        Binary::Equal => compare::equal(left, right).map(Value::Bool),
        Binary::NotEqual => compare::equal(left, right).map(|equal| Value::Bool(!equal)),
        Binary::Less => ordered(left, right, Ordering::is_lt),
        Binary::LessEqual => ordered(left, right, Ordering::is_le),
        Binary::Greater => ordered(left, right, Ordering::is_gt),
        Binary::GreaterEqual => ordered(left, right, Ordering::is_ge),
        Binary::In => is_in(left, right),
    }
}

fn ordered<'a>(left: &Value<'a>, right: &Value<'a>, holds: fn(Ordering) -> bool) -> Evaluated<'a> {
    compare::compare(left, right).map(|ordering| Value::Bool(holds(ordering)))
}

fn is_in<'a>(element: &Value<'a>, container: &Value<'a>) -> Evaluated<'a> {
    match container {
        Value::List(list) => {
            for other in list.iter() {
                if compare::equal(element, &other?)? {
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

fn add<'a>(left: &Value<'a>, right: &Value<'a>) -> Evaluated<'a> {
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
        (Value::List(a), Value::List(b)) => add_lists(a, b),
        (Value::Duration(a), Value::Duration(b)) => {
            checked(a.checked_add(*b), Value::Duration, "duration overflow")
        }
        (Value::Duration(span), Value::Timestamp(time)) | (Value::Timestamp(time), Value::Duration(span)) => {
            checked(time.add(*span), Value::Timestamp, "timestamp overflow")
        }
        _ => no_such_overload(),
    }
}

fn add_lists<'a>(first: &List<'a>, second: &List<'a>) -> Evaluated<'a> {
    if second.is_empty() {
        return Ok(Value::List(first.clone()));
    }
    if first.len() + second.len() > MAX_ELEMENTS {
        return Err(Box::new(EvaluationError::CostLimitExceeded));
    }
    compare::concatenate(first, second)
}

fn subtract<'a>(left: &Value<'a>, right: &Value<'a>) -> Evaluated<'a> {
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => checked(a.checked_sub(*b), Value::Int, INT_OVERFLOW),
        (Value::Uint(a), Value::Uint(b)) => checked(a.checked_sub(*b), Value::Uint, UINT_OVERFLOW),
        (Value::Double(a), Value::Double(b)) => Ok(Value::Double(a - b)),
        (Value::Duration(a), Value::Duration(b)) => {
            checked(a.checked_sub(*b), Value::Duration, "duration overflow")
        }
        (Value::Timestamp(a), Value::Timestamp(b)) => {
            checked(a.since(b), Value::Duration, "duration overflow")
        }
        (Value::Timestamp(time), Value::Duration(span)) => {
            let earlier = span.checked_neg().and_then(|span| time.add(span));
            checked(earlier, Value::Timestamp, "timestamp overflow")
        }
        _ => no_such_overload(),
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
        _ => no_such_overload(),
    }
}

/// Changes the sign of a number.
#[allow(clippy::needless_pass_by_value, reason = "it is passed where values are consumed")]
pub(super) fn negate(value: Value<'_>) -> Evaluated<'_> {
    match value {
        Value::Int(number) => checked(number.checked_neg(), Value::Int, INT_OVERFLOW),
        Value::Double(number) => Ok(Value::Double(-number)),
        Value::Duration(span) => checked(span.checked_neg(), Value::Duration, "duration overflow"),
        _ => fail("no such overload: -_"),
    }
}
