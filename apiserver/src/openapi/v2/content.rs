//! What the document contains, created and written piece by piece.

use std::collections::BTreeSet;
use std::io::{Result, Write};

use registry_core::registry::InstalledPath;
use registry_core::schema::openapi::Descriptions;
use serde_json::{Map, Value, json};

use super::super::custom::{self, Target};
use super::super::version::Version;
use super::super::{components, gnostic, paths};
use super::{convert, roots};

/// Receives the entries of a map.
type Entries<'e> = &'e mut dyn FnMut(&str, Value) -> Result<()>;

/// The versions that the document describes.
pub(crate) struct Content<'a> {
    versions: Vec<Version<'a>>,
    descriptions: Option<Descriptions>,
}

// === impl Content ===

impl<'a> Content<'a> {
    /// Creates the content from versions, in the order in which they are written.
    pub(crate) fn new(
        versions: impl IntoIterator<Item = Version<'a>>,
        descriptions: Option<Descriptions>,
    ) -> Self {
        Self { versions: versions.into_iter().collect(), descriptions }
    }

    /// Writes the document as JSON.
    pub(super) fn write_json(&self, out: &mut dyn Write) -> Result<()> {
        out.write_all(b"{\"definitions\":{")?;
        let mut separator = "";
        self.definitions(&mut |name, schema| write_entry(out, &mut separator, name, &schema))?;
        out.write_all(b"},\"paths\":{")?;
        let mut separator = "";
        self.paths(&mut |path, item| write_entry(out, &mut separator, path, &item))?;
        out.write_all(b"}")?;
        let mut separator = ",";
        for (name, value) in head() {
            write_entry(out, &mut separator, &name, &value)?;
        }
        out.write_all(b"}")
    }

    /// Writes the document as protobuf. Each entry is a message of its own: decoders merge those of the same field.
    pub(super) fn write_protobuf(&self, out: &mut dyn Write) -> Result<()> {
        out.write_all(&gnostic::v2(&Value::Object(head())))?;
        self.paths(&mut |path, item| out.write_all(&gnostic::v2(&json!({ "paths": { path: item } }))))?;
        self.definitions(&mut |name, schema| {
            out.write_all(&gnostic::v2(&json!({ "definitions": { name: schema } })))
        })
    }

    fn paths(&self, give: Entries<'_>) -> Result<()> {
        let own = self.versions.iter().filter(|version| !version.is_custom()).map(|version| version.id);
        for (path, item) in roots::paths(own) {
            give(&path, item)?;
        }
        for version in &self.versions {
            for (path, item) in paths::of_version(version.id, &version.paths) {
                give(&path, convert::path_item(item))?;
            }
        }
        Ok(())
    }

    /// Gives the definitions: those that versions share at once, those of custom kinds one by one.
    fn definitions(&self, give: Entries<'_>) -> Result<()> {
        let (custom, own): (Vec<&Version<'_>>, Vec<&Version<'_>>) =
            self.versions.iter().partition(|version| version.is_custom());
        let custom: Vec<&InstalledPath> =
            custom.iter().flat_map(|version| version.paths.iter().copied()).collect();
        let mut shared = Map::new();
        let descriptions = self.descriptions.as_ref();
        for version in own {
            let schemas = components::of_version(version.id, &version.paths, descriptions, Target::V2);
            add_definitions(&mut shared, schemas);
        }
        if !custom.is_empty() {
            add_definitions(&mut shared, components::used_by_custom(&custom, descriptions));
        }
        let names: BTreeSet<String> = shared.keys().cloned().collect();
        for (name, schema) in shared {
            give(&name, schema)?;
        }
        for (name, schema) in custom.iter().flat_map(|path| custom::components(path, Target::V2)) {
            // A definition of the server takes precedence.
            if !names.contains(&name) {
                give(&name, convert::schema(schema))?;
            }
        }
        Ok(())
    }
}

fn write_entry(out: &mut dyn Write, separator: &mut &'static str, name: &str, value: &Value) -> Result<()> {
    out.write_all(separator.as_bytes())?;
    *separator = ",";
    serde_json::to_writer(&mut *out, name)?;
    out.write_all(b":")?;
    Ok(serde_json::to_writer(&mut *out, value)?)
}

/// Returns everything but paths and definitions.
fn head() -> Map<String, Value> {
    let head = json!({
        "swagger": "2.0",
        "info": { "title": "Kubernetes", "version": "unversioned" },
        "security": [{ "BearerToken": [] }],
        "securityDefinitions": {
            "BearerToken": {
                "description": "Bearer Token authentication",
                "type": "apiKey", "name": "authorization", "in": "header",
            },
        },
    });
    if let Value::Object(head) = head { head } else { Map::new() }
}

/// Adds schemas of v3. For a shared one, the kinds of all versions are merged.
fn add_definitions(definitions: &mut Map<String, Value>, schemas: Map<String, Value>) {
    const KINDS: &str = "x-kubernetes-group-version-kind";
    for (name, schema) in schemas {
        let Some(present) = definitions.get_mut(&name) else {
            definitions.insert(name, convert::schema(schema));
            continue;
        };
        let more = schema.get(KINDS).and_then(Value::as_array).into_iter().flatten();
        if let Some(kinds) = present.get_mut(KINDS).and_then(Value::as_array_mut) {
            let known: BTreeSet<String> = kinds.iter().map(Value::to_string).collect();
            kinds.extend(more.filter(|kind| !known.contains(&kind.to_string())).cloned());
        }
    }
}
