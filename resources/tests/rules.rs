//! Tables of rules: objects, and the errors and warnings that they get.
//!
//! Each line of `rules/GROUP/KIND.jsonl` is a case: `title`, `kind`, perhaps its `version`, `object`, perhaps `old` (then it
//! is an update) and `subresource` (`status`), and the expected `errors` and `warnings`, in any order. A line with `base` has
//! what the objects of the lines after it have in common; their own fields replace it, and lists replace lists.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code: a broken expectation is a failed test"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use registry_core::RequestContext;
use registry_core::api::{CreateOptions, Object};
use registry_core::registry::{InstalledApi, InstalledPath, OpenStorage};
use registry_core::resource::{ResourceType, Versions};
use registry_core::rest::AdmitAll;
use registry_core::storage::embedded::Embedded;
use registry_core::storage::transform::Identity;
use registry_core::storage::versioned::VersionedStore;
use registry_core::storage::{Interface, StorageError};
use serde_json::{Value, json};

struct InMemory(Arc<Embedded>);

impl OpenStorage for InMemory {
    fn open(&self, versions: &Arc<Versions>) -> Result<Arc<dyn Interface>, StorageError> {
        Ok(Arc::new(VersionedStore::new(self.0.clone(), Arc::new(Identity), versions.clone())))
    }

    fn prefix(&self) -> &'static str {
        "/registry"
    }
}

fn tables(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            tables(&path, found);
        } else {
            found.push(path);
        }
    }
    found.sort();
}

fn merge(into: &mut Value, own: &Value) {
    match (into, own) {
        (Value::Object(into), Value::Object(own)) => {
            for (key, value) in own {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (into, own) => *into = own.clone(),
    }
}

/// Returns an object as a store gets it.
fn decoded(resource: &ResourceType, value: &Value) -> Object {
    let mut value = value.clone();
    value["apiVersion"] = resource.group_version().api_version().into();
    value["kind"] = resource.kind.kind.into();
    let schema = resource.schema();
    schema.conform(&mut value, &mut Vec::new()).unwrap();
    schema.apply_defaults(&mut value);
    let mut object = Object::from_value(value).unwrap();
    resource.strategy.apply_defaults(&mut object);
    object
}

/// Returns the sorted errors and warnings of a case.
fn outcome(resource: &ResourceType, base: &Value, case: &Value) -> (Vec<String>, Vec<String>) {
    let object = |key: &str| {
        let mut object = base.clone();
        merge(&mut object, &case[key]);
        let mut object = decoded(resource, &object);
        if case.get("old").is_some() {
            object.set(&["metadata", "uid"], "u".into());
        }
        object
    };
    let context = RequestContext::default();
    let strategy = &resource.strategy;
    let mut new = object("object");
    let (errors, mut warnings) = if case.get("old").is_none() {
        strategy.prepare_for_create(&context, &mut new);
        (strategy.validate(&context, &new), strategy.warnings_on_create(&context, &new))
    } else {
        let old = object("old");
        match case["subresource"].as_str() {
            None => {
                strategy.prepare_for_update(&context, &mut new, &old);
                let warnings = strategy.warnings_on_update(&context, &new, &old);
                (strategy.validate_update(&context, &new, &old), warnings)
            }
            Some("status") => {
                strategy.prepare_for_status_update(&context, &mut new, &old);
                (strategy.validate_status_update(&context, &new, &old), Vec::new())
            }
            Some(other) => panic!("tables do not reach the subresource {other}"),
        }
    };
    // An object that is refused is not warned of.
    if !errors.is_empty() {
        warnings.clear();
    }
    warnings.extend(context.take_warnings());
    let mut errors: Vec<String> = errors.0.iter().map(ToString::to_string).collect();
    errors.sort();
    warnings.sort();
    (errors, warnings)
}

/// Returns the sorted errors of something that is created but not stored, such as a review.
async fn errors_of_review(path: &InstalledPath, base: &Value, case: &Value) -> Vec<String> {
    let mut object = base.clone();
    merge(&mut object, &case["object"]);
    let object = decoded(&path.resource, &object);
    let mut context = RequestContext::default();
    context.namespace = object.namespace().into();
    let creater = path.capabilities.creater.as_ref().unwrap();
    let created = creater.create(&context, object, &AdmitAll, &CreateOptions::default()).await;
    let causes = created.err().and_then(|failure| failure.details).map(|details| details.causes);
    let texts = causes.into_iter().flatten().map(|cause| format!("{}: {}", cause.field, cause.message));
    let mut texts: Vec<String> = texts.collect();
    texts.sort();
    texts
}

fn sorted(list: &Value) -> Vec<String> {
    let texts = list.as_array().into_iter().flatten().map(|text| text.as_str().unwrap().to_owned());
    let mut texts: Vec<String> = texts.collect();
    texts.sort();
    texts
}

async fn check(installed: &InstalledApi, path: &Path) -> Vec<String> {
    let mut base = json!({});
    let mut failures = Vec::new();
    for (number, line) in std::fs::read_to_string(path).unwrap().lines().enumerate() {
        let case: Value = serde_json::from_str(line)
            .unwrap_or_else(|error| panic!("{}:{}: {error}", path.display(), number + 1));
        if let Some(new_base) = case.get("base") {
            base = new_base.clone();
            continue;
        }
        let kind = case["kind"].as_str().unwrap();
        let is_wanted = |installed: &&InstalledPath| {
            let one = &installed.resource.kind;
            one.kind == kind && case["version"].as_str().is_none_or(|version| one.version == version)
        };
        let installed = installed.paths.iter().find(is_wanted).unwrap();
        let (errors, warnings) = if installed.store.is_some() {
            outcome(&installed.resource, &base, &case)
        } else {
            (errors_of_review(installed, &base, &case).await, Vec::new())
        };
        if errors != sorted(&case["errors"]) || warnings != sorted(&case["warnings"]) {
            let found = json!({"errors": errors, "warnings": warnings});
            failures.push(format!("{}:{} {}: {found}", path.display(), number + 1, case["title"]));
        }
    }
    failures
}

/// Returns all tables, in order.
fn all_tables() -> Vec<PathBuf> {
    let mut paths = Vec::new();
    tables(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rules"), &mut paths);
    paths
}

#[tokio::test]
async fn objects_get_the_errors_and_warnings_of_the_tables() {
    let storage = InMemory(Embedded::in_memory());
    let installed = resources::STORAGE_MAP.install(&storage, &|_| true).unwrap();
    let mut failures = Vec::new();
    for path in all_tables() {
        failures.extend(check(&installed, &path).await);
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

const REFERENCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/rules.md");

/// Returns the numbers of cases of each kind, perhaps in one version: those that are accepted, and those that are refused.
fn counts() -> BTreeMap<(String, String), (usize, usize)> {
    let mut counts: BTreeMap<_, (usize, usize)> = BTreeMap::new();
    for path in all_tables() {
        for line in std::fs::read_to_string(path).unwrap().lines() {
            let case: Value = serde_json::from_str(line).unwrap();
            let Some(kind) = case["kind"].as_str() else { continue };
            let version = case["version"].as_str().unwrap_or_default();
            let (accepted, refused) = counts.entry((kind.to_owned(), version.to_owned())).or_default();
            let count = if case.get("errors").is_none() { accepted } else { refused };
            *count += 1;
        }
    }
    counts
}

fn reference(installed: &InstalledApi) -> String {
    let counts = counts();
    let mut rows: Vec<String> = Vec::new();
    for path in installed.paths.iter().filter(|path| path.subresource.is_none()) {
        let resource = &path.resource;
        let of = |version: &str| counts.get(&(resource.kind.kind.to_owned(), version.to_owned()));
        // Cases without a version are those of the stored one.
        let of_any = of("").filter(|_| resource.hub.is_none());
        let Some((accepted, refused)) = of_any.or_else(|| of(resource.kind.version)) else { continue };
        let place = resource.declared_at.split(':').next().unwrap_or_default();
        let place = place.trim_end_matches(".rs");
        rows.push(format!(
            "| {} | {} | {accepted} | {refused} | `{place}` |",
            resource.kind.kind,
            resource.group_version().api_version()
        ));
    }
    rows.sort();
    format!(
        "<!-- Written and checked by the test `the_reference_lists_the_tables`. Do not edit. -->\n\n# Rules\n\nThe tables in \
         `resources/tests/rules` hold objects with the errors and warnings that kube-apiserver has for them: new objects, changes of \
         them, and changes of their status. The rules of a kind are in the file that declares it and in the folder of the same \
         name; what several kinds share is beside it.\n\n| kind | version | accepted | refused | rules |\n|---|---|---|---|---|\n{}\n",
        rows.join("\n")
    )
}

/// Run with `UPDATE_REFERENCE=1` to write it.
#[test]
fn the_reference_lists_the_tables() {
    let storage = InMemory(Embedded::in_memory());
    let installed = resources::STORAGE_MAP.install(&storage, &|_| true).unwrap();
    let text = reference(&installed);
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        std::fs::write(REFERENCE, &text).unwrap();
    }
    let written = std::fs::read_to_string(REFERENCE).unwrap_or_default();
    assert!(written == text, "{REFERENCE} is not what there is: run with UPDATE_REFERENCE=1");
}
