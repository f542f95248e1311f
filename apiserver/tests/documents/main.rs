//! Files for operators, and the pages of the guide: what they name exists, and what they show happens.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "test code")]

#[macro_use]
mod page;

mod command_line;
mod deployment;
mod expressions;
mod guide;
mod monitoring;
mod session;

use registry_core::codec::{Limits, yaml};
use serde_json::Value;

use page::{read, workspace};

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
