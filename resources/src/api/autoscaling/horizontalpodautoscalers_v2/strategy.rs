//! Rules of HorizontalPodAutoscalers.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::features::Feature;
use registry_core::resource::{GatedField, ObjectStrategy};
use resource_views::autoscaling::v2::{
    HorizontalPodAutoscaler, HorizontalPodAutoscalerBehaviorMut, HorizontalPodAutoscalerMut,
};
use serde_json::json;

use crate::api::autoscaling::round_trip;

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
        let mut spec = HorizontalPodAutoscalerMut(object).spec().or_new();
        spec.min_replicas().or(1);
        spec.metrics().or_if_empty(|| {
            let target = json!({ "type": "Utilization", "averageUtilization": 80 });
            let cpu = json!({ "type": "Resource", "resource": { "name": "cpu", "target": target } });
            json!([cpu])
        });
        spec.behavior().edit(fill_behavior);
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        validation::check(object, Lenience::new(object, None))
    }

    fn validate_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        validation::check(new, Lenience::new(new, Some(old)))
    }

    fn validate_status_update(&self, _context: &RequestContext, new: &Object, _old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let status = HorizontalPodAutoscaler(new).status();
        status.current_replicas().check_not_negative(&mut errors);
        status.desired_replicas().check_not_negative(&mut errors);
        errors
    }
}

/// Sets the default behavior: scale up by four pods or to twice the number every 15 seconds, scale down by any number.
fn fill_behavior(mut behavior: HorizontalPodAutoscalerBehaviorMut<'_>) {
    let policy = |kind: &str, value: i32| json!({ "type": kind, "value": value, "periodSeconds": 15 });
    let mut up = behavior.scale_up().or_new();
    up.stabilization_window_seconds().or_if_absent(0);
    up.select_policy().or_if_absent("Max");
    up.policies().or_value(|| json!([policy("Pods", 4), policy("Percent", 100)]));
    let mut down = behavior.scale_down().or_new();
    down.select_policy().or_if_absent("Max");
    down.policies().or_value(|| json!([policy("Percent", 100)]));
}
