//! The fields of the `scale` subresource in a custom resource.

use registry_core::api::{ErrorList, FieldError, FieldPath, go_text};
use registry_core::resource::ScalePaths;
use serde_json::Value;

use super::intern::{self, Path};
use crate::api::apiextensions::customresourcedefinitions::definition::Scale;

/// The paths of the scale, and their texts in the definition, for messages.
#[derive(Clone, Debug)]
pub(super) struct ScaleRules {
    pub(super) paths: ScalePaths,
    definition: Scale,
}

/// The reason for which a field cannot be read.
struct WrongType {
    path: String,
    found: Value,
    expected: &'static str,
}

// === impl ScaleRules ===

impl ScaleRules {
    pub(super) fn new(definition: &Scale) -> Self {
        let paths = ScalePaths {
            replicas: path(&definition.spec_replicas_path),
            current: path(&definition.status_replicas_path),
            selector: definition.label_selector_path.as_deref().map(path),
        };
        Self { paths, definition: definition.clone() }
    }

    /// Validates the wanted number of replicas.
    pub(super) fn validate_spec(&self, object: &Value, errors: &mut ErrorList) {
        replicas(object, self.paths.replicas, &self.definition.spec_replicas_path, errors);
    }

    /// Validates the actual number of replicas and the selector.
    pub(super) fn validate_status(&self, object: &Value, errors: &mut ErrorList) {
        replicas(object, self.paths.current, &self.definition.status_replicas_path, errors);
        let (Some(path), Some(text)) = (self.paths.selector, &self.definition.label_selector_path) else {
            return;
        };
        if let Err(wrong) = scalar(object, path, "string", |value| value.as_str().map(drop)) {
            errors.push(FieldError::invalid(FieldPath::new(text), "", wrong.text()));
        }
    }
}

/// Splits a path at its dots, without the leading one.
fn path(text: &str) -> Path {
    intern::texts(text.strip_prefix('.').unwrap_or(text).split('.'))
}

fn replicas(object: &Value, path: Path, text: &str, errors: &mut ErrorList) {
    let field = FieldPath::new(text);
    match scalar(object, path, "int64", Value::as_i64) {
        Err(wrong) => errors.push(FieldError::invalid(field, 0, wrong.text())),
        Ok(Some(count)) if count < 0 => {
            errors.push(FieldError::invalid(field, count, "should be a non-negative integer"));
        }
        Ok(Some(count)) if count > i64::from(i32::MAX) => {
            let text = format!("should be less than or equal to {}", i32::MAX);
            errors.push(FieldError::invalid(field, count, text));
        }
        Ok(_) => {}
    }
}

/// Reads the value at a path; `None` if there is none.
fn scalar<T>(
    object: &Value,
    path: Path,
    expected: &'static str,
    read: impl FnOnce(&Value) -> Option<T>,
) -> Result<Option<T>, WrongType> {
    let wrong = |length: usize, found: &Value, expected| WrongType {
        path: path.get(..length).unwrap_or(path).join("."),
        found: found.clone(),
        expected,
    };
    let mut value = object;
    for (depth, step) in path.iter().enumerate() {
        value = match value {
            Value::Object(fields) => match fields.get(*step) {
                Some(value) => value,
                None => return Ok(None),
            },
            Value::Null => return Ok(None),
            other => return Err(wrong(depth + 1, other, "map[string]interface{}")),
        };
    }
    match read(value) {
        Some(read) => Ok(Some(read)),
        None => Err(wrong(path.len(), value, expected)),
    }
}

// === impl WrongType ===

impl WrongType {
    fn text(&self) -> String {
        let Self { path, found, expected } = self;
        let kind = go_text::type_name(found);
        let shown = go_text::print(found);
        format!(".{path} accessor error: {shown} is of the type {kind}, expected {expected}")
    }
}

#[cfg(test)]
mod tests {
    use registry_core::api::ErrorList;
    use serde_json::{Value, json};

    use super::{Scale, ScaleRules};

    fn errors(object: &Value) -> Vec<String> {
        let rules = ScaleRules::new(&Scale {
            spec_replicas_path: ".spec.replicas".to_owned(),
            status_replicas_path: ".status.replicas".to_owned(),
            label_selector_path: Some(".status.selector".to_owned()),
        });
        let mut errors = ErrorList::default();
        rules.validate_spec(object, &mut errors);
        rules.validate_status(object, &mut errors);
        errors.0.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn counts_are_small_and_not_negative() {
        assert!(errors(&json!({})).is_empty());
        assert!(
            errors(&json!({"spec": {"replicas": 3}, "status": {"replicas": 0, "selector": "a=b"}}))
                .is_empty()
        );
        let object = json!({"spec": {"replicas": -1}, "status": {"replicas": 2_147_483_648_i64}});
        let expected = [
            ".spec.replicas: Invalid value: -1: should be a non-negative integer",
            ".status.replicas: Invalid value: 2147483648: should be less than or equal to 2147483647",
        ];
        assert_eq!(errors(&object), expected);
    }

    #[test]
    fn types_are_checked() {
        let object = json!({"spec": {"replicas": "3"}, "status": [1, {"a": null}]});
        let expected = [
            ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: 3 is of the type string, expected int64",
            ".status.replicas: Invalid value: 0: .status.replicas accessor error: [1 map[a:<nil>]] is of the type \
             []interface {}, expected map[string]interface{}",
            ".status.selector: Invalid value: \"\": .status.selector accessor error: [1 map[a:<nil>]] is of the type \
             []interface {}, expected map[string]interface{}",
        ];
        assert_eq!(errors(&object), expected);
    }
}
