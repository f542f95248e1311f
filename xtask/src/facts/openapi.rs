//! Facts from the OpenAPI documents.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use serde_json::{Map, Value};

use super::{FactsError, read_json};

/// The components of all documents.
#[derive(Default)]
pub(super) struct OpenApi {
    schemas: BTreeMap<String, Value>,
    kinds: BTreeMap<String, BTreeSet<[String; 3]>>,
}

// === impl OpenApi ===

impl OpenApi {
    pub(super) fn read(upstream: &Path) -> Result<Self, FactsError> {
        let directory = upstream.join("openapi/v3");
        let failed = |source| FactsError::Io { path: directory.clone(), source };
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(&directory).map_err(failed)? {
            paths.push(entry.map_err(failed)?.path());
        }
        paths.sort();
        let mut openapi = Self::default();
        for path in paths.iter().filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        {
            openapi.add(&read_json(path)?);
        }
        Ok(openapi)
    }

    /// Adds the components of a document.
    pub(super) fn add(&mut self, document: &Value) {
        let schemas = document.pointer("/components/schemas").and_then(Value::as_object);
        for (name, schema) in schemas.into_iter().flatten() {
            let kinds = schema.get("x-kubernetes-group-version-kind").and_then(Value::as_array);
            let kinds = kinds.into_iter().flatten().map(|kind| {
                ["group", "version", "kind"]
                    .map(|part| kind.get(part).and_then(Value::as_str).unwrap_or_default().to_owned())
            });
            self.kinds.entry(name.clone()).or_default().extend(kinds);
            self.schemas.entry(name.clone()).or_insert_with(|| schema.clone());
        }
    }

    /// The names of all components, sorted.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.schemas.keys().map(String::as_str)
    }

    /// Groups, versions and kinds of a component.
    pub(super) fn kinds(&self, name: &str) -> impl Iterator<Item = [String; 3]> {
        self.kinds.get(name).into_iter().flatten().cloned()
    }

    pub(super) fn schema(&self, name: &str) -> Option<&Value> {
        self.schemas.get(name)
    }

    /// The fields of a component.
    pub(super) fn properties(&self, name: &str) -> Option<&Map<String, Value>> {
        self.schema(name)?.get("properties")?.as_object()
    }

    /// Whether a component lists a field as required.
    pub(super) fn is_required(&self, name: &str, field: &str) -> bool {
        let required = self.schema(name).and_then(|schema| schema.get("required")?.as_array());
        required.is_some_and(|required| required.iter().any(|listed| listed == field))
    }

    /// All texts, in the form `registry_core::schema::openapi::Descriptions` reads.
    pub(super) fn descriptions(&self) -> String {
        let mut text = String::new();
        for (name, schema) in &self.schemas {
            let about = |schema: &Value| schema.get("description").cloned().unwrap_or_default();
            // Writing into a string cannot fail.
            let _ = writeln!(text, "t {name} {}", about(schema));
            if let Some(unions) = schema.get("x-kubernetes-unions") {
                let _ = writeln!(text, "u {unions}");
            }
            for (field, schema) in self.properties(name).into_iter().flatten() {
                if schema.get("description").is_some() {
                    let _ = writeln!(text, " {field} {}", about(schema));
                }
            }
        }
        text
    }
}
