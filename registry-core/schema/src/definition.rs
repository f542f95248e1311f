//! The definition of a compiled-in kind: the JSON schema of its struct in the form of a CustomResourceDefinition's
//! `openAPIV3Schema`, so that the structs of authors and custom resources are validated by the same code.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

use registry_meta::{ErrorList, FieldPath};

use super::StructuralSchema;

mod form;
mod keywords;
mod unions;

use form::Writer;
pub(super) use keywords::{type_name, without_nulls};

/// The first step of the paths in errors about a definition.
const ROOT: &str = "schema";

/// Returns the keywords of a schema in the form of OpenAPI, without the schemas below it.
pub(super) fn openapi_keywords(schema: &Map<String, Value>) -> Map<String, Value> {
    keywords::written(schema, &FieldPath::root(), &mut ErrorList::default())
}

/// The structural schema that a struct describes.
#[derive(Clone)]
pub struct Definition(Arc<Parts>);

struct Parts {
    schema: Value,
    structural: Arc<StructuralSchema>,
    faults: ErrorList,
    /// The Rust types of schemas, by the texts of their paths.
    types: Vec<(String, String)>,
}

// === impl Definition ===

impl Definition {
    /// Converts the JSON schema of a struct.
    pub(super) fn new(generated: &Value) -> Self {
        let mut writer = Writer::new(generated);
        let schema = Value::Object(writer.root(generated, &Self::path()));
        let Writer { faults, types, .. } = writer;
        let structural = Arc::new(StructuralSchema::compile_recursive(&schema));
        Self(Arc::new(Parts { schema, structural, faults, types }))
    }

    /// Returns the path of the schema in errors about it.
    pub fn path() -> FieldPath {
        FieldPath::new(ROOT)
    }

    /// Returns the schema, as a CustomResourceDefinition would contain it.
    pub fn schema(&self) -> &Value {
        &self.0.schema
    }

    /// Returns the compiled schema.
    pub fn structural(&self) -> &Arc<StructuralSchema> {
        &self.0.structural
    }

    /// Returns what the schema says that would have no effect, or not the intended one.
    pub fn faults(&self) -> &ErrorList {
        &self.0.faults
    }

    /// Names the Rust type and field of a path in an error: `ConvoySpec.owner: pattern` for
    /// `schema.properties[spec].properties[owner].pattern`.
    pub fn explain(&self, path: &FieldPath) -> String {
        let path = path.to_string();
        self.describe(&path, usize::MAX).unwrap_or(path)
    }

    /// Names the innermost type around a path whose own path is shorter than this.
    fn describe(&self, path: &str, shorter_than: usize) -> Option<String> {
        let covers = |prefix: &str| {
            path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        let types = self.0.types.iter().filter(|(prefix, _)| prefix.len() < shorter_than && covers(prefix));
        let (prefix, name) = types.max_by_key(|(prefix, _)| prefix.len())?;
        let rest = path.get(prefix.len()..).unwrap_or_default().trim_start_matches('.');
        let field = rest.strip_prefix("properties[").and_then(|rest| rest.split_once(']'));
        Some(match field {
            Some((field, "")) => format!("{name}.{field}"),
            Some((field, rest)) => format!("{name}.{field}: {}", rest.trim_start_matches('.')),
            None => {
                let place = self.describe(prefix, prefix.len());
                let place = place.map_or_else(|| name.clone(), |place| format!("{place} ({name})"));
                if rest.is_empty() { place } else { format!("{place}: {rest}") }
            }
        })
    }
}

impl fmt::Debug for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Definition").field("structural", &self.0.structural).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
