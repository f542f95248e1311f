//! Metrics in the annotations of `autoscaling/v1`: an older form than the fields of `autoscaling/v2`, written in
//! Kubernetes' field order.

use k8s_openapi::api::autoscaling::v2;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use registry_core::resource::conversion::ConversionError;
use resource_views::Typed as _;
use resource_views::autoscaling::v2 as views;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

mod older;

use older::{MetricSpec, MetricStatus};

/// The default target.
pub(super) const DEFAULT_CPU_PERCENT: i32 = 80;

/// Conditions with their fields in Kubernetes' order.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Condition {
    r#type: String,
    status: String,
    #[serde(default)]
    last_transition_time: Value,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    reason: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    message: String,
}

// === CPU utilization, which has fields ===

/// Returns the metric for the CPU target of `autoscaling/v1`.
pub(super) fn cpu_target(percent: &Value) -> Value {
    let target = json!({ "type": "Utilization", "averageUtilization": percent });
    json!({ "type": "Resource", "resource": { "name": "cpu", "target": target } })
}

/// Returns the measurement for the CPU utilization of `autoscaling/v1`.
pub(super) fn cpu_current(percent: &Value) -> Value {
    let current = json!({ "averageUtilization": percent });
    json!({ "type": "Resource", "resource": { "name": "cpu", "current": current } })
}

/// Returns the target utilization, if the first CPU metric has one.
pub(super) fn cpu_percent_wanted(metrics: &[Value]) -> Option<Value> {
    metrics.iter().find(|metric| is_cpu(metric)).and_then(utilization_wanted).cloned()
}

/// Returns the current utilization, if it was measured.
pub(super) fn cpu_percent_now(metrics: &[Value]) -> Option<Value> {
    let cpu = metrics.iter().filter(|metric| is_cpu(metric));
    cpu.filter_map(utilization_now).next_back().cloned()
}

/// The view of a target metric. A measurement has the same type and name.
fn wanted(metric: &Value) -> views::MetricSpec<'_, '_> {
    views::MetricSpec::from_value(metric)
}

fn is_cpu(metric: &Value) -> bool {
    wanted(metric).r#type().text() == "Resource" && wanted(metric).resource().name().text() == "cpu"
}

fn utilization_wanted(metric: &Value) -> Option<&Value> {
    wanted(metric).resource().target().average_utilization().value()
}

fn utilization_now(metric: &Value) -> Option<&Value> {
    let measured = views::MetricStatus::from_value(metric);
    measured.resource().current().average_utilization().value()
}

// === all else, which travels in annotations ===

/// Returns the target metrics that have no field, in their older form.
pub(super) fn other_wanted(metrics: &[Value]) -> Result<Vec<MetricSpec>, ConversionError> {
    let has_field = |metric: &&Value| is_cpu(metric) && utilization_wanted(metric).is_some();
    metrics.iter().filter(|metric| !has_field(metric)).map(read::<v2::MetricSpec, _>).collect()
}

/// Returns the target metrics of an annotation, in the form of `autoscaling/v2`.
pub(super) fn wanted_of(annotation: Vec<MetricSpec>) -> Vec<Value> {
    annotation.into_iter().map(|metric| write(&v2::MetricSpec::from(metric))).collect()
}

/// Returns all measurements, in their older form.
pub(super) fn current(metrics: &[Value]) -> Result<Vec<MetricStatus>, ConversionError> {
    metrics.iter().map(read::<v2::MetricStatus, _>).collect()
}

/// Returns the measurements of an annotation, in the form of `autoscaling/v2`.
pub(super) fn current_of(annotation: Vec<MetricStatus>) -> Vec<Value> {
    annotation.into_iter().map(|metric| write(&v2::MetricStatus::from(metric))).collect()
}

/// Returns conditions in the field order of annotations.
pub(super) fn conditions(conditions: Vec<Value>) -> Result<Vec<Condition>, ConversionError> {
    conditions.into_iter().map(|condition| Ok(serde_json::from_value(condition)?)).collect()
}

fn read<T: DeserializeOwned, U: From<T>>(metric: &Value) -> Result<U, ConversionError> {
    Ok(T::deserialize(metric).map(U::from)?)
}

/// Serializes an API type. API types are JSON objects, so this cannot fail.
fn write<T: Serialize>(metric: &T) -> Value {
    serde_json::to_value(metric).unwrap_or_default()
}

/// Returns a required quantity: zero if it is absent.
fn or_zero(quantity: Option<Quantity>) -> Quantity {
    quantity.unwrap_or_else(|| Quantity("0".to_owned()))
}
