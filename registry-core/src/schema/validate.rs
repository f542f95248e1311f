//! Validates values against the rules of a custom schema.

use serde_json::{Map, Value};

use crate::api::validation::FieldErrorKind;
use crate::api::{ErrorList, FieldError, FieldPath};

use super::types::{ListKind, Struct, Type, TypeId, TypeShape, TypeTable};

// === impl TypeTable ===

impl TypeTable {
    /// Validates a value recursively.
    pub(super) fn validate(&self, id: TypeId, value: &Value, path: &FieldPath, errors: &mut ErrorList) {
        let ty = self.get(id);
        if let Some(rules) = &ty.rules {
            rules.check(value, path, errors);
        }
        match (&ty.shape, value) {
            (TypeShape::Struct(shape), Value::Object(map)) => self.validate_fields(shape, map, path, errors),
            (TypeShape::List { element, .. }, Value::Array(list)) => {
                for (index, item) in list.iter().enumerate() {
                    self.validate(*element, item, &path.index(index), errors);
                }
                check_distinct(ty, list, path, errors);
            }
            (TypeShape::Map { value, .. }, Value::Object(map)) => {
                for (key, item) in map {
                    self.validate(*value, item, &path.child(key), errors);
                }
            }
            _ => {}
        }
    }

    fn validate_fields(
        &self,
        shape: &Struct,
        map: &Map<String, Value>,
        path: &FieldPath,
        errors: &mut ErrorList,
    ) {
        for field in &shape.fields {
            match map.get(&*field.name) {
                Some(value) => self.validate(field.ty, value, &path.child(&field.name), errors),
                None if field.traits.required => {
                    errors.push(FieldError::required(path.child(&field.name), ""));
                }
                None => {}
            }
        }
    }
}

/// Checks that the elements of a set, or the keys of a keyed list, are distinct.
fn check_distinct(ty: &Type, list: &[Value], path: &FieldPath, errors: &mut ErrorList) {
    let TypeShape::List { kind, keys, .. } = &ty.shape else { return };
    let identity = |item: &Value| match kind {
        ListKind::Atomic => None,
        ListKind::Set => Some(item.clone()),
        ListKind::Map => {
            let key_of = |key: &std::sync::Arc<str>| Some((key.to_string(), item.get(&**key)?.clone()));
            Some(Value::Object(keys.iter().filter_map(key_of).collect()))
        }
    };
    let mut seen = std::collections::HashSet::new();
    for (index, identity) in list.iter().map(identity).enumerate() {
        if let Some(identity) = identity
            && !seen.insert(identity.to_string())
        {
            errors.push(FieldError {
                kind: FieldErrorKind::Duplicate,
                field: path.index(index),
                value: Some(identity),
                shown: None,
                detail: String::new(),
            });
        }
    }
}
