//! A directory of files, one for each object: `NAMESPACE/NAME.json`.

use std::ffi::OsStr;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use registry_core::storage::embedded::backend::{
    Backend, BackendChange, BackendError, BackendName, BackendObject,
};
use serde_json::{Value, json};
use tempfile::NamedTempFile;

/// Interval at which the files are read again.
const RELOAD_INTERVAL: Duration = Duration::from_secs(1);

/// Objects as files.
pub struct Directory {
    path: PathBuf,
}

// === impl Directory ===

impl Directory {
    /// Creates a backend for the files below a path.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    fn file(&self, name: &BackendName) -> PathBuf {
        let namespace = name.namespace.as_deref().unwrap_or_default();
        self.path.join(namespace).join(format!("{}.json", name.name))
    }

    /// Replaces a file in one step, so that no reader sees a part of it.
    fn write(&self, name: &BackendName, json: &[u8]) -> Result<(), BackendError> {
        let file = self.file(name);
        let directory = file.parent().unwrap_or(&self.path);
        std::fs::create_dir_all(directory)?;
        let mut new = NamedTempFile::new_in(directory)?;
        new.write_all(json)?;
        new.as_file().sync_all()?;
        new.persist(file)?;
        Ok(())
    }
}

// ANCHOR: backend
impl Backend for Directory {
    fn load(&self) -> Result<Vec<BackendObject>, BackendError> {
        let mut objects = Vec::new();
        for namespace in std::fs::read_dir(&self.path)? {
            let namespace = namespace?.path();
            if !namespace.is_dir() {
                continue;
            }
            for file in std::fs::read_dir(&namespace)? {
                let file = file?.path();
                if file.extension() == Some(OsStr::new("json")) {
                    objects.push(read(&file)?);
                }
            }
        }
        Ok(objects)
    }

    fn commit(&self, changes: &[BackendChange]) -> Result<(), BackendError> {
        for change in changes {
            match &change.json {
                Some(json) => self.write(&change.name, json)?,
                None => remove(&self.file(&change.name))?,
            }
        }
        Ok(())
    }

    fn reload_interval(&self) -> Option<Duration> {
        Some(RELOAD_INTERVAL)
    }
}
// ANCHOR_END: backend

/// Reads a file. People who write one need not know the metadata of its object: the path says the name and the
/// namespace, and identifies the object.
fn read(file: &Path) -> Result<BackendObject, BackendError> {
    let unusable = |reason: &str| format!("{} {reason}", file.display());
    let part = |part: Option<&OsStr>| part.and_then(OsStr::to_str).map(str::to_owned);
    let name = part(file.file_stem()).ok_or_else(|| unusable("has no name in UTF-8"))?;
    let namespace = part(file.parent().and_then(Path::file_name));
    let namespace = namespace.ok_or_else(|| unusable("has no namespace in UTF-8"))?;

    let bytes = std::fs::read(file)?;
    let mut object: Value =
        serde_json::from_slice(&bytes).map_err(|error| unusable(&format!("is no JSON: {error}")))?;
    let fields = object.as_object_mut().ok_or_else(|| unusable("is no JSON object"))?;
    let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
    let metadata = metadata.as_object_mut().ok_or_else(|| unusable("has metadata that is not an object"))?;
    metadata.insert("name".to_owned(), name.as_str().into());
    metadata.insert("namespace".to_owned(), namespace.as_str().into());
    metadata.entry("uid").or_insert_with(|| format!("{namespace}/{name}").into());
    Ok(BackendObject {
        name: BackendName { namespace: Some(namespace), name },
        json: serde_json::to_vec(&object)?.into(),
    })
}

/// Removes a file, unless it is gone already.
fn remove(file: &Path) -> Result<(), BackendError> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}
