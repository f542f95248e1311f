//! Table cells that mutating and validating policies and bindings share.

use registry_core::api::Object;
use serde_json::Value;

use crate::support::printers;

/// Returns the kind of the parameters, as `apiVersion/kind`.
pub(super) fn parameter_kind(object: &Object) -> Value {
    let part = |field| object.get_str(&["spec", "paramKind", field]);
    match (part("apiVersion"), part("kind")) {
        (Some(version), Some(kind)) => format!("{version}/{kind}").into(),
        _ => "<unset>".into(),
    }
}

/// Returns the bound parameters, as `namespace/name` or the selector in the form of its Go struct.
pub(super) fn parameters(object: &Object) -> Value {
    let Some(reference) = object.get(&["spec", "paramRef"]) else { return "<unset>".into() };
    let part = |field: &str| reference.get(field).and_then(Value::as_str);
    match (part("namespace"), part("name")) {
        (Some(namespace), Some(name)) => format!("{namespace}/{name}").into(),
        (None, Some(name)) => format!("*/{name}").into(),
        (_, None) => match reference.get("selector") {
            Some(selector) => go_selector(selector).into(),
            None => "<unset>".into(),
        },
    }
}

/// Returns a selector in the form of Go's `LabelSelector.String`.
fn go_selector(selector: &Value) -> String {
    let labels = selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten();
    let labels: Vec<_> = labels.map(|(key, value)| format!("{key}: {},", printers::plain(value))).collect();
    let expressions = selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten();
    let expressions: Vec<_> = expressions.map(go_requirement).collect();
    format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{}}},MatchExpressions:[]LabelSelectorRequirement{{{}}},}}",
        labels.concat(),
        expressions.concat()
    )
}

fn go_requirement(expression: &Value) -> String {
    let text = |field: &str| expression.get(field).and_then(Value::as_str).unwrap_or_default();
    let values = expression.get("values").and_then(Value::as_array).into_iter().flatten();
    let values: Vec<_> = values.map(printers::plain).collect();
    let (key, operator) = (text("key"), text("operator"));
    format!("LabelSelectorRequirement{{Key:{key},Operator:{operator},Values:[{}],}},", values.join(" "))
}
