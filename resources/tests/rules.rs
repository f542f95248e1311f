//! Tables of rules: objects, and the errors and warnings that they get, or the cells of their columns.
//!
//! Each line of `rules/GROUP/KIND.jsonl` is a case: `title`, `kind`, perhaps its `version`, `object`, perhaps `old` (then it
//! is an update) and `subresource` (`status`), and the expected `errors` and `warnings`, in any order. A line with `base` has what
//! the objects of the lines after it have in common; their own fields replace it, and lists replace lists. `features` are enabled
//! beside those that are by default.
//!
//! A case with `cells` is about printing: they are what the columns of that name show of `object`, which is used without `base`,
//! gets its defaults and is not validated. Each column of a kind has such a case, except ages.
//!
//! Objects that are not stored (reviews, bindings) are created by the kind's storage, by `user`, with `stored` pods beside
//! them, on a server that knows [one token](access::TOKEN) and [a few permissions](Known). A refusal without causes is its
//! message. `answer` is the returned object; its times are left out.
//!
//! Each table is a test of its own, `rules::GROUP::KIND`, and so is each line of the tables of [fields], so that a filter
//! selects the tests of a kind: `cargo test -p orlop-resources --test rules configmap`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code: a broken expectation is a failed test"
)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};
use registry_core::RequestContext;
use registry_core::api::{CreateOptions, Object};
use registry_core::context::Budget;
use registry_core::features::{Feature, Features};
use registry_core::registry::{
    InstalledApi, InstalledPath, MainRules, OpenStorage, Services, StatusRules, UpdateRules as _,
};
use registry_core::resource::{Resource, ResourceType, Versions};
use registry_core::rest::{AdmitAll, Answer, Creater as _};
use registry_core::schema::{ConformError, EmptyFields, FieldIssue};
use registry_core::storage::embedded::Embedded;
use registry_core::storage::transform::Identity;
use registry_core::storage::versioned::VersionedStore;
use registry_core::storage::{Interface, StorageError};
use serde_json::{Value, json};

#[path = "harness/access.rs"]
mod access;
#[path = "harness/cells.rs"]
mod cells;
#[path = "harness/fields.rs"]
mod fields;
#[path = "harness/reference.rs"]
mod reference;

use access::{Known, user_of};

fn main() -> ExitCode {
    let mut tests = vec![
        test("each_kind_has_a_table", reference::each_kind_has_a_table),
        test("each_column_has_a_cell", cells::each_column_has_a_cell),
        test("the_reference_lists_the_tables", reference::the_reference_lists_the_tables),
        test("each_table_is_a_test_of_its_own", each_table_is_a_test_of_its_own),
    ];
    let of_table = |path: PathBuf| Trial::test(test_name(&path), move || run(check(&all_kinds(), &path)));
    tests.extend(all_tables().into_iter().map(of_table));
    tests.extend(fields::tests());
    libtest_mimic::run(&Arguments::from_args(), tests).exit_code()
}

/// Returns a test that fails if it panics.
fn test(name: &str, run: fn()) -> Trial {
    Trial::test(name, move || {
        run();
        Ok(())
    })
}

/// Returns the name of a table's test: `rules::core::configmap`.
fn test_name(table: &Path) -> String {
    let below = table.strip_prefix(tests_directory()).unwrap().with_extension("");
    let parts: Vec<_> = below.iter().map(|part| part.to_str().unwrap()).collect();
    parts.join("::")
}

/// Waits for the failures of a test.
fn run(failures: impl Future<Output = Vec<String>>) -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let failures = runtime.block_on(failures);
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n").into()) }
}

/// Returns all kinds, over stores in memory.
fn all_kinds() -> InstalledApi {
    resources::STORAGE_MAP.install(&InMemory(Embedded::in_memory()), &|_| true).unwrap()
}

struct InMemory(Arc<Embedded>);

impl OpenStorage for InMemory {
    fn open(&self, versions: &Arc<Versions>) -> Result<Arc<dyn Interface>, StorageError> {
        Ok(Arc::new(VersionedStore::new(self.0.clone(), Arc::new(Identity), versions.clone())))
    }

    fn prefix(&self) -> &'static str {
        "/registry"
    }

    fn services(&self) -> Services {
        Services { access: Arc::new(Known), ..Services::default() }
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

/// An object as a store gets it.
struct Decoded {
    object: Object,
    /// The empty lists that it has beside that.
    empty: EmptyFields,
    /// The object without defaults.
    value: Value,
    issues: Vec<FieldIssue>,
}

fn try_decode(resource: &ResourceType, value: &Value) -> Result<Decoded, ConformError> {
    let mut value = value.clone();
    value["apiVersion"] = resource.group_version().api_version().into();
    value["kind"] = resource.kind.kind.into();
    let schema = resource.schema();
    let (mut empty, mut issues) = (EmptyFields::default(), Vec::new());
    schema.conform_as_sent(&Budget::unlimited(), &mut value, &mut issues, &mut empty)?;
    let mut object = Object::from_value(value.clone()).unwrap();
    empty.put_back(&mut object, |_| true);
    let mut defaulted = object.into_value();
    schema.apply_defaults(&mut defaulted, &Budget::unlimited()).unwrap();
    let mut object = Object::from_value(defaulted).unwrap();
    resource.strategy.apply_defaults(&mut object);
    empty.take_out(&mut object);
    schema.nil_empties(&mut object.0);
    Ok(Decoded { object, empty, value, issues })
}

fn decoded_with_empty(resource: &ResourceType, value: &Value) -> (Object, EmptyFields) {
    let decoded = try_decode(resource, value).unwrap();
    (decoded.object, decoded.empty)
}

fn decoded(resource: &ResourceType, value: &Value) -> Object {
    decoded_with_empty(resource, value).0
}

/// Returns the features of a case.
fn features_of(case: &Value) -> Features {
    let named = sorted(&case["features"]);
    let is_enabled = |feature: &Feature| {
        feature.is_enabled_by_default() || named.iter().any(|name| name == feature.name())
    };
    Feature::ALL.iter().copied().filter(is_enabled).collect()
}

/// Returns the sorted errors and warnings of a case.
fn outcome(resource: &ResourceType, base: &Value, case: &Value) -> (Vec<String>, Vec<String>) {
    let object = |key: &str| {
        let mut object = base.clone();
        merge(&mut object, &case[key]);
        let (object, empty) = decoded_with_empty(resource, &object);
        let mut object = resource.to_stored_here(object).unwrap();
        if case.get("old").is_some() {
            object.set(&["metadata", "uid"], "u".into());
        }
        (object, empty)
    };
    // Fields of another version are not those of the stored one.
    let sent = |prepared: &Object, empty: &EmptyFields, is_status: bool| {
        let mut sent = prepared.clone();
        let keeps_status = case.get("old").is_none() && resource.strategy.keeps_status_on_create();
        if std::ptr::eq(resource.stored(), resource) {
            empty.put_back(&mut sent, |root| keeps_status || (root == "status") == is_status);
        }
        sent
    };
    let mut context = RequestContext::default();
    context.resource = Some(resource.resource());
    let features = features_of(case);
    let strategy = &resource.stored().strategy;
    let strategy = strategy.for_features(features).unwrap_or_else(|| strategy.clone());
    let (mut new, empty) = object("object");
    let old = case.get("old").map(|_| object("old").0);
    for field in strategy.gated_fields().iter().filter(|field| !field.is_enabled(features)) {
        field.drop_from(&mut new, old.as_ref());
    }
    let (errors, mut warnings) = if let Some(old) = old {
        match case["subresource"].as_str() {
            None => {
                MainRules.prepare(resource.stored(), &context, &mut new, &old);
                let new = sent(&new, &empty, false);
                let warnings = strategy.warnings_on_update(&context, &new, &old);
                (strategy.validate_update(&context, &new, &old), warnings)
            }
            Some("status") => {
                StatusRules.prepare(resource.stored(), &context, &mut new, &old);
                let new = sent(&new, &empty, true);
                (strategy.validate_status_update(&context, &new, &old), Vec::new())
            }
            Some(other) => panic!("tables do not reach the subresource {other}"),
        }
    } else {
        strategy.prepare_for_create(&context, &mut new);
        let new = sent(&new, &empty, false);
        (strategy.validate(&context, &new), strategy.warnings_on_create(&context, &new))
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

/// Returns the sorted errors of something that is created but not stored, such as a review, and what it answered.
async fn outcome_of_action(
    storage: &InMemory,
    path: &InstalledPath,
    base: &Value,
    case: &Value,
) -> (Vec<String>, Value) {
    let installed = resources::STORAGE_MAP.install(storage, &|_| true).unwrap();
    for pod in case["stored"].as_array().into_iter().flatten() {
        let store = installed.store(<resources::api::core::pods::Pods as Resource>::TYPE).unwrap();
        let pod = decoded(store.resource(), pod);
        let context = RequestContext::system(pod.namespace());
        store.create(&context, pod.into(), &AdmitAll, &CreateOptions::default()).await.unwrap();
    }
    let is_same = |candidate: &&InstalledPath| {
        candidate.subresource.is_none() && candidate.resource.kind == path.resource.kind
    };
    let path = installed.paths.iter().find(is_same).unwrap();
    let mut object = base.clone();
    merge(&mut object, &case["object"]);
    let object = decoded(&path.resource, &object);
    let mut context = RequestContext::new(user_of(&case["user"]), "");
    if path.resource.is_namespaced() {
        context.namespace = object.namespace().into();
    }
    let creater = path.capabilities.creater.as_ref().unwrap();
    let failure = match creater.create(&context, object.into(), &AdmitAll, &CreateOptions::default()).await {
        Ok(Answer::Object(mut object)) => {
            object.remove(&["metadata", "creationTimestamp"]);
            return (Vec::new(), object.into_value());
        }
        Ok(_) => return (Vec::new(), Value::Null),
        Err(failure) => failure,
    };
    let causes = failure.details.map(|details| details.causes).unwrap_or_default();
    if causes.is_empty() {
        return (vec![format!("{} {}", failure.code, failure.message)], Value::Null);
    }
    let texts = causes.into_iter().map(|cause| format!("{}: {}", cause.field, cause.message));
    let mut texts: Vec<String> = texts.collect();
    texts.sort();
    (texts, Value::Null)
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
            let own = &installed.resource.kind;
            own.kind == kind
                && case["version"].as_str().is_none_or(|version| own.version == version)
                && case["group"].as_str().is_none_or(|group| own.group == group)
        };
        let installed = installed.paths.iter().find(is_wanted).unwrap();
        if let Some(expected) = case.get("cells") {
            let object = decoded(&installed.resource, &case["object"]);
            let found = cells::named_cells(&installed.resource, &object, expected);
            if found != *expected {
                let place = format!("{}:{} {}", path.display(), number + 1, case["title"]);
                failures.push(format!("{place}: {}", json!({"cells": found})));
            }
            continue;
        }
        let (errors, warnings) = if installed.store.is_some() {
            outcome(&installed.resource, &base, &case)
        } else {
            let storage = InMemory(Embedded::in_memory());
            let (errors, answer) = outcome_of_action(&storage, installed, &base, &case).await;
            if case.get("answer").is_some_and(|expected| *expected != answer) {
                failures.push(format!("{}:{} {}: {answer}", path.display(), number + 1, case["title"]));
            }
            (errors, Vec::new())
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
    tables(&tests_directory().join("rules"), &mut paths);
    paths
}

/// Returns all cases that name their kind.
fn all_cases() -> Vec<Value> {
    let mut cases = Vec::new();
    for path in all_tables() {
        for line in std::fs::read_to_string(path).unwrap().lines() {
            let case: Value = serde_json::from_str(line).unwrap();
            if case.get("kind").is_some() {
                cases.push(case);
            }
        }
    }
    cases
}

fn tests_directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// This program has its own `main`: a table that it forgets would never fail.
fn each_table_is_a_test_of_its_own() {
    let listed = std::process::Command::new(std::env::current_exe().unwrap()).arg("--list").output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let is_listed = |name: &str| listed.lines().any(|line| line == format!("{name}: test"));
    for table in all_tables() {
        assert!(is_listed(&test_name(&table)), "{} is not tested", table.display());
    }
    for name in ["rules::core::configmap", "fields::core::v1::configmap"] {
        assert!(is_listed(name), "{name} is not a test");
    }
}
