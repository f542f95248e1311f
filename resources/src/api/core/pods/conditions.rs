//! Conditions in a pod's status.

use registry_core::api::Object;
use resource_views::Typed as _;
use resource_views::core::v1::{Pod, PodCondition};
use serde_json::Value;

/// Sets a pod's condition of one type.
pub(super) fn set_condition(pod: &mut Object, condition: Value) {
    let type_of = |condition: &Value| PodCondition::from_value(condition).r#type().text().to_owned();
    let kind = type_of(&condition);
    let mut conditions = Pod(pod).status().conditions().values().to_vec();
    match conditions.iter_mut().find(|entry| type_of(entry) == kind) {
        Some(present) => *present = condition,
        None => conditions.push(condition),
    }
    pod.set(&["status", "conditions"], conditions.into());
}
