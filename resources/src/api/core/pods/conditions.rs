//! Conditions in a pod's status.

use registry_core::api::Object;
use resource_views::core::v1::Pod;
use serde_json::Value;

/// Sets a pod's condition of one type.
pub(super) fn set_condition(pod: &mut Object, condition: Value) {
    let present = Pod(pod).status().conditions().value().and_then(Value::as_array);
    let mut conditions = present.cloned().unwrap_or_default();
    match conditions.iter_mut().find(|entry| entry.get("type") == condition.get("type")) {
        Some(present) => *present = condition,
        None => conditions.push(condition),
    }
    pod.set(&["status", "conditions"], conditions.into());
}
