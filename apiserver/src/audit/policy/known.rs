//! The fields of a policy, to find unknown ones.

use registry_core::schema::FieldIssue;
use serde_json::Value;

const POLICY: &[&str] = &["apiVersion", "kind", "metadata", "omitManagedFields", "omitStages", "rules"];
const RULE: &[&str] = &[
    "level",
    "namespaces",
    "nonResourceURLs",
    "omitManagedFields",
    "omitStages",
    "resources",
    "userGroups",
    "users",
    "verbs",
];
const RESOURCES: &[&str] = &["group", "resourceNames", "resources"];

/// Adds each unknown field of a policy.
pub(super) fn unknown_fields(policy: &Value, issues: &mut Vec<FieldIssue>) {
    check(policy, "", POLICY, issues);
    for (number, rule) in items(policy, "rules") {
        let path = format!("rules[{number}].");
        check(rule, &path, RULE, issues);
        for (number, resources) in items(rule, "resources") {
            check(resources, &format!("{path}resources[{number}]."), RESOURCES, issues);
        }
    }
}

fn items<'v>(value: &'v Value, field: &str) -> impl Iterator<Item = (usize, &'v Value)> {
    value.get(field).and_then(Value::as_array).into_iter().flatten().enumerate()
}

fn check(value: &Value, path: &str, known: &[&str], issues: &mut Vec<FieldIssue>) {
    let names = value.as_object().into_iter().flat_map(serde_json::Map::keys);
    let unknown = names.filter(|name| !known.contains(&name.as_str()));
    issues.extend(unknown.map(|name| FieldIssue::Unknown(format!("{path}{name}"))));
}
