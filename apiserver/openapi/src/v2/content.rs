//! The content of the document, created and written piece by piece.

use std::collections::BTreeSet;
use std::io::{Result, Write};
use std::sync::Arc;

use registry_core::registry::InstalledPath;
use registry_core::schema::openapi::Descriptions;
use request_info::root_of;
use serde_json::{Map, Value, json};

use super::super::custom::{self, Target};
use super::super::version::Version;
use super::super::{components, gnostic, paths, roots};
use super::convert;
use super::merged::{KINDS, Merging};
use super::remote::{RemoteSpec, SpecParts};

/// Receives the entries of a map.
type Entries<'e> = &'e mut dyn FnMut(&str, Value) -> Result<()>;

/// The versions that the document describes.
pub(crate) struct Content<'a> {
    versions: Vec<Version<'a>>,
    descriptions: Option<Descriptions>,
    remote: Vec<Arc<RemoteSpec>>,
}

// === impl Content ===

impl<'a> Content<'a> {
    /// Creates the content from versions, in the order in which they are written, and the documents of extension servers,
    /// those with the highest priority first.
    pub(crate) fn new(
        versions: impl IntoIterator<Item = Version<'a>>,
        descriptions: Option<Descriptions>,
        remote: Vec<Arc<RemoteSpec>>,
    ) -> Self {
        Self { versions: versions.into_iter().collect(), descriptions, remote }
    }

    /// Writes the document as JSON.
    pub(super) fn write_json(&self, out: &mut dyn Write) -> Result<()> {
        out.write_all(b"{\"definitions\":{")?;
        let mut separator = "";
        let added = self.definitions(&mut |name, schema| write_entry(out, &mut separator, name, &schema))?;
        out.write_all(b"},\"paths\":{")?;
        let mut separator = "";
        self.paths(added.paths, &mut |path, item| write_entry(out, &mut separator, path, &item))?;
        out.write_all(b"}")?;
        let mut separator = ",";
        if !added.parameters.is_empty() {
            write_entry(out, &mut separator, "parameters", &Value::Object(added.parameters))?;
        }
        for (name, value) in head() {
            write_entry(out, &mut separator, &name, &value)?;
        }
        out.write_all(b"}")
    }

    /// Writes the document as protobuf. Each entry is a message of its own: decoders merge those of the same field.
    pub(super) fn write_protobuf(&self, out: &mut dyn Write) -> Result<()> {
        out.write_all(&gnostic::v2(&Value::Object(head())))?;
        let added = self.definitions(&mut |name, schema| {
            out.write_all(&gnostic::v2(&json!({ "definitions": { name: schema } })))
        })?;
        if !added.parameters.is_empty() {
            out.write_all(&gnostic::v2(&json!({ "parameters": added.parameters })))?;
        }
        self.paths(added.paths, &mut |path, item| {
            out.write_all(&gnostic::v2(&json!({ "paths": { path: item } })))
        })
    }

    /// Gives the paths: this server's own, and those that extension servers add.
    fn paths(&self, added: Map<String, Value>, give: Entries<'_>) -> Result<()> {
        for (path, operation) in roots::operations(&self.versions) {
            give(&path, convert::path_item(json!({ "get": operation })))?;
        }
        for version in &self.versions {
            for (path, item) in paths::version_paths(version.id, &version.paths) {
                give(&path, convert::path_item(item))?;
            }
        }
        added.into_iter().try_for_each(|(path, item)| give(&path, item))
    }

    /// Begins to merge the documents of extension servers.
    fn merging(&self) -> Merging {
        let documents: Vec<SpecParts> = self.remote.iter().map(|spec| spec.parts()).collect();
        let theirs: BTreeSet<&str> =
            documents.iter().flat_map(|document| document.paths.keys().map(String::as_str)).collect();
        let is_claimed = |version: &&Version<'_>| {
            let root = format!("{}/", root_of(version.id));
            theirs.range(&*root..).next().is_some_and(|path| path.starts_with(&root))
        };
        let claimed = self.versions.iter().filter(is_claimed);
        let own = claimed.flat_map(|version| paths::version_paths(version.id, &version.paths));
        let own: BTreeSet<String> = own.map(|(path, _)| path).collect();
        Merging::new(documents, &own)
    }

    /// Gives the definitions: those that versions share at once, those of custom kinds one by one, and then those that
    /// extension servers add. Returns all that they add.
    fn definitions(&self, give: Entries<'_>) -> Result<SpecParts> {
        let mut merging = self.merging();
        let (custom, own): (Vec<&Version<'_>>, Vec<&Version<'_>>) =
            self.versions.iter().partition(|version| version.is_custom());
        let custom: Vec<&InstalledPath> =
            custom.iter().flat_map(|version| version.paths.iter().copied()).collect();
        let mut shared = Map::new();
        let descriptions = self.descriptions.as_ref();
        for version in own {
            let schemas = components::version_schemas(version.id, &version.paths, descriptions, Target::V2);
            add_definitions(&mut shared, schemas);
        }
        if !custom.is_empty() {
            add_definitions(&mut shared, components::used_by_custom(&custom, descriptions));
        }
        add_definitions(&mut shared, Map::from_iter([roots::version_info()]));
        let names: BTreeSet<String> = shared.keys().cloned().collect();
        for (name, mut schema) in shared {
            merging.own(&name, &mut schema);
            give(&name, schema)?;
        }
        for (name, schema) in custom.iter().flat_map(|path| custom::components(path, Target::V2)) {
            // A definition of the server takes precedence.
            if !names.contains(&name) {
                let mut schema = convert::schema(schema);
                merging.own(&name, &mut schema);
                give(&name, schema)?;
            }
        }
        let mut added = merging.finish();
        for (name, schema) in std::mem::take(&mut added.definitions) {
            give(&name, schema)?;
        }
        Ok(added)
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
