//! Metadata of custom resources and of the resources embedded in them.
//!
//! Kubernetes concept: `k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta`.

use serde_json::{Map, Value};

use crate::conform::MAX_ISSUE_BYTES;
use crate::{ConformError, FieldIssue, Schema, TypeTable};
use registry_meta::go_text::{escape_html, type_name};
use registry_meta::validation::names::{self, NameRule};
use registry_meta::validation::object_meta::validate_object_meta;
use registry_meta::{ErrorList, FieldError, FieldPath, Object};

use super::limited::Limited;
use super::node::{Flags, NodeId, Tree};

pub(super) const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
pub(super) const METADATA: &str = "metadata";
const NOT_A_STRING: &str = "must be a string";
/// Stands for the name of an embedded resource, which need not have one.
const NO_NAME: &str = "fakename";

struct Coercer<'a> {
    tree: &'a Tree,
    drop_invalid: bool,
    issues: &'a mut Vec<FieldIssue>,
    issue_bytes_left: usize,
}

/// Checks and normalises the object's own metadata.
pub(super) fn coerce_own(
    value: &mut Value,
    drop_invalid: bool,
    issues: &mut Vec<FieldIssue>,
) -> Result<(), ConformError> {
    let Value::Object(map) = value else {
        let found = crate::scalars::type_name(value);
        let text = format!("json: cannot unmarshal {found} into Go value of type map[string]interface {{}}");
        return Err(ConformError { text, of_map: None });
    };
    let Some(metadata) = map.get_mut(METADATA) else { return Ok(()) };
    let mut unknown = Vec::new();
    coerce(metadata, drop_invalid, &mut unknown)?;
    issues.extend(unknown.into_iter().map(|issue| issue.below(METADATA)));
    Ok(())
}

/// Checks and normalises the metadata of the resources embedded in a value.
pub(super) fn coerce_embedded(
    tree: &Tree,
    root: NodeId,
    value: &mut Value,
    drop_invalid: bool,
    issues: &mut Vec<FieldIssue>,
) -> Result<(), ConformError> {
    let first = issues.len();
    let mut coercer = Coercer { tree, drop_invalid, issues, issue_bytes_left: MAX_ISSUE_BYTES };
    coercer.value(root, value, &FieldPath::root())?;
    if let Some(added) = issues.get_mut(first..) {
        added.sort_unstable();
    }
    Ok(())
}

/// Drops the fields of metadata that `ObjectMeta` does not have, or has as another type.
///
/// # Errors
/// Fails if it is not an object.
pub(super) fn drop_malformed(metadata: &mut Value) -> Result<(), ConformError> {
    coerce(metadata, true, &mut Vec::new())
}

/// Normalises metadata as Go does by decoding it into `ObjectMeta`; adds the fields that this does not have.
fn coerce(
    metadata: &mut Value,
    drop_invalid: bool,
    issues: &mut Vec<FieldIssue>,
) -> Result<(), ConformError> {
    if metadata.is_null() {
        *metadata = Value::Object(Map::new());
        return Ok(());
    }
    let Some(schema) = object_meta() else { return Ok(()) };
    if !drop_invalid {
        schema.conform(metadata, issues)?;
    } else if let Value::Object(map) = metadata {
        map.retain(|key, value| {
            let mut alone = Map::new();
            alone.insert(key.clone(), value.take());
            let mut alone = Value::Object(alone);
            let is_valid = schema.conform(&mut alone, issues).is_ok();
            match alone.get_mut(key).filter(|_| is_valid) {
                Some(conformed) => *value = conformed.take(),
                None => return false,
            }
            true
        });
    } else {
        let text = format!("invalid metadata: expected object, got {}", type_name(metadata));
        return Err(ConformError { text, of_map: None });
    }
    Ok(())
}

fn object_meta() -> Option<Schema> {
    TypeTable::meta().schema_named(OBJECT_META)
}

// === impl Coercer ===

impl Coercer<'_> {
    fn value(&mut self, id: NodeId, value: &mut Value, path: &FieldPath) -> Result<(), ConformError> {
        let node = self.tree.node(id);
        if !node.is(Flags::HAS_EMBEDDED) {
            return Ok(());
        }
        match value {
            Value::Object(map) => {
                if node.is(Flags::EMBEDDED) {
                    self.resource(map, path)?;
                }
                for (key, value) in map {
                    if let Some(id) = node.property(key) {
                        self.value(id, value, &path.child(key))?;
                    } else if let Some(id) = node.additional_schema() {
                        self.value(id, value, &path.key(key))?;
                    }
                }
            }
            Value::Array(list) => {
                let Some(items) = node.items else { return Ok(()) };
                for (index, item) in list.iter_mut().enumerate() {
                    self.value(items, item, &path.index(index))?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn resource(&mut self, map: &mut Map<String, Value>, path: &FieldPath) -> Result<(), ConformError> {
        for field in ["apiVersion", "kind"] {
            let Some(value) = map.get(field).filter(|value| !value.is_string()) else { continue };
            if !self.drop_invalid {
                return Err(refused(path.child(field), value, NOT_A_STRING));
            }
            map.remove(field);
        }
        let Some(metadata) = map.get_mut(METADATA) else { return Ok(()) };
        let path = path.child(METADATA);
        let mut unknown = Vec::new();
        // The message shows the metadata as sent.
        let sent = metadata.clone();
        match coerce(metadata, self.drop_invalid, &mut unknown) {
            Ok(()) => {}
            Err(_) if self.drop_invalid => {}
            Err(error) => return Err(refused(path, &sent, &error.text)),
        }
        let path = path.to_string();
        for issue in unknown {
            if self.issue_bytes_left == 0 {
                break;
            }
            let issue = issue.below(&path);
            self.issue_bytes_left = self.issue_bytes_left.saturating_sub(issue.to_string().len());
            self.issues.push(issue);
        }
        Ok(())
    }
}

fn refused(path: FieldPath, value: &Value, why: &str) -> ConformError {
    let error = FieldError::invalid(path, value.clone(), why).shown_as(escape_html(value.to_string()));
    ConformError { text: error.to_string(), of_map: None }
}

// === validation ===

/// Validates the resources embedded in a value.
pub(super) fn validate_embedded(
    tree: &Tree,
    root: NodeId,
    path: &FieldPath,
    value: &Value,
    errors: &mut ErrorList,
) {
    validate_value(tree, root, path, value, &mut Limited::new(errors));
}

fn validate_value(tree: &Tree, id: NodeId, path: &FieldPath, value: &Value, errors: &mut Limited<'_>) {
    let node = tree.node(id);
    if !node.is(Flags::HAS_EMBEDDED) || errors.is_full() {
        return;
    }
    match value {
        Value::Object(map) => {
            if node.is(Flags::EMBEDDED) {
                let mut found = ErrorList::default();
                validate_resource(map, path, &mut found);
                for error in found.0 {
                    errors.push(error);
                }
            }
            for (key, value) in map {
                if let Some(id) = node.property(key) {
                    validate_value(tree, id, &path.child(key), value, errors);
                } else if let Some(id) = node.additional_schema() {
                    validate_value(tree, id, &path.key(key), value, errors);
                }
            }
        }
        Value::Array(list) => {
            let Some(items) = node.items else { return };
            for (index, item) in list.iter().enumerate() {
                validate_value(tree, items, &path.index(index), item, errors);
            }
        }
        _ => {}
    }
}

fn validate_resource(map: &Map<String, Value>, path: &FieldPath, errors: &mut ErrorList) {
    validate_api_version(map.get("apiVersion"), path.child("apiVersion"), errors);
    validate_kind(map.get("kind"), path.child("kind"), errors);
    let Some(metadata) = map.get(METADATA) else { return };
    let path = path.child(METADATA);
    let mut metadata = metadata.clone();
    if let Err(error) = coerce(&mut metadata, false, &mut Vec::new()) {
        errors.push(FieldError::invalid(path, metadata, error.text));
        return;
    }
    let mut object = Object::default();
    object.0.insert(METADATA.to_owned(), metadata);
    if object.name().is_empty() {
        object.metadata_mut().insert("name".to_owned(), NO_NAME.into());
    }
    let namespaced = !object.namespace().is_empty();
    errors.append(validate_object_meta(&object, namespaced, NameRule::PathSegment, &path));
}

fn validate_api_version(value: Option<&Value>, path: FieldPath, errors: &mut ErrorList) {
    let error = match value {
        None => FieldError::required(path, ""),
        Some(Value::String(text)) if text.is_empty() => FieldError::invalid(path, "", "must not be empty"),
        Some(Value::String(text)) if text.matches('/').count() > 1 => {
            let detail = format!("unexpected GroupVersion string: {text}");
            FieldError::invalid(path, text.as_str(), detail)
        }
        Some(Value::String(_)) => return,
        Some(other) => FieldError::invalid(path, other.clone(), NOT_A_STRING),
    };
    errors.push(error);
}

fn validate_kind(value: Option<&Value>, path: FieldPath, errors: &mut ErrorList) {
    let error = match value {
        None => FieldError::required(path, ""),
        Some(Value::String(text)) if text.is_empty() => FieldError::invalid(path, "", "must not be empty"),
        Some(Value::String(text)) => {
            let complaints = names::dns_1035_label(&text.to_lowercase());
            if complaints.is_empty() {
                return;
            }
            let complaints = complaints.join(",");
            let detail = format!("may have mixed case, but should otherwise match: {complaints}");
            FieldError::invalid(path, text.as_str(), detail)
        }
        Some(other) => FieldError::invalid(path, other.clone(), NOT_A_STRING),
    };
    errors.push(error);
}
