//! The part of an extension server's document that is about its group version.
//!
//! Kubernetes concept: `FilterSpecByPaths` of `k8s.io/kube-openapi/pkg/aggregator`.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};

use bytes::{Buf as _, Bytes};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use ring::digest::{SHA256, digest};
use serde_json::{Map, Value};

/// The prefix of references to definitions.
pub(super) const DEFINITIONS: &str = "#/definitions/";
/// The prefix of references to parameters.
pub(super) const PARAMETERS: &str = "#/parameters/";

/// The paths of a group version, and what they refer to. Kept as compressed text: it is rarely needed.
#[derive(Debug)]
pub struct RemoteSpec {
    gzip: Bytes,
    hash: Vec<u8>,
}

/// The parts of a document.
#[derive(Clone, Debug, Default)]
pub(super) struct SpecParts {
    pub(super) paths: Map<String, Value>,
    pub(super) definitions: Map<String, Value>,
    pub(super) parameters: Map<String, Value>,
}

impl PartialEq for RemoteSpec {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash
    }
}

/// Error of a text that is no document.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// It is no JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// It is JSON of another type.
    #[error("it is not an object")]
    NoObject,
    /// It cannot be compressed.
    #[error(transparent)]
    Compression(#[from] std::io::Error),
}

// === impl RemoteSpec ===

impl RemoteSpec {
    /// Reads a document (JSON), and keeps what is below the path `root` of a group version.
    ///
    /// # Errors
    /// Fails if it is no such document.
    pub fn parse(text: &[u8], root: &str) -> Result<Self, SpecError> {
        let mut document: Map<String, Value> = match serde_json::from_slice(text)? {
            Value::Object(document) => document,
            _ => return Err(SpecError::NoObject),
        };
        let mut parts = SpecParts {
            paths: objects(document.remove("paths")),
            definitions: objects(document.remove("definitions")),
            parameters: objects(document.remove("parameters")),
        };
        let prefix = format!("{root}/");
        parts.paths.retain(|path, _| path.starts_with(&prefix));
        parts.keep_used();
        Ok(parts.pack()?)
    }

    /// Returns its parts.
    pub(super) fn parts(&self) -> SpecParts {
        let mut text = Vec::new();
        // It was packed here, and memory can be read.
        let read = GzDecoder::new(self.gzip.clone().reader()).read_to_end(&mut text);
        let document = read.ok().and_then(|_| serde_json::from_slice::<Map<String, Value>>(&text).ok());
        let mut document = document.unwrap_or_default();
        SpecParts {
            paths: objects(document.remove("paths")),
            definitions: objects(document.remove("definitions")),
            parameters: objects(document.remove("parameters")),
        }
    }
}

/// Returns the entries of an object that are objects themselves.
fn objects(value: Option<Value>) -> Map<String, Value> {
    let Some(Value::Object(entries)) = value else { return Map::new() };
    entries.into_iter().filter(|(_, value)| value.is_object()).collect()
}

// === impl SpecParts ===

impl SpecParts {
    /// Removes the definitions and parameters that no path refers to, directly or through others.
    pub(super) fn keep_used(&mut self) {
        let mut used = BTreeSet::new();
        let mut open: Vec<&Value> = self.paths.values().collect();
        while let Some(value) = open.pop() {
            each_reference(value, &mut |reference| {
                if used.contains(reference) {
                    return;
                }
                let found = match (reference.strip_prefix(DEFINITIONS), reference.strip_prefix(PARAMETERS)) {
                    (Some(name), _) => self.definitions.get(name),
                    (_, Some(name)) => self.parameters.get(name),
                    _ => None,
                };
                if let Some(found) = found {
                    used.insert(reference.to_owned());
                    open.push(found);
                }
            });
        }
        self.definitions.retain(|name, _| used.contains(&format!("{DEFINITIONS}{name}")));
        self.parameters.retain(|name, _| used.contains(&format!("{PARAMETERS}{name}")));
    }

    fn pack(self) -> std::io::Result<RemoteSpec> {
        let document = Map::from_iter([
            ("paths".to_owned(), Value::Object(self.paths)),
            ("definitions".to_owned(), Value::Object(self.definitions)),
            ("parameters".to_owned(), Value::Object(self.parameters)),
        ]);
        let text = serde_json::to_vec(&document)?;
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(&text)?;
        let hash = digest(&SHA256, &text).as_ref().to_vec();
        Ok(RemoteSpec { gzip: gzip.finish()?.into(), hash })
    }
}

/// Calls a function for each reference in a value.
fn each_reference<'v>(value: &'v Value, found: &mut impl FnMut(&'v str)) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(reference) if name == "$ref" => found(reference),
                    _ => each_reference(value, found),
                }
            }
        }
        Value::Array(elements) => elements.iter().for_each(|element| each_reference(element, found)),
        _ => {}
    }
}

/// Changes each reference in a value for which `rename` returns another.
pub(super) fn rename_references(value: &mut Value, rename: &impl Fn(&str) -> Option<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(reference) if name == "$ref" => {
                        if let Some(renamed) = rename(reference) {
                            *reference = renamed;
                        }
                    }
                    _ => rename_references(value, rename),
                }
            }
        }
        Value::Array(elements) => {
            for element in elements {
                rename_references(element, rename);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_the_group_version_uses_is_kept() {
        let document = json!({
            "paths": {
                "/apis/g.example.com/v1/": { "get": {} },
                "/apis/g.example.com/v1/a": {
                    "get": { "responses": { "200": { "schema": { "$ref": "#/definitions/A" } } } },
                    "parameters": [{ "$ref": "#/parameters/p" }],
                },
                "/apis/g.example.com/v10/a": { "get": { "schema": { "$ref": "#/definitions/Other" } } },
                "/apis/apps/v1/deployments": { "get": {} },
                "/api/v1/secrets": { "get": {} },
                "/apis/g.example.com/v1/b": "no object",
            },
            "definitions": {
                "A": { "properties": { "self": { "$ref": "#/definitions/A" }, "b": { "$ref": "#/definitions/B" } } },
                "B": { "type": "string" },
                "Other": { "type": "string" },
                "Broken": 7,
            },
            "parameters": { "p": { "name": "pretty" }, "q": {} },
        });
        let spec = RemoteSpec::parse(document.to_string().as_bytes(), "/apis/g.example.com/v1").unwrap();
        let parts = spec.parts();
        let names = |entries: &Map<String, Value>| entries.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&parts.paths), ["/apis/g.example.com/v1/", "/apis/g.example.com/v1/a"]);
        assert_eq!(names(&parts.definitions), ["A", "B"]);
        assert_eq!(names(&parts.parameters), ["p"]);
        for wrong in ["", "[]", "{", "7"] {
            assert!(RemoteSpec::parse(wrong.as_bytes(), "/apis/g.example.com/v1").is_err(), "{wrong}");
        }
    }
}
