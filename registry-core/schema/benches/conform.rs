//! The cost of reading the table of types, and of conforming an object to its schema. Run with
//! `cargo bench -p registry-schema`. The codecs are measured by `cargo bench -p registry-core --bench codecs`.

#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a bench ends at what is missing, and divan's functions are its text"
)]

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use divan::Bencher;
use registry_meta::budget::Budget;
use registry_schema::TypeTable;
use serde_json::{Value, json};

static FACTS: LazyLock<String> = LazyLock::new(|| {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../resources/src/generated");
    std::fs::read_to_string(directory.join("types.facts")).unwrap()
});

fn main() {
    divan::main();
}

/// A ConfigMap of 1.4 KB.
fn config_map() -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "a", "namespace": "b", "labels": {"app": "x"}, "uid": "u", "creationTimestamp": "2026-01-02T03:04:05Z"},
        "data": {"k": "x".repeat(1100), "l": "v"},
    })
}

/// A Pod with every field, if `ORLOP_UPSTREAM` names a directory with upstream's data.
fn pod() -> Option<Value> {
    let directory = PathBuf::from(std::env::var_os("ORLOP_UPSTREAM")?);
    Some(
        serde_json::from_slice(&std::fs::read(directory.join("testdata/core.v1.Pod.json")).unwrap()).unwrap(),
    )
}

#[divan::bench]
fn parse_the_table() -> TypeTable {
    TypeTable::parse(&FACTS).unwrap()
}

#[divan::bench(args = ["ConfigMap", "Pod"])]
fn conform_and_default(bencher: Bencher<'_, '_>, kind: &str) {
    let object = if kind == "Pod" { pod() } else { Some(config_map()) };
    let Some(object) = object else {
        println!("SKIPPED {kind}: ORLOP_UPSTREAM names no directory with upstream's data");
        return;
    };
    let schema = Arc::new(TypeTable::parse(&FACTS).unwrap()).schema_of("v1", kind).unwrap();
    bencher.with_inputs(|| object.clone()).bench_local_refs(|copy| {
        schema.conform(copy, &mut Vec::new()).unwrap();
        schema.apply_defaults(copy, &Budget::unlimited()).unwrap();
    });
}
