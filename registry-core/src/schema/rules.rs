//! Validation rules of a type in a custom schema.

use regex::Regex;
use serde_json::Value;

use crate::api::{ErrorList, FieldError, FieldPath};

/// The rules for the values of a type.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    /// The allowed values; empty if all are allowed.
    pub(super) accepted: Vec<Value>,
    pub(super) minimum: Option<Bound>,
    pub(super) maximum: Option<Bound>,
    pub(super) multiple_of: Option<f64>,
    /// Minimum number of characters of a string, elements of a list, or entries of a map.
    pub(super) least_length: Option<u64>,
    /// Maximum of the same.
    pub(super) most_length: Option<u64>,
    pub(super) pattern: Option<Pattern>,
}

/// A bound of a numeric range.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bound {
    /// The number as written in the schema.
    pub(super) number: serde_json::Number,
    /// Whether the number itself is excluded.
    pub(super) exclusive: bool,
}

/// A regular expression that a string must match at any position.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    pub(super) text: String,
    /// `None` if the text is not a valid regular expression; then no value matches.
    pub(super) regex: Option<Regex>,
}

// === impl Rules ===

impl Rules {
    /// Whether there are no rules.
    pub(super) fn is_empty(&self) -> bool {
        self.accepted.is_empty()
            && self.minimum.is_none()
            && self.maximum.is_none()
            && self.multiple_of.is_none()
            && self.least_length.is_none()
            && self.most_length.is_none()
            && self.pattern.is_none()
    }

    /// Checks a value, but not the values in it.
    pub(super) fn check(&self, value: &Value, path: &FieldPath, errors: &mut ErrorList) {
        if !self.accepted.is_empty() && !self.accepted.contains(value) {
            let texts: Vec<String> = self.accepted.iter().map(bare).collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            errors.push(FieldError::not_supported(path.clone(), value.clone(), &texts));
        }
        match value {
            Value::Number(number) => self.check_number(number, path, errors),
            Value::String(text) => self.check_string(text, path, errors),
            Value::Array(list) => self.check_count(list.len(), "items", path, errors),
            Value::Object(map) => self.check_count(map.len(), "properties", path, errors),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn check_number(&self, number: &serde_json::Number, path: &FieldPath, errors: &mut ErrorList) {
        let Some(value) = number.as_f64() else { return };
        let mut refuse = |rule: String| {
            let detail = format!("{path} in body should be {rule}");
            errors.push(FieldError::invalid(path.clone(), Value::Number(number.clone()), detail));
        };
        if let Some(Bound { number: least, exclusive }) = &self.minimum
            && least.as_f64().is_some_and(|least| value < least || (*exclusive && value <= least))
        {
            refuse(format!("greater than {}{least}", if *exclusive { "" } else { "or equal to " }));
        }
        if let Some(Bound { number: most, exclusive }) = &self.maximum
            && most.as_f64().is_some_and(|most| value > most || (*exclusive && value >= most))
        {
            refuse(format!("less than {}{most}", if *exclusive { "" } else { "or equal to " }));
        }
        if let Some(step) = self.multiple_of
            && (value / step).fract() != 0.0
        {
            refuse(format!("a multiple of {step}"));
        }
    }

    fn check_string(&self, text: &str, path: &FieldPath, errors: &mut ErrorList) {
        let length = text.chars().count() as u64;
        if self.least_length.is_some_and(|least| length < least) {
            let least = self.least_length.unwrap_or_default();
            let detail = format!("{path} in body should be at least {least} chars long");
            errors.push(FieldError::invalid(path.clone(), text, detail));
        }
        if let Some(most) = self.most_length
            && length > most
        {
            errors.push(FieldError::too_long(path.clone(), usize::try_from(most).unwrap_or(usize::MAX)));
        }
        if let Some(pattern) = &self.pattern
            && !pattern.regex.as_ref().is_some_and(|regex| regex.is_match(text))
        {
            let detail = format!("{path} in body should match '{}'", pattern.text);
            errors.push(FieldError::invalid(path.clone(), text, detail));
        }
    }

    fn check_count(&self, count: usize, what: &str, path: &FieldPath, errors: &mut ErrorList) {
        if let Some(least) = self.least_length
            && (count as u64) < least
        {
            let detail = format!("{path} in body should have at least {least} {what}");
            errors.push(FieldError::invalid(path.clone(), count, detail));
        }
        if let Some(most) = self.most_length
            && count as u64 > most
        {
            let most = usize::try_from(most).unwrap_or(usize::MAX);
            errors.push(FieldError::too_many(path.clone(), count, most));
        }
    }
}

/// Formats a value for a list of allowed values: strings as they are, everything else as JSON.
fn bare(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
