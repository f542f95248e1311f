//! JSON values as values of expressions.

use std::sync::Arc;

use base64::Engine;
use serde_json::Value as Json;

use super::{Evaluated, EvaluationError, Map, Text, Timestamp, Value, fail, time};
use crate::budget::CostBudget;
use crate::types::{DeclType, Shape};
use crate::value::List;
use registry_meta::go_text;

/// Reads a JSON value as its declared type. Lists, maps and texts are borrowed.
pub(crate) fn adapt<'a>(json: &'a Json, declared: &'a DeclType) -> Evaluated<'a> {
    if json.is_null() {
        return match declared.shape {
            Shape::Dyn | Shape::Any | Shape::Preserved => Ok(Value::Null),
            _ if declared.nullable => Ok(Value::Null),
            _ => fail("invalid data, got null for schema with nullable=false"),
        };
    }
    match (&declared.shape, json) {
        (Shape::Dyn | Shape::Any | Shape::Preserved, _) => adapt_dyn(json, declared),
        (Shape::Object(_) | Shape::Map(_), Json::Object(fields)) => {
            Ok(Value::Map(Map::Json(fields, declared)))
        }
        (Shape::List(..), Json::Array(items)) => Ok(Value::List(List::Json(items, declared))),
        (Shape::Bool, Json::Bool(value)) => Ok(Value::Bool(*value)),
        (Shape::Int, Json::Number(number)) => match number.as_i64().or_else(|| whole(number)) {
            Some(number) => Ok(Value::Int(number)),
            None => fail("invalid data, expected int, got float64"),
        },
        (Shape::Double, Json::Number(number)) => Ok(Value::Double(number.as_f64().unwrap_or(f64::NAN))),
        (Shape::String, Json::String(text)) => Ok(Value::String(Text::Borrowed(text))),
        (_, Json::String(text)) => adapt_text(text, &declared.shape),
        (shape, json) => fail(mismatch(shape, json)),
    }
}

/// A number with a fraction part of zero is a whole number.
fn whole(number: &serde_json::Number) -> Option<i64> {
    let value = number.as_f64()?;
    (value.fract() == 0.0 && value.abs() < 9.2e18).then_some(value as i64)
}

fn adapt_dyn<'a>(json: &'a Json, declared: &'a DeclType) -> Evaluated<'a> {
    Ok(match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => Value::Int(number),
            (None, Some(number)) => Value::Uint(number),
            (None, None) => Value::Double(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::String(Text::Borrowed(text)),
        Json::Array(items) => Value::List(List::Json(items, declared)),
        Json::Object(fields) => Value::Map(Map::Json(fields, declared)),
    })
}

fn adapt_text<'a>(text: &'a str, shape: &Shape) -> Evaluated<'a> {
    match shape {
        Shape::Bytes => match base64::engine::general_purpose::STANDARD.decode(text) {
            Ok(bytes) => Ok(Value::Bytes(Arc::from(bytes))),
            Err(error) => fail(format!("Invalid byte formatted string {text}: {error}")),
        },
        Shape::Duration => match time::parse_duration(text) {
            Ok(nanoseconds) => Ok(Value::Duration(nanoseconds)),
            Err(message) => fail(format!("Invalid duration {text}: {message}")),
        },
        Shape::Date => match Timestamp::parse(&format!("{text}T00:00:00Z")) {
            Some(time) => Ok(Value::Timestamp(time)),
            None => fail(format!("Invalid date formatted string {text}: cannot parse it")),
        },
        Shape::DateTime => match Timestamp::parse(text) {
            Some(time) => Ok(Value::Timestamp(time)),
            None => fail(format!("Invalid date-time formatted string {text}: cannot parse it")),
        },
        other => fail(mismatch(other, &Json::String(String::new()))),
    }
}

fn mismatch(shape: &Shape, json: &Json) -> String {
    let expected = match shape {
        Shape::Object(_) | Shape::Map(_) => {
            return "invalid data, expected a map for the provided schema with type=object".to_owned();
        }
        Shape::List(..) => {
            return "invalid data, expected an array for the provided schema with type=array".to_owned();
        }
        Shape::Bool => "bool",
        Shape::Int => "int",
        Shape::Double => "float",
        _ => "string",
    };
    format!("invalid data, expected {expected}, got {}", go_text::type_name(json))
}

// === impl Value: to JSON ===

/// Memory that a value in JSON takes beside its text.
const BYTES_PER_VALUE: usize = 64;

impl Value<'_> {
    /// The value as JSON; `None` for what JSON cannot say: types, absent values, keys that are no text.
    ///
    /// # Errors
    /// Fails if the budget is exhausted: parts that values share are copied each time.
    pub fn to_json(&self, budget: &CostBudget<'_>) -> Result<Option<Json>, EvaluationError> {
        self.json(budget).map_err(|error| *error)
    }

    fn json(&self, budget: &CostBudget<'_>) -> Result<Option<Json>, Box<EvaluationError>> {
        budget.visit(1)?;
        budget.take_bytes(BYTES_PER_VALUE)?;
        let text = |text: String| {
            budget.take_bytes(text.len())?;
            Ok(Some(Json::String(text)))
        };
        Ok(Some(match self {
            Self::Null => Json::Null,
            Self::Bool(value) => Json::Bool(*value),
            Self::Int(number) => Json::from(*number),
            Self::Uint(number) => Json::from(*number),
            Self::Double(number) => Json::from(*number),
            Self::String(value) => return text(value.as_str().to_owned()),
            Self::Bytes(bytes) => return text(base64::engine::general_purpose::STANDARD.encode(bytes)),
            Self::Duration(nanoseconds) => return text(time::format_duration(*nanoseconds)),
            Self::Timestamp(time) => return text(time.to_string()),
            Self::List(List::Json(items, _)) => {
                items.iter().try_for_each(|item| take_json(item, budget))?;
                Json::Array((*items).clone())
            }
            Self::List(list) => {
                let mut items = Vec::new();
                for item in list.iter() {
                    let Ok(item) = item else { return Ok(None) };
                    let Some(item) = item.json(budget)? else { return Ok(None) };
                    items.push(item);
                }
                Json::Array(items)
            }
            Self::Map(Map::Json(fields, _)) => {
                fields.values().try_for_each(|value| take_json(value, budget))?;
                Json::Object((*fields).clone())
            }
            Self::Map(map) => {
                let Ok(entries) = map.entries() else { return Ok(None) };
                let mut fields = serde_json::Map::new();
                for (key, value) in entries {
                    let (Some(key), Some(value)) = (key.as_str(), value.json(budget)?) else {
                        return Ok(None);
                    };
                    fields.insert(key.to_owned(), value);
                }
                Json::Object(fields)
            }
            Self::Optional(Some(value)) => return value.json(budget),
            Self::Type(_) | Self::Optional(None) | Self::Foreign(_) => return Ok(None),
        }))
    }
}

/// Takes what a copy of a JSON value needs.
fn take_json(value: &Json, budget: &CostBudget<'_>) -> Result<(), Box<EvaluationError>> {
    budget.visit(1)?;
    budget.take_bytes(BYTES_PER_VALUE)?;
    match value {
        Json::String(text) => budget.take_bytes(text.len()),
        Json::Array(items) => items.iter().try_for_each(|item| take_json(item, budget)),
        Json::Object(fields) => fields.iter().try_for_each(|(key, value)| {
            budget.take_bytes(key.len())?;
            take_json(value, budget)
        }),
        _ => Ok(()),
    }
}
