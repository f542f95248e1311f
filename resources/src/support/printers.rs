//! Building blocks of the printers of built-in tables.
//!
//! Kubernetes concept: the printers of `pkg/printers/internalversion`.

use std::collections::BTreeSet;

use registry_core::api::Object;
use registry_core::resource::{CellValue, Column};
use resource_views::Typed as _;
use resource_views::core::v1::{Container, PodSpec};
use resource_views::meta::v1::{LabelSelector, LabelSelectorRequirement};
use serde_json::Value;

pub(crate) mod volume;
pub(crate) mod workload;

pub(crate) use registry_core::resource::duration_text;

/// The columns of kinds without columns of their own.
pub(crate) static NAME_AND_CREATED_AT: &[Column] = &[Column::NAME, Column::CREATED_AT];

/// Returns the text at a path; empty if absent. Numbers are written out.
pub(crate) fn text(object: &Object, path: &[&str]) -> Value {
    text_or(object, path, "")
}

/// Returns the text at a path, or a word for its absence.
pub(crate) fn text_or(object: &Object, path: &[&str], absent: &str) -> Value {
    match object.get(path) {
        None | Some(Value::Null) => absent.into(),
        Some(Value::String(text)) if text.is_empty() => absent.into(),
        Some(value) => plain(value).into(),
    }
}

/// Returns the text at a path, which may be empty, or a word for its absence.
pub(crate) fn text_if_set(object: &Object, path: &[&str], absent: &str) -> Value {
    object.get_str(path).unwrap_or(absent).into()
}

/// The text at a path without white space at its ends.
pub(crate) fn trimmed(object: &Object, path: &[&str]) -> Value {
    object.get_str(path).unwrap_or_default().trim().into()
}

/// Returns a value as text: strings unquoted, other values as JSON.
pub(crate) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The whole number at a path; 0 when absent.
pub(crate) fn number(object: &Object, path: &[&str]) -> Value {
    object.get_i64(path).unwrap_or_default().into()
}

/// The flag at a path; false when absent.
pub(crate) fn flag(object: &Object, path: &[&str]) -> Value {
    object.get(path).and_then(Value::as_bool).unwrap_or_default().into()
}

/// The flag at a path as `True` or `False`; `<unset>` when absent.
pub(crate) fn flag_text(object: &Object, path: &[&str]) -> Value {
    match object.get(path).and_then(Value::as_bool) {
        Some(true) => "True".into(),
        Some(false) => "False".into(),
        None => "<unset>".into(),
    }
}

/// Returns the number of elements or entries at a path.
pub(crate) fn length(object: &Object, path: &[&str]) -> usize {
    match object.get(path) {
        Some(Value::Array(elements)) => elements.len(),
        Some(Value::Object(entries)) => entries.len(),
        _ => 0,
    }
}

/// Returns the number of elements or entries at a path, as a cell.
pub(crate) fn count(object: &Object, path: &[&str]) -> Value {
    length(object, path).into()
}

/// The elements of the list at a path.
pub(crate) fn elements<'a>(object: &'a Object, path: &[&str]) -> impl Iterator<Item = &'a Value> {
    object.get(path).and_then(Value::as_array).into_iter().flatten()
}

/// Two numbers as `1/2`.
pub(crate) fn share(object: &Object, part: &[&str], whole: &[&str]) -> Value {
    let of = |path| object.get_i64(path).unwrap_or_default();
    format!("{}/{}", of(part), of(whole)).into()
}

/// Text, or `<none>` when empty.
pub(crate) fn or_none(text: String) -> Value {
    if text.is_empty() { "<none>".into() } else { text.into() }
}

/// The first three, and the number of the others: `a,b,c + 2 more...`. A word if there are none.
pub(crate) fn first_three(all: &[String], absent: &str) -> Value {
    match all {
        [] => absent.into(),
        [first, second, third, others @ ..] if !others.is_empty() => {
            format!("{first},{second},{third} + {} more...", others.len()).into()
        }
        few => few.join(",").into(),
    }
}

/// The addresses at `status.loadBalancer`, in order and each once. An entry without an IP has its host name.
pub(crate) fn balancer_addresses<'o>(object: &'o Object) -> BTreeSet<&'o str> {
    let entries = elements(object, &["status", "loadBalancer", "ingress"]);
    let address = |entry: &'o Value| entry.get("ip").or_else(|| entry.get("hostname"))?.as_str();
    entries.filter_map(address).collect()
}

/// The name of an object, and whether one of the annotations makes it the default of its kind.
pub(crate) fn name_of_class(object: &Object, default_annotations: &[&str]) -> Value {
    let is_default = default_annotations.iter().any(|key| object.annotation(key) == Some("true"));
    if is_default { format!("{} (default)", object.name()).into() } else { object.name().into() }
}

/// The names of a pod spec's containers.
pub(crate) fn container_names(object: &Object, pod_spec: &[&str]) -> Value {
    containers(object, pod_spec, |container| container.name().text())
}

/// The images of a pod spec's containers.
pub(crate) fn container_images(object: &Object, pod_spec: &[&str]) -> Value {
    containers(object, pod_spec, |container| container.image().text())
}

fn containers<'o>(
    object: &'o Object,
    pod_spec: &[&str],
    text: impl Fn(&Container<'o, '_>) -> &'o str,
) -> Value {
    let Some(spec) = object.get(pod_spec).map(PodSpec::from_value) else { return "".into() };
    let containers = spec.containers();
    containers.elements().map(|container| text(&container)).collect::<Vec<_>>().join(",").into()
}

/// A map of labels as `a=b,c=d`; `<none>` when empty.
pub(crate) fn labels_text(labels: Option<&Value>) -> Value {
    let entries = labels.and_then(Value::as_object).into_iter().flatten();
    or_none(entries.map(|(key, value)| format!("{key}={}", plain(value))).collect::<Vec<_>>().join(","))
}

/// A `metav1.LabelSelector` at a path, as text; `<none>` when it is absent or empty.
pub(crate) fn label_selector(object: &Object, path: &[&str]) -> Value {
    or_none(selector_text(object.get(path)))
}

/// A `metav1.LabelSelector` as text.
pub(crate) fn selector_text(selector: Option<&Value>) -> String {
    let Some(selector) = selector else { return String::new() };
    let selector = LabelSelector::from_value(selector);
    let labels = selector.match_labels();
    let mut parts: Vec<(&str, String)> =
        labels.texts().map(|(key, value)| (key, format!("{key}={value}"))).collect();
    let expressions = selector.match_expressions();
    parts.extend(
        expressions.elements().map(|expression| (expression.key().text(), expression_text(&expression))),
    );
    parts.sort_by_key(|(key, _)| *key);
    parts.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(",")
}

fn expression_text(expression: &LabelSelectorRequirement<'_, '_>) -> String {
    let mut values: Vec<&str> = expression.values().texts().collect();
    values.sort_unstable();
    let values = values.join(",");
    let key = expression.key().text();
    match expression.operator().text() {
        "In" => format!("{key} in ({values})"),
        "NotIn" => format!("{key} notin ({values})"),
        "Exists" => key.to_owned(),
        _ => format!("!{key}"),
    }
}

/// Access modes in their short form: `RWO,ROX`.
pub(crate) fn access_modes(object: &Object, path: &[&str]) -> Value {
    let present: Vec<&str> = elements(object, path).filter_map(Value::as_str).collect();
    let known = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let short = known.iter().filter(|(long, _)| present.contains(long)).map(|(_, short)| *short);
    short.collect::<Vec<_>>().join(",").into()
}

/// Returns the age of the time at a path; `<none>` if there is none.
pub(crate) fn age_or_none(object: &Object, path: &[&str]) -> CellValue {
    match object.get_str(path) {
        Some(moment) => CellValue::age_of(Some(moment)),
        None => "<none>".into(),
    }
}
