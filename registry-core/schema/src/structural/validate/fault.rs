//! The violations of a schema, and Kubernetes' words for them.

use std::collections::HashSet;

use serde_json::Value;

use registry_meta::go_text::{self, escape_html, quote};
use registry_meta::validation::FieldErrorKind;
use registry_meta::{ErrorList, FieldError, FieldPath};

use super::super::limited::Limited;
use super::number::Num;
use super::place::Path;

/// A violation of the schema.
pub(super) struct Fault<'a> {
    pub(super) path: Path,
    pub(super) problem: Problem<'a>,
}

/// The kinds of violations.
pub(super) enum Problem<'a> {
    /// The value has another type.
    Type { wanted: &'a str, found: &'a str },
    /// The property is absent.
    Required,
    /// The value is not in an enum.
    Accepted { values: &'a [Value], value: &'a Value },
    /// The string has too many characters.
    TooLong { most: i64 },
    /// The string has too few characters.
    TooShort { least: i64, text: &'a str },
    /// The string does not match; `error`: the pattern cannot be compiled.
    Pattern { pattern: &'a str, error: Option<String>, text: &'a str },
    /// The number is outside of a range: `relation` and `bound` describe it.
    Range { relation: &'static str, bound: Num, value: Num },
    /// The number is not a multiple.
    MultipleOf { factor: Num, value: Num },
    /// The factor is not positive.
    BadFactor(Num),
    /// A number does not fit its type and format; `name` names the number.
    Unfit { name: &'static str, kind: &'static str, format: Option<&'a str> },
    /// A list or object has too many elements or properties.
    TooMany { count: i64, most: i64 },
    /// A list or object has too few of them.
    TooFew { count: i64, least: i64, parts: &'static str },
    /// The object has a property that it must not have.
    Forbidden(&'a str),
    /// None of the schemas matches.
    AnyOf,
    /// Not exactly one of the schemas matches.
    OneOf { valid: usize },
    /// Not all of the schemas match.
    AllOf { none: bool },
    /// The schema matches.
    Not,
}

/// Adds the errors for these faults, each message once.
pub(super) fn report(faults: &[Fault<'_>], base: &FieldPath, errors: &mut ErrorList) {
    let mut known = HashSet::new();
    let mut errors = Limited::new(errors);
    for fault in faults {
        if errors.is_full() {
            break;
        }
        let error = fault.error(base);
        let text = error.to_string();
        let length = text.len();
        if known.insert(text) {
            errors.push_of_length(error, length);
        } else {
            errors.count(length);
        }
    }
}

// === impl Fault ===

impl Fault<'_> {
    fn error(&self, base: &FieldPath) -> FieldError {
        let name = self.path.to_string();
        let field = match name.strip_prefix('.').unwrap_or(&name) {
            "" => base.clone(),
            trimmed => base.child(trimmed),
        };
        match &self.problem {
            Problem::Required => FieldError::required(field, ""),
            Problem::TooLong { most } => FieldError {
                kind: FieldErrorKind::TooLong,
                field,
                value: None,
                shown: None,
                detail: format!("may not be more than {most} bytes"),
            },
            Problem::TooMany { count, most } => FieldError {
                kind: FieldErrorKind::TooMany,
                field,
                value: Some((*count).into()),
                shown: None,
                detail: format!("must have at most {most} items"),
            },
            Problem::Accepted { values, value } => FieldError {
                kind: FieldErrorKind::NotSupported,
                field,
                value: Some((*value).clone()),
                shown: shown(value),
                detail: accepted(values),
            },
            Problem::Type { found, .. } => FieldError {
                kind: FieldErrorKind::TypeInvalid,
                ..FieldError::invalid(field, *found, self.detail(&name))
            },
            // Errors without a field, whose messages contain the path.
            Problem::AnyOf
            | Problem::OneOf { .. }
            | Problem::AllOf { .. }
            | Problem::Not
            | Problem::Unfit { .. } => FieldError::invalid(base.clone(), "", self.detail(&name)),
            _ => {
                let value = self.value();
                let error = FieldError::invalid(field, value.clone(), self.detail(&name));
                FieldError { shown: shown(&value), ..error }
            }
        }
    }

    /// Returns the value in the message.
    fn value(&self) -> Value {
        match &self.problem {
            Problem::TooShort { text, .. } | Problem::Pattern { text, .. } | Problem::Forbidden(text) => {
                (*text).into()
            }
            Problem::Range { value, .. } | Problem::MultipleOf { value, .. } => value.to_value(),
            Problem::BadFactor(factor) => factor.to_value(),
            Problem::TooFew { count, .. } => (*count).into(),
            _ => Value::Null,
        }
    }

    fn detail(&self, path: &str) -> String {
        match &self.problem {
            Problem::Type { wanted, found } => {
                format!("{path} in body must be of type {wanted}: {}", quote(found))
            }
            Problem::TooShort { least, .. } => {
                format!("{path} in body should be at least {least} chars long")
            }
            Problem::Pattern { pattern, error: None, .. } => {
                format!("{path} in body should match '{pattern}'")
            }
            Problem::Pattern { pattern, error: Some(error), .. } => {
                format!("{path} in body should match '{pattern}, but pattern is invalid: {error}'")
            }
            Problem::Range { relation, bound, .. } => format!("{path} in body should be {relation} {bound}"),
            Problem::MultipleOf { factor, .. } => format!("{path} in body should be a multiple of {factor}"),
            Problem::BadFactor(factor) => {
                format!("factor MultipleOf declared for {path} must be positive: {factor}")
            }
            Problem::Unfit { name, kind, format: None } => {
                format!("{name} value must be of type {kind} (default format) in {path}")
            }
            Problem::Unfit { name, kind, format: Some(format) } => {
                format!("{name} value must be of type {kind} with format {format} in {path}")
            }
            Problem::TooFew { least, parts, .. } => {
                format!("{path} in body should have at least {least} {parts}")
            }
            Problem::Forbidden(key) => format!("{path}.{key} in body is a forbidden property"),
            Problem::AnyOf => format!("{} must validate at least one schema (anyOf)", quote(path)),
            Problem::OneOf { valid } => {
                let path = quote(path);
                let found = match valid {
                    0 => "Found none valid".to_owned(),
                    several => format!("Found {several} valid alternatives"),
                };
                format!("{path} must validate one and only one schema (oneOf). {found}")
            }
            Problem::AllOf { none } => {
                let none = if *none { ". None validated" } else { "" };
                format!("{} must validate all the schemas (allOf){none}", quote(path))
            }
            Problem::Not => format!("{} must not validate the schema (not)", quote(path)),
            Problem::Required
            | Problem::Accepted { .. }
            | Problem::TooLong { .. }
            | Problem::TooMany { .. } => String::new(),
        }
    }
}

/// Returns how a message shows a value, if not as the JSON of a [`FieldError`].
fn shown(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(quote(text)),
        Value::Number(number) if number.is_f64() => number.as_f64().map(go_text::float),
        Value::Array(_) | Value::Object(_) => Some(escape_html(value.to_string())),
        _ => None,
    }
}

/// Lists the values of an enum.
fn accepted(values: &[Value]) -> String {
    let text = |value: &Value| match value {
        Value::String(text) => quote(text),
        other => quote(&escape_html(other.to_string())),
    };
    let texts: Vec<String> = values.iter().map(text).collect();
    format!("supported values: {}", texts.join(", "))
}
