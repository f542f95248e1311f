//! Label selectors: `app=web,tier in (front,back),!canary`.

use std::fmt;

use serde_json::Value;

use crate::validation::{ErrorList, FieldError, FieldPath, names};

use super::SelectorError;

mod parse;

/// A conjunction of requirements. The empty selector matches everything.
///
/// Kubernetes concept: `labels.Selector`. `Display` writes the text that [`parse`](Self::parse) reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector {
    /// The requirements on the object's labels.
    pub requirements: Vec<LabelRequirement>,
}

/// A requirement on one label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelRequirement {
    /// The label's key.
    pub key: String,
    /// The condition on its value.
    pub operator: LabelOperator,
}

/// A condition on one label's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LabelOperator {
    /// Present, with one of these values.
    In(Vec<String>),
    /// Absent, or with none of these values.
    NotIn(Vec<String>),
    /// Present.
    Exists,
    /// Absent.
    DoesNotExist,
    /// Present, and a whole number greater than this.
    GreaterThan(i64),
    /// Present, and a whole number less than this.
    LessThan(i64),
}

// === impl LabelSelector ===

impl LabelSelector {
    /// Parses the query-parameter form. Requirements are sorted by key; values are sorted and deduplicated.
    ///
    /// # Errors
    /// Fails if the text does not match the grammar or a key or value is not a valid label.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        parse::parse(text).map(Self::sorted)
    }

    /// Returns the selector that matches no object.
    pub fn nothing() -> Self {
        Self {
            requirements: vec![LabelRequirement {
                key: String::new(),
                operator: LabelOperator::In(Vec::new()),
            }],
        }
    }

    /// Converts a `metav1.LabelSelector` (`matchLabels`, `matchExpressions`). Null matches nothing, the empty selector
    /// matches everything.
    ///
    /// # Errors
    /// Fails if an operator is unknown or a key or value is not a valid label.
    pub fn from_object(selector: &Value) -> Result<Self, SelectorError> {
        if selector.is_null() {
            return Ok(Self::nothing());
        }
        let mut requirements = Vec::new();
        for (key, value) in selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten() {
            let value = value.as_str().unwrap_or_default().to_owned();
            requirements.push(LabelRequirement::new(key, OperatorKeyword::In, vec![value])?);
        }
        for expression in selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten() {
            requirements.push(from_expression(expression)?);
        }
        Ok(Self::sorted(requirements))
    }

    /// Whether the selector is empty.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether the labels, given by a look-up function, satisfy all requirements.
    pub fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.requirements.iter().all(|requirement| requirement.operator.matches(label(&requirement.key)))
    }

    fn sorted(mut requirements: Vec<LabelRequirement>) -> Self {
        requirements.sort_by(|left, right| left.key.cmp(&right.key));
        Self { requirements }
    }
}

fn from_expression(expression: &Value) -> Result<LabelRequirement, SelectorError> {
    let text = |field| expression.get(field).and_then(Value::as_str).unwrap_or_default();
    let operation = match text("operator") {
        "In" => OperatorKeyword::In,
        "NotIn" => OperatorKeyword::NotIn,
        "Exists" => OperatorKeyword::Exists,
        "DoesNotExist" => OperatorKeyword::DoesNotExist,
        other => return Err(SelectorError::Operator(other.to_owned())),
    };
    let values = expression.get("values").and_then(Value::as_array).into_iter().flatten();
    let values = values.map(|value| value.as_str().unwrap_or_default().to_owned()).collect();
    LabelRequirement::new(text("key"), operation, values)
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, requirement) in self.requirements.iter().enumerate() {
            write!(f, "{}{requirement}", if at == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

// === impl LabelRequirement ===

/// The operator of a requirement before its values are checked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OperatorKeyword {
    In,
    NotIn,
    Exists,
    DoesNotExist,
    GreaterThan,
    LessThan,
}

impl LabelRequirement {
    /// Validates the key and the values; reports all errors.
    fn new(key: &str, operation: OperatorKeyword, mut values: Vec<String>) -> Result<Self, SelectorError> {
        let path = FieldPath::new("values");
        let mut errors = ErrorList::default();
        if let Some(error) = invalid(FieldPath::new("key"), key, &names::qualified_name(key)) {
            errors.push(error);
        }
        check_count(operation, &values, &path, &mut errors);
        let numbers = operation == OperatorKeyword::GreaterThan || operation == OperatorKeyword::LessThan;
        let mut number = 0;
        for (at, value) in values.iter().enumerate() {
            if numbers {
                match value.parse() {
                    Ok(parsed) => number = parsed,
                    Err(_) => errors.push(FieldError::invalid(
                        path.index(at),
                        value.as_str(),
                        "for 'Gt', 'Lt' operators, the value must be an integer",
                    )),
                }
            }
            if let Some(error) = invalid(path.index(at).key(key), value, &names::label_value(value)) {
                errors.push(error);
            }
        }
        if !errors.is_empty() {
            return Err(SelectorError::Label(errors));
        }
        values.sort_unstable();
        values.dedup();
        let operator = match operation {
            OperatorKeyword::In => LabelOperator::In(values),
            OperatorKeyword::NotIn => LabelOperator::NotIn(values),
            OperatorKeyword::Exists => LabelOperator::Exists,
            OperatorKeyword::DoesNotExist => LabelOperator::DoesNotExist,
            OperatorKeyword::GreaterThan => LabelOperator::GreaterThan(number),
            OperatorKeyword::LessThan => LabelOperator::LessThan(number),
        };
        Ok(Self { key: key.to_owned(), operator })
    }
}

fn check_count(operation: OperatorKeyword, values: &[String], path: &FieldPath, errors: &mut ErrorList) {
    let complaint = match operation {
        OperatorKeyword::In | OperatorKeyword::NotIn if values.is_empty() => {
            "for 'in', 'notin' operators, values set can't be empty"
        }
        OperatorKeyword::Exists | OperatorKeyword::DoesNotExist if !values.is_empty() => {
            "values set must be empty for exists and does not exist"
        }
        _ => return,
    };
    errors.push(FieldError::invalid(path.clone(), values.to_vec(), complaint));
}

/// Combines all messages about a key or value into one error, as Kubernetes' selectors do.
fn invalid(path: FieldPath, value: &str, complaints: &[String]) -> Option<FieldError> {
    (!complaints.is_empty()).then(|| FieldError::invalid(path, value, complaints.join("; ")))
}

impl fmt::Display for LabelRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        match &self.operator {
            LabelOperator::In(values) => match values.as_slice() {
                [only] => write!(f, "{key}={only}"),
                many => write!(f, "{key} in ({})", many.join(",")),
            },
            LabelOperator::NotIn(values) => match values.as_slice() {
                [only] => write!(f, "{key}!={only}"),
                many => write!(f, "{key} notin ({})", many.join(",")),
            },
            LabelOperator::Exists => f.write_str(key),
            LabelOperator::DoesNotExist => write!(f, "!{key}"),
            LabelOperator::GreaterThan(number) => write!(f, "{key}>{number}"),
            LabelOperator::LessThan(number) => write!(f, "{key}<{number}"),
        }
    }
}

// === impl LabelOperator ===

impl LabelOperator {
    /// Whether a label's value (`None` if the object does not have the label) satisfies the operator.
    pub fn matches(&self, value: Option<&str>) -> bool {
        let number = || value.and_then(|text| text.parse::<i64>().ok());
        match self {
            Self::In(values) => value.is_some_and(|value| values.iter().any(|listed| listed == value)),
            Self::NotIn(values) => value.is_none_or(|value| values.iter().all(|listed| listed != value)),
            Self::Exists => value.is_some(),
            Self::DoesNotExist => value.is_none(),
            Self::GreaterThan(limit) => number().is_some_and(|number| number > *limit),
            Self::LessThan(limit) => number().is_some_and(|number| number < *limit),
        }
    }
}

#[cfg(test)]
mod tests;
