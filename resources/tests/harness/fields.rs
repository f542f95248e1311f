//! Every field of an object, in turn of the wrong type, zero, too long and unknown.
//!
//! A line of `fields/GROUP.jsonl` has a valid object of a kind, and what kube-apiserver refuses of its changes: by the path of
//! the changed field and the name of the change, the fields that the errors name (`.` is the changed field), or `!` if the
//! object cannot be decoded, `-` if no field is named, `?` if it depends on more than the kind's rules. What is not listed is
//! accepted, except for a value of the wrong type, which cannot be decoded.

use std::collections::BTreeSet;
use std::path::PathBuf;

use libtest_mimic::Trial;
use registry_core::RequestContext;
use registry_core::api::{CreateOptions, DryRun};
use registry_core::registry::InstalledPath;
use registry_core::rest::{AdmitAll, NewObject};
use registry_core::schema::FieldIssue;
use serde_json::{Value, json};

use super::{Decoded, try_decode};

/// A step to a field.
#[derive(Clone)]
enum Step {
    Field(String),
    Index(usize),
}

/// Appends the paths of all fields and elements of a value.
fn collect(value: &Value, path: &mut Vec<Step>, found: &mut Vec<Vec<Step>>) {
    if !path.is_empty() {
        found.push(path.clone());
    }
    let children: Vec<(Step, &Value)> = match value {
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| (Step::Field(key.clone()), value)).collect()
        }
        Value::Array(list) => {
            list.iter().enumerate().map(|(index, value)| (Step::Index(index), value)).collect()
        }
        _ => Vec::new(),
    };
    for (step, child) in children {
        path.push(step);
        collect(child, path, found);
        path.pop();
    }
}

fn shown(path: &[Step]) -> String {
    path.iter().fold(String::new(), |text, step| match step {
        Step::Field(name) if text.is_empty() => name.clone(),
        Step::Field(name) => format!("{text}.{name}"),
        Step::Index(index) => format!("{text}[{index}]"),
    })
}

fn at<'a>(value: &'a mut Value, path: &[Step]) -> &'a mut Value {
    path.iter().fold(value, |value, step| match step {
        Step::Field(name) => &mut value[name],
        Step::Index(index) => &mut value[index],
    })
}

/// Returns the changes of a value, by name.
fn changes(value: &Value) -> Vec<(&'static str, Value)> {
    match value {
        Value::Null => Vec::new(),
        Value::Bool(_) => vec![("wrong", json!("x")), ("zero", json!(false))],
        Value::Number(_) => {
            vec![("wrong", json!("x")), ("zero", json!(0)), ("long", json!(i32::MAX)), ("unknown", json!(-1))]
        }
        Value::String(_) => vec![
            ("wrong", json!({})),
            ("zero", json!("")),
            ("long", json!("a".repeat(300))),
            ("unknown", json!("Bad_Value!")),
        ],
        Value::Array(list) => {
            let long: Vec<Value> = list.iter().take(1).cycle().take(65).cloned().collect();
            vec![("wrong", json!("x")), ("zero", json!([])), ("long", long.into())]
        }
        Value::Object(_) => vec![("wrong", json!("x")), ("zero", json!({}))],
    }
}

/// The server's decision about a changed object.
#[derive(Debug, PartialEq)]
enum Verdict {
    Accepted,
    Undecodable(String),
    /// The fields that the errors name.
    Refused(BTreeSet<String>),
}

async fn verdict(installed: &InstalledPath, object: &Value) -> Verdict {
    let (object, empty) = match try_decode(&installed.resource, object) {
        Ok(Decoded { object, empty, .. }) => (object, empty),
        Err(fault) => return Verdict::Undecodable(fault.text),
    };
    let mut context = RequestContext::system("");
    if installed.resource.is_namespaced() {
        context.namespace = object.namespace().into();
    }
    context.resource = Some(installed.resource.resource());
    let new = NewObject { object, empty_fields: empty };
    let creater = installed.capabilities.creater.as_ref().unwrap();
    let options = CreateOptions { dry_run: DryRun::All, ..CreateOptions::default() };
    match creater.create(&context, new, &AdmitAll, &options).await {
        Ok(_) => Verdict::Accepted,
        Err(failure) => {
            let causes = failure.details.map(|details| details.causes).unwrap_or_default();
            Verdict::Refused(causes.into_iter().map(|cause| cause.field).collect())
        }
    }
}

/// Returns what kube-apiserver does with a change; `None` if it is not known.
fn expected(refused: &Value, path: &str, change: &str) -> Option<Verdict> {
    Some(match &refused[path][change] {
        Value::Null if change == "wrong" => Verdict::Undecodable(String::new()),
        Value::Null => Verdict::Accepted,
        Value::String(text) if text == "!" => Verdict::Undecodable(String::new()),
        Value::String(text) if text == "?" => return None,
        Value::String(text) if text == "-" => Verdict::Refused(BTreeSet::new()),
        Value::String(_) => Verdict::Refused([path.to_owned()].into()),
        Value::Array(fields) if fields.is_empty() => Verdict::Accepted,
        fields => Verdict::Refused(super::sorted(fields).into_iter().collect()),
    })
}

/// Whether the error of a value of the wrong type names the field. The one of an element or an entry names the list or map.
fn names_field(text: &str, path: &[Step]) -> bool {
    let mut names = path.iter().rev().filter_map(|step| match step {
        Step::Field(name) => Some(name.as_str()),
        Step::Index(_) => None,
    });
    // Scalars with a form of their own are read by code that does not know the field.
    !text.starts_with("json: cannot unmarshal") || names.by_ref().take(2).any(|name| text.contains(name))
}

/// Returns whether an unknown field below this path is found, or kept where anything is.
fn finds_unknown(installed: &InstalledPath, object: &Value, path: &[Step]) -> bool {
    let mut object = object.clone();
    at(&mut object, path)["unknownField"] = json!(1);
    match try_decode(&installed.resource, &object) {
        Err(_) => true,
        Ok(Decoded { mut value, issues, .. }) => {
            let issue = FieldIssue::Unknown(format!("{}.unknownField", shown(path)));
            issues.contains(&issue) || at(&mut value, path).get("unknownField").is_some()
        }
    }
}

/// Returns the paths of all fields and elements of a line's object.
fn paths_of(line: &Value) -> Vec<Vec<Step>> {
    let mut paths = Vec::new();
    collect(&line["object"], &mut Vec::new(), &mut paths);
    paths
}

async fn check(line: &Line) -> Vec<String> {
    let api = super::all_kinds();
    let place = format!("{}:{}", line.table.display(), line.number);
    let line = &line.value;
    let is_of_kind = |path: &&InstalledPath| super::reference::is_stable_kind(path) && is_line_of(line, path);
    let Some(installed) = api.paths.iter().find(is_of_kind) else {
        return vec![format!("{place}: no stable version of a kind")];
    };
    let mut failures = Vec::new();
    let object = &line["object"];
    for path in &paths_of(line) {
        let name = shown(path);
        let value = at(&mut object.clone(), path).clone();
        for (change, wanted) in changes(&value) {
            let mut changed = object.clone();
            *at(&mut changed, path) = wanted;
            let found = verdict(installed, &changed).await;
            let agrees = match (expected(&line["refused"], &name, change), &found) {
                (None, _) => true,
                (Some(Verdict::Undecodable(_)), Verdict::Undecodable(text)) => {
                    change != "wrong" || names_field(text, path)
                }
                (Some(expected), found) => expected == *found,
            };
            if !agrees {
                failures.push(format!(
                    "{place} {name} {change}: {found:?}, not {:?}",
                    line["refused"][&name][change]
                ));
            }
        }
        // Go decodes these parts of a schema with custom code, which is not strict.
        let is_strict = !matches!(path.last(), Some(Step::Field(name)) if ["items", "additionalProperties"].contains(&&**name));
        if value.is_object() && is_strict && !finds_unknown(installed, object, path) {
            failures.push(format!("{place} {name}: an unknown field is not found"));
        }
    }
    failures
}

/// Kinds whose answers depend on stored objects.
const BESIDES: [&str; 1] = ["Binding"];

/// A line of a table.
struct Line {
    table: PathBuf,
    /// From 1.
    number: usize,
    value: Value,
}

fn lines() -> Vec<Line> {
    let mut tables = Vec::new();
    super::tables(&super::tests_directory().join("fields"), &mut tables);
    let mut lines = Vec::new();
    for table in tables {
        for (text, number) in std::fs::read_to_string(&table).unwrap().lines().zip(1..) {
            let value = serde_json::from_str(text).unwrap();
            lines.push(Line { table: table.clone(), number, value });
        }
    }
    lines
}

fn is_line_of(line: &Value, path: &InstalledPath) -> bool {
    let kind = path.resource.kind;
    line["kind"] == kind.kind && line["version"] == kind.version && line["group"] == kind.group
}

/// Returns the tests, one per line: `fields::core::v1::configmap`.
pub(super) fn tests() -> Vec<Trial> {
    let of_line = |line: Line| {
        let text = |key: &str| line.value[key].as_str().unwrap().to_lowercase();
        let (table, version, kind) = (super::test_name(&line.table), text("version"), text("kind"));
        Trial::test(format!("{table}::{version}::{kind}"), move || super::run(check(&line)))
    };
    let mut tests: Vec<Trial> = lines().into_iter().map(of_line).collect();
    tests.push(super::test("fields::each_kind_has_a_line", each_kind_has_a_line));
    tests
}

fn each_kind_has_a_line() {
    let lines = lines();
    let has_line = |path: &&InstalledPath| {
        BESIDES.contains(&path.resource.kind.kind) || lines.iter().any(|line| is_line_of(&line.value, path))
    };
    let api = super::all_kinds();
    let stable = api.paths.iter().filter(|path| super::reference::is_stable_kind(path));
    let without: Vec<String> = stable
        .filter(|path| !has_line(path))
        .map(|path| {
            let kind = path.resource.kind;
            format!("{} {} has no line", kind.group_version().api_version(), kind.kind)
        })
        .collect();
    assert!(without.is_empty(), "{}", without.join("\n"));
    let of_line = |line: &Line| -> usize {
        let of_path = |path: &Vec<Step>| changes(at(&mut line.value["object"].clone(), path)).len();
        paths_of(&line.value).iter().map(of_path).sum()
    };
    let count: usize = lines.iter().map(of_line).sum();
    assert!(count > 5_000, "{count}");
}
