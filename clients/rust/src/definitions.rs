//! Definitions of custom resources: reads them, and waits until they are established.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use registry_core::codec::{Limits, yaml};
use serde_json::Value;

use crate::{StartError, TestServer};

const PATH: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// Maximum time until definitions are established.
const PATIENCE: Duration = Duration::from_secs(30);

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
    let text = std::fs::read_to_string(path).map_err(|error| unreadable(path, &error))?;
    let mut found = Vec::new();
    for document in separate(&text) {
        let decoded = yaml::decode(document.as_bytes(), &Limits::default());
        let value = decoded.map_err(|error| unreadable(path, &error))?.value;
        if value.get("kind").is_some_and(|kind| kind == "CustomResourceDefinition") {
            found.push(value);
        }
    }
    Ok(found)
}

/// Returns the documents of a file that are not empty.
fn separate(text: &str) -> Vec<String> {
    let mut documents = vec![String::new()];
    for line in text.lines() {
        if line == "---" || line.starts_with("--- ") {
            documents.push(String::new());
        } else if let Some(document) = documents.last_mut() {
            document.push_str(line);
            document.push('\n');
        }
    }
    let is_content = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    documents.retain(|document| document.lines().any(is_content));
    documents
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
    let path = format!("{PATH}/{}", name(definition));
    let begun = Instant::now();
    loop {
        let present = server.request("GET", &path, &Value::Null).await?;
        let all =
            present.pointer("/status/conditions").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let is = |condition: &Value, kind: &str, status: &str| {
            let has = |field: &str, wanted: &str| condition.get(field).is_some_and(|value| value == wanted);
            has("type", kind) && has("status", status)
        };
        if all.iter().any(|condition| is(condition, "Established", "True")) {
            return Ok(());
        }
        let is_refused = all.iter().any(|condition| is(condition, "NamesAccepted", "False"));
        if is_refused || begun.elapsed() > PATIENCE {
            return Err(refused(definition, Value::from(all).to_string()));
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

fn refused(definition: &Value, reason: String) -> StartError {
    StartError::Definition { name: name(definition).to_owned(), reason }
}

fn name(definition: &Value) -> &str {
    definition.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_separated_into_documents_with_content() {
        let text = "# a comment\n---\nkind: A\n--- # second\nkind: B\ntext: |\n  ---\n---\n\n";
        assert_eq!(separate(text), ["kind: A\n", "kind: B\ntext: |\n  ---\n"]);
        assert_eq!(separate("\n---\n"), [] as [&str; 0]);
    }
}
