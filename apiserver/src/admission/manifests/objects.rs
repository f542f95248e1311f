//! The objects in files: decoded, defaulted and validated by the code that serves the API.

use std::path::Path;
use std::sync::Arc;

use registry_core::api::Object;
use registry_core::codec::{Decoded, Limits, json, yaml};
use registry_core::registry::{UnacceptedError, accept_unstored};
use registry_core::resource::ResourceType;
use serde_json::{Map, Value};

use super::checks::{self, SeenNames};
use super::error::{InvalidManifest, ManifestsError};
use super::{ManifestFiles, ManifestPlugin};

/// The kind of a list of objects of any kind, whose version does not count.
const LIST: &str = "List";

/// The objects of a plug-in, by name.
pub(in crate::admission) struct Manifests {
    /// The configurations of webhooks, or the policies.
    pub(in crate::admission) main: Vec<Object>,
    /// The bindings of the policies.
    pub(in crate::admission) bindings: Vec<Object>,
}

/// Reads the objects of the files of a directory.
struct Reader {
    plugin: ManifestPlugin,
    main: Collected,
    bindings: Option<Collected>,
}

/// The objects of one kind.
struct Collected {
    resource: Arc<ResourceType>,
    objects: Vec<Object>,
    seen: SeenNames,
}

// === impl Manifests ===

impl Manifests {
    /// Reads the objects in files.
    ///
    /// # Errors
    /// Fails if one of them cannot be enforced.
    pub(super) fn from_files(plugin: ManifestPlugin, files: &ManifestFiles) -> Result<Self, ManifestsError> {
        let mut reader = Reader {
            plugin,
            main: Collected::new(plugin.main_kind().instantiate()),
            bindings: plugin.binding_kind().map(|kind| Collected::new(kind.instantiate())),
        };
        for file in files.iter() {
            reader
                .read(&file.path, &file.content)
                .map_err(|error| ManifestsError::File { path: file.path.clone(), source: Box::new(error) })?;
        }
        let main = reader.main.sorted();
        let bindings = reader.bindings.map(Collected::sorted).unwrap_or_default();
        checks::check_references(&main, &bindings)?;
        Ok(Self { main, bindings })
    }
}

// === impl Reader ===

impl Reader {
    /// Reads the objects of a file. Documents without content are passed over.
    fn read(&mut self, path: &Path, content: &[u8]) -> Result<(), InvalidManifest> {
        for Decoded { value, duplicates, .. } in documents(content)? {
            if let Some(duplicate) = duplicates.into_iter().next() {
                return Err(InvalidManifest::Duplicate(duplicate));
            }
            match value {
                Value::Null => {}
                Value::Object(fields) => self.accept(path, fields)?,
                _ => return Err(InvalidManifest::NoObject),
            }
        }
        Ok(())
    }

    /// Accepts an object, or the elements of a list.
    fn accept(&mut self, path: &Path, fields: Map<String, Value>) -> Result<(), InvalidManifest> {
        let text = |field: &'static str| match fields.get(field).and_then(Value::as_str) {
            None | Some("") => Err(InvalidManifest::NoType(field)),
            Some(text) => Ok(text.to_owned()),
        };
        let (version, kind) = (text("apiVersion")?, text("kind")?);
        if kind == LIST {
            return self.accept_items(path, fields);
        }
        let collected = [Some(&mut self.main), self.bindings.as_mut()];
        for collected in collected.into_iter().flatten() {
            if collected.resource.group_version().api_version() != version {
                continue;
            }
            if collected.resource.kind.kind == kind {
                return collected.accept(path, Value::Object(fields));
            }
            if collected.resource.list_kind == kind {
                return collected.accept_list(path, fields);
            }
        }
        Err(self.unsupported(kind, version))
    }

    /// Accepts the elements of a list of any kinds.
    fn accept_items(&mut self, path: &Path, fields: Map<String, Value>) -> Result<(), InvalidManifest> {
        for item in items(fields)? {
            let Value::Object(fields) = item else {
                return Err(InvalidManifest::Item(Box::new(InvalidManifest::NoObject)));
            };
            self.accept(path, fields).map_err(|error| match error {
                InvalidManifest::NoType(_) | InvalidManifest::UnknownKind { .. } => {
                    InvalidManifest::Item(Box::new(error))
                }
                error => error,
            })?;
        }
        Ok(())
    }

    fn unsupported(&self, kind: String, version: String) -> InvalidManifest {
        let group = self.main.resource.kind.group;
        if version.split_once('/').is_none_or(|(own, _)| own != group) {
            return InvalidManifest::UnknownKind { kind, version };
        }
        let collected = [Some(&self.main), self.bindings.as_ref()].into_iter().flatten();
        let known = collected.map(|collected| {
            format!(
                "{} of {}",
                collected.resource.kind.kind,
                collected.resource.group_version().api_version()
            )
        });
        InvalidManifest::OtherKind { kind, version, plugin: self.plugin.name(), known: known.collect() }
    }
}

// === impl Collected ===

impl Collected {
    fn new(resource: Arc<ResourceType>) -> Self {
        Self { resource, objects: Vec::new(), seen: SeenNames::default() }
    }

    fn accept(&mut self, path: &Path, value: Value) -> Result<(), InvalidManifest> {
        let kind = self.resource.kind.kind;
        let name = value.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let object = accept_unstored(&self.resource, value).map_err(|source| match source {
            UnacceptedError::Refused(_) => InvalidManifest::Refused(source),
            UnacceptedError::Form(_) | UnacceptedError::UnknownFields(_) => {
                InvalidManifest::Form { kind, name, source }
            }
        })?;
        self.seen.check(object.name(), path)?;
        checks::check(kind, &object)?;
        self.objects.push(object);
        Ok(())
    }

    /// Accepts the elements of a list of this kind, which need not repeat it.
    fn accept_list(&mut self, path: &Path, fields: Map<String, Value>) -> Result<(), InvalidManifest> {
        for item in items(fields)? {
            let Value::Object(fields) = item else { return Err(InvalidManifest::NoObject) };
            let mut object = Object(fields);
            object.set_type(&self.resource.group_version().api_version(), self.resource.kind.kind);
            self.accept(path, object.into_value())?;
        }
        Ok(())
    }

    fn sorted(mut self) -> Vec<Object> {
        self.objects.sort_by(|left, right| left.name().cmp(right.name()));
        self.objects
    }
}

/// Returns the documents of a file.
fn documents(content: &[u8]) -> Result<Vec<Decoded>, InvalidManifest> {
    let limits = Limits::default();
    // A file of JSON is one document; its duplicate fields are told as those of JSON.
    if content.trim_ascii_start().starts_with(b"{")
        && let Ok(decoded) = json::decode(content, &limits)
    {
        return Ok(vec![decoded]);
    }
    Ok(yaml::decode_all(content, &limits)?)
}

/// Returns the elements of a list.
fn items(mut fields: Map<String, Value>) -> Result<Vec<Value>, InvalidManifest> {
    for field in ["apiVersion", "kind", "metadata"] {
        fields.remove(field);
    }
    let items = match fields.remove("items") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(items)) => items,
        Some(_) => return Err(InvalidManifest::NoItems),
    };
    match fields.keys().next() {
        Some(unknown) => Err(InvalidManifest::UnknownListField(unknown.clone())),
        None => Ok(items),
    }
}
