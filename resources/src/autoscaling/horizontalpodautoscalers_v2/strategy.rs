//! Rules of HorizontalPodAutoscalers.

use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::validation::object_meta::validate_object_meta_update;
use registry_core::api::{FieldPath, Object};
use registry_core::resource::ObjectStrategy;
use serde_json::{Value, json};

use crate::autoscaling::round_trip;
use crate::edit::{Fields, absent, default_at, is_empty_at, with};
use crate::field::Field;

use super::validation::{self, Lenience};

/// Defaults of metrics and behavior; validation against the state before.
pub(super) struct HorizontalPodAutoscalerStrategy;

impl ObjectStrategy for HorizontalPodAutoscalerStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        round_trip::drop_annotations(object);
        default_at(object, &["spec", "minReplicas"], 1);
        if is_empty_at(object, &["spec", "metrics"]) {
            let target = json!({ "type": "Utilization", "averageUtilization": 80 });
            let cpu = json!({ "type": "Resource", "resource": { "name": "cpu", "target": target } });
            object.set(&["spec", "metrics"], json!([cpu]));
        }
        if let Some(spec) = object.0.get_mut("spec").and_then(Value::as_object_mut) {
            with(spec, "behavior", fill_behavior);
        }
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        validation::check(object, Lenience::of(object, None))
    }

    fn validate_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        // Kubernetes looks at the metadata of these twice, and says so.
        let mut errors = validate_object_meta_update(new, old, &FieldPath::new("metadata"));
        errors.append(validation::check(new, Lenience::of(new, Some(old))));
        errors
    }

    fn validate_status_update(&self, _context: &RequestContext, new: &Object, _old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let status = Field::of(new, "status");
        for count in ["currentReplicas", "desiredReplicas"] {
            status.get(count).check_not_negative(&mut errors);
        }
        errors
    }
}

/// What scaling is like when it is not said: up by four pods or the double every 15 seconds, down by all of them.
fn fill_behavior(behavior: &mut Fields) {
    let policy = |kind: &str, value: i32| json!({ "type": kind, "value": value, "periodSeconds": 15 });
    for direction in ["scaleUp", "scaleDown"] {
        if behavior.get(direction).is_none_or(Value::is_null) {
            behavior.insert(direction.to_owned(), json!({}));
        }
    }
    with(behavior, "scaleUp", |rules| {
        absent(rules, "stabilizationWindowSeconds", 0);
        absent(rules, "selectPolicy", "Max");
        absent(rules, "policies", json!([policy("Pods", 4), policy("Percent", 100)]));
    });
    with(behavior, "scaleDown", |rules| {
        absent(rules, "selectPolicy", "Max");
        absent(rules, "policies", json!([policy("Percent", 100)]));
    });
}
