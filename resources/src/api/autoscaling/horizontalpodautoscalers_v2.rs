//! `autoscaling/v2 HorizontalPodAutoscaler`: the number of replicas of a resource, by metrics.

mod strategy;
mod validation;

use registry_core::api::Object;
use registry_core::resource::Column;
use registry_derive::Resource;
use resource_views::Text;
use resource_views::autoscaling::v2::{
    HorizontalPodAutoscaler, MetricSpec, MetricStatus, MetricTarget, MetricValueStatus,
};
use serde_json::Value;

use crate::support::printers;

/// `horizontalpodautoscalers` of `autoscaling/v2`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler,
    group = "autoscaling",
    version = "v2",
    short("hpa"),
    categories("all"),
    status,
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
    // Both versions have it at the same place.
    let spec = HorizontalPodAutoscaler(object).spec();
    let target = spec.scale_target_ref();
    format!("{}/{}", target.kind().text(), target.name().text()).into()
}

/// Returns current and target values of the metrics: `cpu: 20%/50%`; the first two, and the number of further ones.
pub(super) fn targets(object: &Object) -> Value {
    const SHOWN: usize = 2;
    let status = HorizontalPodAutoscaler(object).status();
    let spec = HorizontalPodAutoscaler(object).spec();
    let measured = status.current_metrics();
    let measured: Vec<MetricStatus<'_, '_>> = measured.elements().collect();
    let metrics = spec.metrics();
    let targets = metrics.elements().enumerate().map(|(index, metric)| target(&metric, measured.get(index)));
    let shown: Vec<String> = targets.collect();
    match shown.get(..SHOWN) {
        _ if shown.is_empty() => "<none>".into(),
        Some(first) if shown.len() > SHOWN => {
            format!("{} + {} more...", first.join(", "), shown.len() - SHOWN).into()
        }
        _ => shown.join(", ").into(),
    }
}

/// Returns a metric's current and target value.
fn target(metric: &MetricSpec<'_, '_>, measured: Option<&MetricStatus<'_, '_>>) -> String {
    // A measured metric has the type of its target, or does not exist.
    macro_rules! source {
        ($source:ident, $average:literal) => {{
            let measured = measured.map(|measured| measured.$source());
            let current = measured.as_ref().map(|measured| measured.current());
            values(&metric.$source().target(), current.as_ref(), $average)
        }};
    }
    match metric.r#type().text() {
        "External" => source!(external, " (avg)"),
        "Pods" => source!(pods, ""),
        "Object" => source!(object, " (avg)"),
        "Resource" => named(&metric.resource().name(), source!(resource, "")),
        "ContainerResource" => named(&metric.container_resource().name(), source!(container_resource, "")),
        _ => "<unknown type>".to_owned(),
    }
}

/// Returns the values of a metric of a resource, after the name of the resource.
fn named(resource: &Text<'_, '_>, values: String) -> String {
    match resource.optional_text() {
        Some(resource) => format!("{resource}: {values}"),
        None => values,
    }
}

/// Returns a current and a target value. Averages are marked with a word.
fn values(
    target: &MetricTarget<'_, '_>,
    current: Option<&MetricValueStatus<'_, '_>>,
    average: &str,
) -> String {
    let unknown = || "<unknown>".to_owned();
    if let Some(wanted) = target.average_utilization().integer() {
        let present = current.and_then(|current| current.average_utilization().integer());
        let present = present.map_or_else(unknown, |present| format!("{present}%"));
        format!("{present}/{wanted}%")
    } else if let Some(wanted) = target.average_value().value().map(printers::plain) {
        let present = current.and_then(|current| current.average_value().value());
        format!("{}/{wanted}{average}", present.map_or_else(unknown, printers::plain))
    } else {
        let wanted = target.value().value().map(printers::plain);
        let present = current.and_then(|current| current.value().value());
        let wanted = wanted.unwrap_or_else(|| "<auto>".to_owned());
        format!("{}/{wanted}", present.map_or_else(unknown, printers::plain))
    }
}
