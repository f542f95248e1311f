//! Validation of a HorizontalPodAutoscaler.

use registry_core::api::Object;
use registry_core::api::validation::names;
use registry_core::api::validation::{ErrorList, FieldError};
use resource_views::Text;
use resource_views::autoscaling::v2::{
    ContainerResourceMetricSource, CrossVersionObjectReference, ExternalMetricSource, HPAScalingPolicy,
    HPAScalingRules, HorizontalPodAutoscaler, HorizontalPodAutoscalerSpec, MetricIdentifier, MetricSpec,
    MetricTarget, ObjectMetricSource, PodsMetricSource,
};

use crate::api::core::pod_spec::resource_names;

/// Maximum period of a scaling policy.
const MAX_PERIOD_SECONDS: i64 = 1800;
/// Maximum stabilization window.
const MAX_WINDOW_SECONDS: i64 = 3600;

/// The types of metrics, as messages list them.
const METRIC_TYPES: [&str; 5] = ["ContainerResource", "External", "Object", "Pods", "Resource"];

/// Violations that are allowed because the previous state had them.
#[derive(Clone, Copy)]
pub(super) struct Lenience {
    /// Zero replicas.
    scales_to_zero: bool,
    /// Whether the target is unchanged, whatever its version.
    keeps_target: bool,
    /// Only replication controllers, which are in the core group, may be scaled without a group.
    target_without_group: bool,
}

// === impl Lenience ===

impl Lenience {
    pub(super) fn new(new: &Object, old: Option<&Object>) -> Self {
        let spec = HorizontalPodAutoscaler(new).spec();
        let target = spec.scale_target_ref();
        let before = old.map(|old| HorizontalPodAutoscaler(old).spec());
        let keeps_target = before.is_some_and(|before| {
            let before = before.scale_target_ref();
            before.api_version().text() == target.api_version().text()
                && before.kind().text() == target.kind().text()
        });
        Self {
            scales_to_zero: before.is_some_and(|before| before.min_replicas().integer() == Some(0)),
            keeps_target,
            target_without_group: target.kind().text() == "ReplicationController",
        }
    }
}

/// Returns all violations of the spec.
pub(super) fn check(object: &Object, lenience: Lenience) -> ErrorList {
    let mut errors = ErrorList::default();
    let spec = HorizontalPodAutoscaler(object).spec();
    check_replicas(&spec, lenience, &mut errors);
    let target = spec.scale_target_ref();
    check_reference(&target, &mut errors);
    if !lenience.keeps_target {
        check_api_version(&target.api_version(), lenience.target_without_group, &mut errors);
    }
    check_metrics(&spec, &mut errors);
    check_rules(&spec.behavior().scale_up(), &mut errors);
    check_rules(&spec.behavior().scale_down(), &mut errors);
    errors
}

fn check_replicas(spec: &HorizontalPodAutoscalerSpec<'_, '_>, lenience: Lenience, errors: &mut ErrorList) {
    let least = spec.min_replicas();
    let most = spec.max_replicas();
    let lower_bound = i64::from(!lenience.scales_to_zero);
    if least.integer().is_some_and(|count| count < lower_bound) {
        errors.push(least.invalid(format!("must be greater than or equal to {lower_bound}")));
    }
    let count = most.integer().unwrap_or_default();
    if count == 0 {
        errors.push(most.required("must be set and greater than 0"));
    } else if count < 0 {
        errors.push(most.invalid("must be greater than or equal to 1"));
    }
    if least.integer().is_some_and(|least| count < least) {
        errors.push(FieldError::invalid(
            most.path(),
            count,
            "must be greater than or equal to `minReplicas`",
        ));
    }
}

fn check_reference(reference: &CrossVersionObjectReference<'_, '_>, errors: &mut ErrorList) {
    reference.kind().check_named(names::path_segment, errors);
    reference.name().check_named(names::path_segment, errors);
}

fn check_api_version(field: &Text<'_, '_>, may_be_core: bool, errors: &mut ErrorList) {
    let text = field.text();
    let complaint = match text.matches('/').count() {
        0 if may_be_core => return,
        0 => "apiVersion must specify API group".to_owned(),
        1 if text.starts_with('/') && !may_be_core => "apiVersion must specify API group".to_owned(),
        1 => return,
        _ => format!("unexpected GroupVersion string: {text}"),
    };
    errors.push(FieldError::invalid(field.path(), text, complaint));
}

// === metrics ===

fn check_metrics(spec: &HorizontalPodAutoscalerSpec<'_, '_>, errors: &mut ErrorList) {
    let metrics = spec.metrics();
    let mut has_outside_metric = false;
    for metric in metrics.elements() {
        check_metric(&metric, errors);
        has_outside_metric |= matches!(metric.r#type().text(), "Object" | "External");
    }
    if spec.min_replicas().integer() == Some(0) && !has_outside_metric {
        errors.push(metrics.forbidden(
            "must specify at least one Object or External metric to support scaling to zero replicas",
        ));
    }
}

fn check_metric(metric: &MetricSpec<'_, '_>, errors: &mut ErrorList) {
    let kind = metric.r#type();
    if kind.text().is_empty() {
        errors.push(kind.required("must specify a metric source type"));
    }
    let sources = [
        ("Object", *metric.object()),
        ("External", *metric.external()),
        ("Pods", *metric.pods()),
        ("Resource", *metric.resource()),
        ("ContainerResource", *metric.container_resource()),
    ];
    let expected = sources.iter().find(|(name, _)| *name == kind.text());
    let unsupported = || FieldError::not_supported(kind.path(), kind.text(), &METRIC_TYPES);
    if expected.is_none() {
        errors.push(unsupported());
    }
    let present: Vec<_> = sources.iter().filter(|(_, source)| source.exists()).collect();
    match present.first().map(|(name, _)| *name) {
        Some("Object") => check_object(&metric.object(), errors),
        Some("External") => check_external(&metric.external(), errors),
        Some("Pods") => check_pods(&metric.pods(), errors),
        Some("Resource") => {
            check_resource_name(&metric.resource().name(), errors);
            check_resource_target(&metric.resource().target(), errors);
        }
        Some(_) => check_container_resource(&metric.container_resource(), errors),
        None => {}
    }
    match expected {
        Some((_, source)) if !source.exists() => {
            errors.push(source.required("must populate information for the given metric source"));
        }
        Some(_) => {}
        None => errors.push(unsupported()),
    }
    if present.len() != 1 {
        for (_, source) in present.into_iter().filter(|(name, _)| *name != kind.text()) {
            errors.push(source.forbidden("must populate the given metric source only"));
        }
    }
}

fn check_object(source: &ObjectMetricSource<'_, '_>, errors: &mut ErrorList) {
    let target = source.target();
    let about = source.described_object();
    check_reference(&about, errors);
    check_api_version(&about.api_version(), true, errors);
    check_identifier(&source.metric(), errors);
    check_target(&target, errors);
    if !target.value().exists() && !target.average_value().exists() {
        let detail = "must set either a target value or averageValue";
        errors.push(target.average_value().required(detail));
    }
}

fn check_external(source: &ExternalMetricSource<'_, '_>, errors: &mut ErrorList) {
    let target = source.target();
    let (value, average) = (target.value(), target.average_value());
    check_identifier(&source.metric(), errors);
    check_target(&target, errors);
    if !value.exists() && !average.exists() {
        errors.push(average.required("must set either a target value for metric or a per-pod target"));
    }
    if value.exists() && average.exists() {
        errors.push(value.forbidden("may not set both a target value for metric and a per-pod target"));
    }
}

fn check_pods(source: &PodsMetricSource<'_, '_>, errors: &mut ErrorList) {
    check_identifier(&source.metric(), errors);
    let target = source.target();
    check_target(&target, errors);
    let average = target.average_value();
    if !average.exists() {
        errors.push(average.required("must specify a positive target averageValue"));
    }
}

fn check_container_resource(source: &ContainerResourceMetricSource<'_, '_>, errors: &mut ErrorList) {
    let name = source.name();
    check_resource_name(&name, errors);
    if !name.text().is_empty() {
        resource_names::check_container_name(name.text(), &name.path(), errors);
    }
    let container = source.container();
    if container.text().is_empty() {
        errors.push(container.required("must specify a container"));
    } else {
        container.check(names::dns_label, errors);
    }
    check_resource_target(&source.target(), errors);
}

fn check_resource_name(name: &Text<'_, '_>, errors: &mut ErrorList) {
    if name.text().is_empty() {
        errors.push(name.required("must specify a resource name"));
    }
}

fn check_resource_target(target: &MetricTarget<'_, '_>, errors: &mut ErrorList) {
    check_target(target, errors);
    let utilization = target.average_utilization();
    let average = target.average_value();
    if !utilization.exists() && !average.exists() {
        errors.push(utilization.required("must set either a target raw value or a target utilization"));
    }
    if utilization.exists() && average.exists() {
        errors.push(average.forbidden("may not set both a target raw value and a target utilization"));
    }
}

fn check_identifier(metric: &MetricIdentifier<'_, '_>, errors: &mut ErrorList) {
    let name = metric.name();
    if name.text().is_empty() {
        errors.push(name.required("must specify a metric name"));
    }
    name.check_if_set(names::path_segment, errors);
}

fn check_target(target: &MetricTarget<'_, '_>, errors: &mut ErrorList) {
    let kind = target.r#type();
    if kind.text().is_empty() {
        errors.push(kind.required("must specify a metric target type"));
    }
    if !matches!(kind.text(), "Utilization" | "Value" | "AverageValue") {
        let why = "must be either Utilization, Value, or AverageValue";
        errors.push(FieldError::invalid(kind.path(), kind.text(), why));
    }
    for field in [target.value(), target.average_value()] {
        if field.exists() && field.quantity().is_none_or(|quantity| !quantity.is_positive()) {
            errors.push(field.invalid("must be positive"));
        }
    }
    let utilization = target.average_utilization();
    if utilization.integer().is_some_and(|percent| percent < 1) {
        errors.push(utilization.invalid("must be greater than 0"));
    }
}

// === behavior ===

fn check_rules(rules: &HPAScalingRules<'_, '_>, errors: &mut ErrorList) {
    if !rules.exists() {
        return;
    }
    let window = rules.stabilization_window_seconds();
    match window.integer() {
        Some(seconds) if seconds < 0 => {
            errors.push(window.invalid("must be greater than or equal to zero"));
        }
        Some(seconds) if seconds > MAX_WINDOW_SECONDS => {
            errors.push(window.invalid(format!("must be less than or equal to {MAX_WINDOW_SECONDS}")));
        }
        _ => {}
    }
    rules.select_policy().check_one_of(&["Disabled", "Max", "Min"], errors);
    let policies = rules.policies();
    if policies.is_empty() {
        errors.push(policies.required("must specify at least one Policy"));
    }
    for policy in policies.elements() {
        check_policy(&policy, errors);
    }
    let tolerance = rules.tolerance();
    if tolerance.exists() && tolerance.text().starts_with('-') {
        errors.push(tolerance.invalid("must be greater than or equal to 0"));
    }
}

fn check_policy(policy: &HPAScalingPolicy<'_, '_>, errors: &mut ErrorList) {
    let kind = policy.r#type();
    if !matches!(kind.text(), "Pods" | "Percent") {
        errors.push(FieldError::not_supported(kind.path(), kind.text(), &["Percent", "Pods"]));
    }
    let period = policy.period_seconds();
    policy.value().check_positive(errors);
    period.check_positive(errors);
    if period.integer().is_some_and(|seconds| seconds > MAX_PERIOD_SECONDS) {
        errors.push(period.invalid(format!("must be less than or equal to {MAX_PERIOD_SECONDS}")));
    }
}
