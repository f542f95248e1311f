//! `autoscaling/v1 HorizontalPodAutoscaler`: the version with a single metric, the CPU usage of pods. It is stored as
//! `autoscaling/v2`; annotations carry what only that version can express.

mod behavior;
mod metrics;

use registry_core::api::Object;
use registry_core::resource::conversion::{ConversionError, Spoke};
use registry_core::resource::{Column, ObjectStrategy};
use registry_derive::Resource;
use resource_views::autoscaling::v1::HorizontalPodAutoscaler;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::support::defaulting::fill_at;

use super::horizontalpodautoscalers_v2::{self as v2, HorizontalPodAutoscalers};
use super::round_trip::{self, BEHAVIOR, CONDITIONS, CURRENT_METRICS, METRICS};

/// `horizontalpodautoscalers` of `autoscaling/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::autoscaling::v1::HorizontalPodAutoscaler,
    group = "autoscaling",
    version = "v1",
    short("hpa"),
    categories("all"),
    status,
    hub = HorizontalPodAutoscalers,
    columns = COLUMNS,
    strategy = DefaultsV1,
)]
pub struct HorizontalPodAutoscalersV1;

static COLUMNS: &[Column] = &v2::columns(|object| match HorizontalPodAutoscalersV1::to_hub(object.clone()) {
    Ok(hub) => v2::targets(&hub),
    Err(_) => "<unknown>".into(),
});

/// The default of `minReplicas`: 1.
struct DefaultsV1;

impl ObjectStrategy for DefaultsV1 {
    fn apply_defaults(&self, object: &mut Object) {
        fill_at(object, &["spec", "minReplicas"], 1);
    }
}

impl Spoke for HorizontalPodAutoscalersV1 {
    type Hub = HorizontalPodAutoscalers;

    fn to_hub(mut object: Object) -> Result<Object, ConversionError> {
        let mut wanted: Vec<Value> = metrics::wanted_of(annotation(&object, METRICS).unwrap_or_default());
        if let Some(percent) = object.remove(&["spec", "targetCPUUtilizationPercentage"]) {
            wanted.push(metrics::cpu_target(&percent));
        }
        if wanted.is_empty() {
            // The controller's former default for an empty spec.
            wanted.push(metrics::cpu_target(&json!(metrics::DEFAULT_CPU_PERCENT)));
        }
        object.set(&["spec", "metrics"], wanted.into());
        if let Some(behavior) = annotation(&object, BEHAVIOR).and_then(behavior::from_annotation) {
            object.set(&["spec", "behavior"], behavior);
        }
        if let Some(percent) = object.remove(&["status", "currentCPUUtilizationPercentage"]) {
            object.set(&["status", "currentMetrics"], json!([metrics::cpu_current(&percent)]));
        }
        // The annotations are more complete than the single number.
        if let Some(current) = annotation(&object, CURRENT_METRICS) {
            object.set(&["status", "currentMetrics"], metrics::current_of(current).into());
        }
        if let Some(conditions) = annotation::<Vec<Value>>(&object, CONDITIONS) {
            object.set(&["status", "conditions"], conditions.into());
        }
        round_trip::drop_annotations(&mut object);
        Ok(object)
    }

    fn from_hub(mut object: Object) -> Result<Object, ConversionError> {
        round_trip::drop_annotations(&mut object);
        let wanted = list(object.remove(&["spec", "metrics"]));
        if let Some(percent) = metrics::cpu_percent_wanted(&wanted) {
            object.set(&["spec", "targetCPUUtilizationPercentage"], percent);
        }
        let others = metrics::other_wanted(&wanted)?;
        if !others.is_empty() {
            annotate(&mut object, METRICS, &others)?;
        }
        if let Some(behavior) = object.remove(&["spec", "behavior"]).filter(|behavior| !behavior.is_null()) {
            annotate(&mut object, BEHAVIOR, &behavior::to_annotation(behavior)?)?;
        }
        let current = list(object.remove(&["status", "currentMetrics"]));
        if let Some(percent) = metrics::cpu_percent_now(&current) {
            object.set(&["status", "currentCPUUtilizationPercentage"], percent);
        }
        if !current.is_empty() {
            annotate(&mut object, CURRENT_METRICS, &metrics::current(&current)?)?;
        }
        let conditions = list(object.remove(&["status", "conditions"]));
        if !conditions.is_empty() {
            annotate(&mut object, CONDITIONS, &metrics::conditions(conditions)?)?;
        }
        Ok(object)
    }
}

fn list(value: Option<Value>) -> Vec<Value> {
    match value {
        Some(Value::Array(elements)) => elements,
        _ => Vec::new(),
    }
}

/// Returns the value of an annotation; an invalid one is ignored, as in Kubernetes.
fn annotation<T: DeserializeOwned>(object: &Object, name: &str) -> Option<T> {
    let metadata = HorizontalPodAutoscaler(object).metadata();
    serde_json::from_str(metadata.annotations().entry(name).optional_text()?).ok()
}

fn annotate<T: Serialize>(object: &mut Object, name: &str, value: &T) -> Result<(), ConversionError> {
    let text = serde_json::to_string(value)?;
    object.set(&["metadata", "annotations", name], text.into());
    Ok(())
}

#[cfg(test)]
mod tests;
