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

/// Returns the bound parameters, as `namespace/name` or a selector.
pub(super) fn parameters(object: &Object) -> Value {
    let Some(reference) = object.get(&["spec", "paramRef"]) else { return "<unset>".into() };
    let part = |field: &str| reference.get(field).and_then(Value::as_str);
    match (part("namespace"), part("name")) {
        (Some(namespace), Some(name)) => format!("{namespace}/{name}").into(),
        (None, Some(name)) => format!("*/{name}").into(),
        (namespace, None) => {
            let labels = printers::selector_text(reference.get("selector"));
            format!("{}/{labels}", namespace.unwrap_or("*")).into()
        }
    }
}
