//! Tables of rules: objects, and the errors and warnings that they get, or the cells of their columns.
//!
//! Each line of `rules/GROUP/KIND.jsonl` is a case: `title`, `kind`, perhaps its `version`, `object`, perhaps `old` (then it
//! is an update) and `subresource` (`status`), and the expected `errors` and `warnings`, in any order. `cells` are what columns
//! show of `object`, by their names; columns that it does not name are not compared. A line with `base` has what the objects of
//! the lines after it have in common; their own fields replace it, and lists replace lists. `features` are enabled beside those
//! that are by default.
//!
//! Objects that are not stored (reviews, bindings) are created by the kind's storage, by `user`, with `stored` pods beside
//! them, on a server that knows [one token](TOKEN) and [a few permissions](Known::rules_of). A refusal without causes is its
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

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use async_trait::async_trait;
use libtest_mimic::{Arguments, Failed, Trial};
use registry_core::RequestContext;
use registry_core::api::{CreateOptions, Object};
use registry_core::context::{Budget, UserInfo};
use registry_core::features::{Feature, Features};
use registry_core::registry::{
    InstalledApi, InstalledPath, MainRules, OpenStorage, Services, StatusRules, UpdateRules as _,
};
use registry_core::resource::{Resource, ResourceType, Versions};
use registry_core::rest::access::{
    AccessDecision, AccessReviewer, AccessRules, InvalidToken, KnownToken, PathRule, ResourceRule,
    WantedAccess,
};
use registry_core::rest::{AdmitAll, Answer, Creater as _};
use registry_core::schema::{ConformError, EmptyFields, FieldIssue};
use registry_core::storage::embedded::Embedded;
use registry_core::storage::transform::Identity;
use registry_core::storage::versioned::VersionedStore;
use registry_core::storage::{Interface, StorageError};
use serde_json::{Value, json};

#[path = "harness/cells.rs"]
mod cells;
#[path = "harness/fields.rs"]
mod fields;

fn main() -> ExitCode {
    let mut tests = vec![
        test("each_kind_has_a_table", each_kind_has_a_table),
        test("the_reference_lists_the_tables", the_reference_lists_the_tables),
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

/// The token of `jane`, for the audiences `a` and `b`; `a` is the server's own.
const TOKEN: &str = "token-of-jane";

/// The users and permissions that reviews ask about.
struct Known;

#[async_trait]
impl AccessReviewer for Known {
    async fn decide(&self, _: &UserInfo, _: &WantedAccess) -> AccessDecision {
        AccessDecision::default()
    }

    async fn rules_of(&self, user: &UserInfo, namespace: &str) -> AccessRules {
        let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect();
        let resource = ResourceRule {
            verbs: texts(&["get", "list"]),
            groups: texts(&["", "apps"]),
            resources: texts(&["pods"]),
            names: if namespace == "named" { texts(&["p"]) } else { Vec::new() },
        };
        let path = PathRule { verbs: texts(&["get"]), paths: texts(&["/healthz"]) };
        AccessRules {
            resources: vec![resource],
            paths: if user.name == "jane" { vec![path] } else { Vec::new() },
            incomplete: namespace == "unknown",
            error: if namespace == "unknown" { "no such namespace".to_owned() } else { String::new() },
        }
    }

    async fn user_of_token(&self, token: &str, audiences: &[String]) -> Result<KnownToken, InvalidToken> {
        let own = ["a".to_owned()];
        let wanted = if audiences.is_empty() { &own } else { audiences };
        let known: Vec<String> =
            wanted.iter().filter(|audience| *audience == "a" || *audience == "b").cloned().collect();
        if token != TOKEN || known.is_empty() {
            return Err(InvalidToken::Unknown);
        }
        Ok(KnownToken { user: user_of(&json!({"name": "jane", "uid": "1"})), audiences: known })
    }
}

/// Returns the user of a case.
fn user_of(user: &Value) -> UserInfo {
    let text = |key: &str| user[key].as_str().unwrap_or_default().to_owned();
    let extra = user["extra"].as_object().into_iter().flatten();
    UserInfo {
        name: text("name"),
        uid: text("uid"),
        groups: sorted(&user["groups"]),
        extra: extra.map(|(key, values)| (key.clone(), sorted(values))).collect(),
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
            own.kind == kind && case["version"].as_str().is_none_or(|version| own.version == version)
        };
        let installed = installed.paths.iter().find(is_wanted).unwrap();
        if let Some(expected) = case.get("cells") {
            let mut object = base.clone();
            merge(&mut object, &case["object"]);
            let object = decoded(&installed.resource, &object);
            let found = cells::named_cells(&installed.resource, &object, expected);
            if found != *expected {
                let place = format!("{}:{} {}", path.display(), number + 1, case["title"]);
                failures.push(format!("{place}: {}", json!({"cells": found})));
            }
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

/// The kinds with the greatest numbers of rules.
const GREATEST: [&str; 10] = [
    "Job",
    "Node",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Pod",
    "ResourceClaim",
    "ResourceSlice",
    "Service",
    "StatefulSet",
    "ValidatingAdmissionPolicy",
];

/// Whether objects of a kind can be created, and its version is stable. Versions before that have the rules of the stable
/// version, or are off by default.
fn is_stable_kind(path: &InstalledPath) -> bool {
    let version = path.resource.kind.version;
    let is_stable = !version.contains("alpha") && !version.contains("beta");
    // Kinds of one's own beside Kubernetes' were not recorded.
    let is_kubernetes = path.resource.is_builtin;
    path.subresource.is_none() && path.capabilities.creater.is_some() && is_stable && is_kubernetes
}

fn each_kind_has_a_table() {
    let installed = all_kinds();
    let counts = counts();
    let mut missing = Vec::new();
    for path in installed.paths.iter().filter(|path| is_stable_kind(path)) {
        let kind = path.resource.kind;
        let count_of = |version: &str| {
            counts
                .get(&(kind.kind.to_owned(), version.to_owned()))
                .map_or(0, |(accepted, refused)| accepted + refused)
        };
        let cases = count_of("") + count_of(kind.version);
        let wanted = if GREATEST.contains(&kind.kind) { 40 } else { 10 };
        if cases < wanted {
            missing.push(format!(
                "{} {}: {cases} of {wanted}",
                kind.group_version().api_version(),
                kind.kind
            ));
        }
    }
    assert!(missing.is_empty(), "cases are missing:\n{}", missing.join("\n"));
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
fn the_reference_lists_the_tables() {
    let installed = all_kinds();
    let text = reference(&installed);
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        std::fs::write(REFERENCE, &text).unwrap();
    }
    let written = std::fs::read_to_string(REFERENCE).unwrap_or_default();
    assert!(written == text, "{REFERENCE} is not what there is: run with UPDATE_REFERENCE=1");
}
