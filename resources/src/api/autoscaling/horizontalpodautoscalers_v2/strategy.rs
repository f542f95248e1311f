//! Rules of HorizontalPodAutoscalers.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::features::Feature;
use registry_core::resource::{GatedField, ObjectStrategy};
use serde_json::{Value, json};

use crate::api::autoscaling::round_trip;
use crate::support::defaulting::{Fields, fill_absent, fill_at, is_empty_at, with, with_at};
use crate::support::field::Field;

use super::validation::{self, Lenience};

/// Defaults of metrics and behavior; validation, which depends on the previous state.
pub(super) struct HorizontalPodAutoscalerStrategy;

impl ObjectStrategy for HorizontalPodAutoscalerStrategy {
    fn gated_fields(&self) -> Vec<GatedField> {
        ["spec.behavior.scaleUp.tolerance", "spec.behavior.scaleDown.tolerance"]
            .map(|path| GatedField::new(Feature::HPAConfigurableTolerance, path))
            .into()
    }

    fn apply_defaults(&self, object: &mut Object) {
        round_trip::drop_annotations(object);
        fill_at(object, &["spec", "minReplicas"], 1);
        if is_empty_at(object, &["spec", "metrics"]) {
            let target = json!({ "type": "Utilization", "averageUtilization": 80 });
            let cpu = json!({ "type": "Resource", "resource": { "name": "cpu", "target": target } });
            object.set(&["spec", "metrics"], json!([cpu]));
        }
        with_at(object, &["spec", "behavior"], fill_behavior);
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        validation::check(object, Lenience::new(object, None))
    }

    fn validate_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        validation::check(new, Lenience::new(new, Some(old)))
    }

    fn validate_status_update(&self, _context: &RequestContext, new: &Object, _old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let status = Field::top_level(new, "status");
        for count in ["currentReplicas", "desiredReplicas"] {
            status.get(count).check_not_negative(&mut errors);
        }
        errors
    }
}

/// Sets the default behavior: scale up by four pods or to twice the number every 15 seconds, scale down by any number.
fn fill_behavior(behavior: &mut Fields) {
    let policy = |kind: &str, value: i32| json!({ "type": kind, "value": value, "periodSeconds": 15 });
    for direction in ["scaleUp", "scaleDown"] {
        if behavior.get(direction).is_none_or(Value::is_null) {
            behavior.insert(direction.to_owned(), json!({}));
        }
    }
    with(behavior, "scaleUp", |rules| {
        fill_absent(rules, "stabilizationWindowSeconds", 0);
        fill_absent(rules, "selectPolicy", "Max");
        fill_absent(rules, "policies", json!([policy("Pods", 4), policy("Percent", 100)]));
    });
    with(behavior, "scaleDown", |rules| {
        fill_absent(rules, "selectPolicy", "Max");
        fill_absent(rules, "policies", json!([policy("Percent", 100)]));
    });
}
