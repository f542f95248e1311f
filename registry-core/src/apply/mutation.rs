//! Merging a configuration that an admission policy applies: nothing has a manager, and nothing is removed.
//!
//! Kubernetes concept: `ApplyStructuredMergeDiff` in `k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch`.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::api::Object;
use crate::schema::{ListKind, Schema, TypeRef};

use super::check::Mismatches;
use super::merge;
use super::shape::ValueShape;

/// Error of an apply configuration that cannot be merged. The texts are Kubernetes'.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// Parts have other types than the fields.
    #[error("failed to convert patch object to typed object: {0}")]
    Types(Mismatches),
    /// The fields with these paths can only be replaced as a whole.
    #[error("invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {}", .0.join(", "))]
    Atomics(Vec<String>),
}

/// Merges the configuration that an expression made into an object. The result is not conformed.
///
/// # Errors
/// Fails with Kubernetes' message if the configuration does not match the type, or sets parts of what can only be replaced
/// as a whole.
pub fn merge_configuration(
    schema: &Schema,
    live: &Object,
    configuration: &Map<String, Value>,
) -> Result<Object, MergeError> {
    let root = schema.root();
    let mismatches = Mismatches::find_in_expression(root, configuration);
    if !mismatches.is_empty() {
        return Err(MergeError::Types(mismatches));
    }
    let mut atomics = Vec::new();
    find_atomics(root, configuration, &mut String::new(), &mut atomics);
    if !atomics.is_empty() {
        return Err(MergeError::Atomics(atomics));
    }
    let mut fields = live.0.clone();
    merge::merge_maps(ValueShape::Struct(root), &mut fields, configuration);
    Ok(Object(fields))
}

fn find_atomics(ty: TypeRef<'_>, fields: &Map<String, Value>, path: &mut String, found: &mut Vec<String>) {
    if ty.is_atomic() {
        found.push(path.clone());
    }
    for (name, value) in fields {
        let Some(field) = ty.field(name) else { continue };
        let length = path.len();
        path.push('.');
        path.push_str(name);
        find_atomics_in(field.ty(), value, path, found);
        path.truncate(length);
    }
}

fn find_atomics_in(ty: TypeRef<'_>, value: &Value, path: &mut String, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) if ty.scalar().is_none() => find_atomics(ty, fields, path, found),
        Value::Array(items) => {
            let Some(element) = ty.element() else { return };
            if ty.list_kind() == Some(ListKind::Atomic) {
                found.push(path.clone());
            }
            for (index, item) in items.iter().enumerate() {
                let length = path.len();
                // Writing to a string cannot fail.
                let _ = write!(path, "[{index}]");
                find_atomics_in(element, item, path, found);
                path.truncate(length);
            }
        }
        _ => {}
    }
}
