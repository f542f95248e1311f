//! `autoscaling/v2 HorizontalPodAutoscaler`: HorizontalPodAutoscaler is the configuration for a horizontal pod autoscaler, which automatically manages the replica count of any resource implementing the scale subresource based on the metrics specified.

mod strategy;
mod validation;

use registry_core::api::Object;
use registry_core::resource::Column;
use registry_derive::Resource;
use serde_json::Value;

use crate::support::printers;

/// `horizontalpodautoscalers` of `autoscaling/v2`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler,
    group = "autoscaling",
    version = "v2",
    plural = "horizontalpodautoscalers",
    short("hpa"),
    categories("all"),
    status,
    storage_prefix = "horizontalpodautoscalers",
    columns = COLUMNS,
    strategy = strategy::HorizontalPodAutoscalerStrategy,
)]
pub struct HorizontalPodAutoscalers;

static COLUMNS: &[Column] = &columns(targets);

/// The columns of both versions, which differ in the path of the metrics.
pub(super) const fn columns(targets: fn(&Object) -> Value) -> [Column; 7] {
    [
        Column::NAME,
        Column::text("Reference", reference).described(REFERENCE),
        Column::text("Targets", targets).described(TARGETS),
        Column::text("MinPods", |object| printers::text_or(object, &["spec", "minReplicas"], "<unset>"))
            .described(MIN_PODS),
        Column::text("MaxPods", |object| printers::number(object, &["spec", "maxReplicas"]))
            .described(MAX_PODS),
        Column::text("Replicas", |object| printers::number(object, &["status", "currentReplicas"]))
            .described(REPLICAS),
        Column::AGE,
    ]
}

// The documentation of the fields, which Kubernetes' tables repeat.
const REFERENCE: &str = "scaleTargetRef points to the target resource to scale, and is used to the pods for which metrics should be collected, as well as to actually change the replica count.";
const TARGETS: &str = "metrics contains the specifications for which to use to calculate the desired replica count (the maximum replica count across all metrics will be used).  The desired replica count is calculated multiplying the ratio between the target value and the current value by the current number of pods.  Ergo, metrics used must decrease as the pod count is increased, and vice-versa.  See the individual metric source types for more information about how each type of metric must respond. If not set, the default metric will be set to 80% average CPU utilization.";
const MIN_PODS: &str = "minReplicas is the lower limit for the number of replicas to which the autoscaler can scale down.  It defaults to 1 pod.  minReplicas is allowed to be 0 if the alpha feature gate HPAScaleToZero is enabled and at least one Object or External metric is configured.  Scaling is active as long as at least one metric value is available.";
const MAX_PODS: &str = "maxReplicas is the upper limit for the number of replicas to which the autoscaler can scale up. It cannot be less that minReplicas.";
const REPLICAS: &str = "currentReplicas is current number of replicas of pods managed by this autoscaler, as last seen by the autoscaler.";

/// Returns the scaled object, as `Kind/name`.
fn reference(object: &Object) -> Value {
    let part = |field| object.get_str(&["spec", "scaleTargetRef", field]).unwrap_or_default();
    format!("{}/{}", part("kind"), part("name")).into()
}

/// Returns current and target values of the metrics: `cpu: 20%/50%`; the first two, and the number of further ones.
pub(super) fn targets(object: &Object) -> Value {
    const SHOWN: usize = 2;
    let current: Vec<&Value> = printers::elements(object, &["status", "currentMetrics"]).collect();
    let shown: Vec<String> = printers::elements(object, &["spec", "metrics"])
        .enumerate()
        .map(|(index, metric)| target(metric, current.get(index).copied()))
        .collect();
    match shown.get(..SHOWN) {
        _ if shown.is_empty() => "<none>".into(),
        Some(first) if shown.len() > SHOWN => {
            format!("{} + {} more...", first.join(", "), shown.len() - SHOWN).into()
        }
        _ => shown.join(", ").into(),
    }
}

/// Returns a metric's current and target value.
fn target(metric: &Value, current: Option<&Value>) -> String {
    let kind = metric.get("type").and_then(Value::as_str).unwrap_or_default();
    let source = match kind {
        "External" => "external",
        "Pods" => "pods",
        "Object" => "object",
        "Resource" => "resource",
        "ContainerResource" => "containerResource",
        _ => return "<unknown type>".to_owned(),
    };
    let wanted = metric.pointer(&format!("/{source}/target"));
    let present = current.and_then(|current| current.pointer(&format!("/{source}/current")));
    let of = |values: Option<&Value>, field: &str| {
        values.and_then(|values| values.get(field)).map(printers::plain)
    };
    let average_utilization = of(wanted, "averageUtilization");
    let text = if let Some(wanted) = average_utilization {
        let present =
            of(present, "averageUtilization").map_or_else(|| "<unknown>".to_owned(), |value| value + "%");
        format!("{present}/{wanted}%")
    } else if let Some(wanted) = of(wanted, "averageValue") {
        let average =
            if kind == "Resource" || kind == "ContainerResource" || kind == "Pods" { "" } else { " (avg)" };
        let present = of(present, "averageValue").unwrap_or_else(|| "<unknown>".to_owned());
        format!("{present}/{wanted}{average}")
    } else {
        let present = of(present, "value").unwrap_or_else(|| "<unknown>".to_owned());
        format!("{present}/{}", of(wanted, "value").unwrap_or_else(|| "<auto>".to_owned()))
    };
    match metric.pointer(&format!("/{source}/name")).and_then(Value::as_str) {
        Some(resource) if source.ends_with("esource") => format!("{resource}: {text}"),
        _ => text,
    }
}
