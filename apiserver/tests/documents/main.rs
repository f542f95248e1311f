//! Files for operators, and the pages of the guide: what they name exists, and what they show happens.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "test code")]

mod command_line;
mod deployment;
mod expressions;
mod guide;
mod monitoring;
mod session;

use std::path::{Path, PathBuf};

use registry_core::codec::{Limits, yaml};
use serde_json::Value;

/// Returns the path of a file of the workspace.
fn workspace(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join(path)
}

fn read(path: &str) -> String {
    std::fs::read_to_string(workspace(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the documents of a YAML file of the workspace.
fn yaml_documents(path: &str) -> Vec<Value> {
    let text = read(path);
    let documents = text.split("\n---\n").map(|document| {
        let decoded = yaml::decode(document.as_bytes(), &Limits::default())
            .unwrap_or_else(|error| panic!("{path}: {error}"));
        assert!(decoded.duplicates.is_empty(), "{path}: {:?}", decoded.duplicates);
        decoded.value
    });
    documents.collect()
}
