//! Definitions of custom resources: reads them, and waits until they are established.

use std::path::{Path, PathBuf};

use registry_core::codec::{Limits, yaml};
use serde_json::Value;

use crate::{StartError, TestServer};

const PATH: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// The definitions that a server begins with.
#[derive(Default)]
pub(crate) struct Definitions {
    pub(crate) objects: Vec<Value>,
    pub(crate) paths: Vec<PathBuf>,
}

// === impl Definitions ===

impl Definitions {
    /// Returns all of them, those of files last.
    pub(crate) fn read(self) -> Result<Vec<Value>, StartError> {
        let mut all = self.objects;
        for path in self.paths {
            for file in files(&path)? {
                all.extend(documents(&file)?);
            }
        }
        Ok(all)
    }
}

/// Returns the file at a path, or the files with definitions in a directory, in order.
fn files(path: &Path) -> Result<Vec<PathBuf>, StartError> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = std::fs::read_dir(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let entries = entries.map_err(|error| unreadable(path, &error))?;
    let is_read = |path: &PathBuf| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        matches!(extension, Some("yaml" | "yml" | "json")) && path.is_file()
    };
    let mut files: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).filter(is_read).collect();
    files.sort();
    Ok(files)
}

/// Returns the definitions in a file.
fn documents(path: &Path) -> Result<Vec<Value>, StartError> {
    let text = std::fs::read(path).map_err(|error| unreadable(path, &error))?;
    let documents = yaml::decode_all(&text, &Limits::default()).map_err(|error| unreadable(path, &error))?;
    let values = documents.into_iter().map(|document| document.value);
    Ok(values
        .filter(|value| value.get("kind").is_some_and(|kind| kind == "CustomResourceDefinition"))
        .collect())
}

fn unreadable(path: &Path, error: &impl ToString) -> StartError {
    StartError::File { path: path.to_owned(), reason: error.to_string() }
}

/// Creates all definitions, and waits until each is established.
pub(crate) async fn establish(server: &TestServer, definitions: &[Value]) -> Result<(), StartError> {
    for definition in definitions {
        let created = server.request("POST", PATH, definition).await;
        created.map_err(|error| refused(definition, error.reason))?;
    }
    for definition in definitions {
        wait_until_established(server, definition).await?;
    }
    Ok(())
}

async fn wait_until_established(server: &TestServer, definition: &Value) -> Result<(), StartError> {
    let decided = server.inner().until(PATH, name(definition), |present| {
        has(present, "Established", "True") || has(present, "NamesAccepted", "False")
    });
    let decided = decided.await.map_err(|error| refused(definition, error.to_string()))?;
    if has(&decided, "Established", "True") {
        return Ok(());
    }
    Err(refused(definition, conditions(&decided).map(ToString::to_string).collect::<Vec<_>>().join(", ")))
}

/// Whether a definition has a condition.
fn has(definition: &Value, kind: &str, status: &str) -> bool {
    conditions(definition).any(|condition| {
        let is = |field: &str, wanted: &str| condition.get(field).is_some_and(|value| value == wanted);
        is("type", kind) && is("status", status)
    })
}

fn conditions(definition: &Value) -> impl Iterator<Item = &Value> {
    definition.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten()
}

fn refused(definition: &Value, reason: String) -> StartError {
    StartError::Definition { name: name(definition).to_owned(), reason }
}

fn name(definition: &Value) -> &str {
    definition.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default()
}
