//! Compares encodings by the generated tables with upstream's objects. The data is in the directory `ORLOP_UPSTREAM`.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use registry_core::codec::{Limits, protobuf};
use registry_core::schema::TypeTable;
use serde_json::Value;

use super::builder::Builder;
use super::go::{self, GoFacts};
use super::openapi::OpenApi;
use super::{FactsError, read_json};

/// Returns the Go type of an object's kind.
fn go_type(object: &Value) -> Option<String> {
    let api_version = object.get("apiVersion")?.as_str()?;
    let kind = object.get("kind")?.as_str()?;
    if kind.ends_with("Options") && !kind.starts_with("Pod") && !kind.ends_with("ProxyOptions") {
        return Some(format!("k8s.io/apimachinery/pkg/apis/meta/v1.{kind}"));
    }
    if kind == "APIGroup" {
        return Some("k8s.io/apimachinery/pkg/apis/meta/v1.APIGroup".to_owned());
    }
    let (group, version) = api_version.split_once('/').unwrap_or(("core", api_version));
    let group = match group.split('.').next()? {
        "internal" => "apiserverinternal",
        group => group,
    };
    Some(format!("k8s.io/api/{group}/{version}.{kind}"))
}

/// Includes kinds that are no longer served: the tables made from Go's facts are valid for all of them.
#[test]
fn every_object_of_upstream_is_byte_exact_in_protobuf() -> Result<(), FactsError> {
    let Some(upstream) = std::env::var_os("ORLOP_UPSTREAM").map(PathBuf::from) else {
        // Not `println!`: the harness hides the output of tests that pass.
        let text = "ORLOP_UPSTREAM names no directory with upstream's data";
        io::stderr()
            .write_all(
                format!("SKIPPED every_object_of_upstream_is_byte_exact_in_protobuf: {text}\n").as_bytes(),
            )
            .unwrap();
        return Ok(());
    };
    let go = GoFacts::read(&upstream)?;
    let openapi = OpenApi::read(&upstream)?;
    let mut checked = 0;
    for entry in std::fs::read_dir(upstream.join("testdata")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "pb") {
            continue;
        }
        let json: Value = read_json(&path.with_extension("json"))?;
        let Some(go_type) = go_type(&json) else { continue };
        let mut builder = Builder::new(&go, &openapi);
        builder.structure(&go_type)?;
        let table = Arc::new(TypeTable::parse(&builder.finish(&[].into())).unwrap());
        let schema = table.schema_named(&go::openapi_name(&go_type)).unwrap();

        let expected = std::fs::read(&path).unwrap();
        let api_version = json["apiVersion"].as_str().unwrap();
        let kind = json["kind"].as_str().unwrap();
        let encoded = protobuf::encode(&json, &schema, api_version, kind).unwrap();
        assert!(*encoded == *expected, "{}", path.display());
        let decoded = protobuf::decode(&expected, &Limits::default(), |_, _| Some(&schema)).unwrap();
        assert_eq!(decoded, json, "{}", path.display());
        checked += 1;
    }
    println!("{checked} objects are the same both ways");
    assert!(checked > 90, "only {checked} objects were checked");
    Ok(())
}
