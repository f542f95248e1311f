//! Validation of a HorizontalPodAutoscaler.

use std::cmp::Ordering;

use registry_core::api::Object;
use registry_core::api::validation::names;
use registry_core::api::validation::{ErrorList, FieldError};
use registry_core::schema::Quantity;

use crate::api::core::pod_spec::validation;
use crate::support::field::Field;

/// Maximum period of a scaling policy.
const MAX_PERIOD_SECONDS: i64 = 1800;
/// Maximum stabilization window.
const MAX_WINDOW_SECONDS: i64 = 3600;

/// The metric sources, by type and by field, in the order in which they are checked.
const SOURCES: [(&str, &str); 5] = [
    ("Object", "object"),
    ("External", "external"),
    ("Pods", "pods"),
    ("Resource", "resource"),
    ("ContainerResource", "containerResource"),
];
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
        let target = |object: &Object, field| {
            object.get_str(&["spec", "scaleTargetRef", field]).unwrap_or_default().to_owned()
        };
        let keeps_target = old.is_some_and(|old| {
            ["apiVersion", "kind"].iter().all(|field| target(old, field) == target(new, field))
        });
        Self {
            scales_to_zero: old.is_some_and(|old| old.get_i64(&["spec", "minReplicas"]) == Some(0)),
            keeps_target,
            target_without_group: target(new, "kind") == "ReplicationController",
        }
    }
}

/// Returns all violations of the spec.
pub(super) fn check(object: &Object, lenience: Lenience) -> ErrorList {
    let mut errors = ErrorList::default();
    let spec = Field::top_level(object, "spec");
    check_replicas(&spec, lenience, &mut errors);
    let target = spec.get("scaleTargetRef");
    check_reference(&target, &mut errors);
    if !lenience.keeps_target {
        check_api_version(&target.get("apiVersion"), lenience.target_without_group, &mut errors);
    }
    check_metrics(&spec, &mut errors);
    for direction in ["scaleUp", "scaleDown"] {
        check_rules(&spec.get("behavior").get(direction), &mut errors);
    }
    errors
}

fn check_replicas(spec: &Field<'_, '_>, lenience: Lenience, errors: &mut ErrorList) {
    let least = spec.get("minReplicas");
    let most = spec.get("maxReplicas");
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

fn check_reference(reference: &Field<'_, '_>, errors: &mut ErrorList) {
    for name in ["kind", "name"] {
        let field = reference.get(name);
        if field.check_present(errors) {
            field.check(names::path_segment, errors);
        }
    }
}

fn check_api_version(field: &Field<'_, '_>, may_be_core: bool, errors: &mut ErrorList) {
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

fn check_metrics(spec: &Field<'_, '_>, errors: &mut ErrorList) {
    let metrics = spec.get("metrics");
    let mut has_outside_metric = false;
    for metric in metrics.elements() {
        check_metric(&metric, errors);
        has_outside_metric |= matches!(metric.get("type").text(), "Object" | "External");
    }
    if spec.get("minReplicas").integer() == Some(0) && !has_outside_metric {
        errors.push(metrics.forbidden(
            "must specify at least one Object or External metric to support scaling to zero replicas",
        ));
    }
}

fn check_metric(metric: &Field<'_, '_>, errors: &mut ErrorList) {
    let kind = metric.get("type");
    if kind.text().is_empty() {
        errors.push(kind.required("must specify a metric source type"));
    }
    let expected = SOURCES.iter().find(|(name, _)| *name == kind.text()).map(|(_, field)| *field);
    let unsupported = || FieldError::not_supported(kind.path(), kind.text(), &METRIC_TYPES);
    if expected.is_none() {
        errors.push(unsupported());
    }
    let present: Vec<&str> =
        SOURCES.iter().map(|(_, field)| *field).filter(|field| metric.get(field).exists()).collect();
    if let Some(first) = present.first() {
        check_source(&metric.get(first), first, errors);
    }
    match expected {
        Some(field) if !present.contains(&field) => {
            errors.push(metric.get(field).required("must populate information for the given metric source"));
        }
        Some(_) => {}
        None => errors.push(unsupported()),
    }
    if present.len() != 1 {
        for field in present.into_iter().filter(|field| Some(*field) != expected) {
            errors.push(metric.get(field).forbidden("must populate the given metric source only"));
        }
    }
}

fn check_source(source: &Field<'_, '_>, kind: &str, errors: &mut ErrorList) {
    let metric = source.get("metric");
    let target = source.get("target");
    let value = target.get("value");
    let average = target.get("averageValue");
    match kind {
        "object" => {
            let about = source.get("describedObject");
            check_reference(&about, errors);
            check_api_version(&about.get("apiVersion"), true, errors);
            check_identifier(&metric, errors);
            check_target(&target, errors);
            if !value.exists() && !average.exists() {
                errors.push(average.required("must set either a target value or averageValue"));
            }
        }
        "external" => {
            check_identifier(&metric, errors);
            check_target(&target, errors);
            if !value.exists() && !average.exists() {
                errors
                    .push(average.required("must set either a target value for metric or a per-pod target"));
            }
            if value.exists() && average.exists() {
                let why = "may not set both a target value for metric and a per-pod target";
                errors.push(value.forbidden(why));
            }
        }
        "pods" => {
            check_identifier(&metric, errors);
            check_target(&target, errors);
            if !average.exists() {
                errors.push(average.required("must specify a positive target averageValue"));
            }
        }
        "containerResource" => {
            check_resource_name(source, errors);
            let name = source.get("name");
            if !name.text().is_empty() {
                validation::check_container_name(name.text(), &name.path(), errors);
            }
            let container = source.get("container");
            if container.text().is_empty() {
                errors.push(container.required("must specify a container"));
            } else {
                container.check(names::dns_label, errors);
            }
            check_resource_target(&target, errors);
        }
        _ => {
            check_resource_name(source, errors);
            check_resource_target(&target, errors);
        }
    }
}

fn check_resource_name(source: &Field<'_, '_>, errors: &mut ErrorList) {
    let name = source.get("name");
    if name.text().is_empty() {
        errors.push(name.required("must specify a resource name"));
    }
}

fn check_resource_target(target: &Field<'_, '_>, errors: &mut ErrorList) {
    check_target(target, errors);
    let utilization = target.get("averageUtilization");
    let average = target.get("averageValue");
    if !utilization.exists() && !average.exists() {
        errors.push(utilization.required("must set either a target raw value or a target utilization"));
    }
    if utilization.exists() && average.exists() {
        errors.push(average.forbidden("may not set both a target raw value and a target utilization"));
    }
}

fn check_identifier(metric: &Field<'_, '_>, errors: &mut ErrorList) {
    let name = metric.get("name");
    if name.text().is_empty() {
        errors.push(name.required("must specify a metric name"));
    } else {
        name.check(names::path_segment, errors);
    }
}

fn check_target(target: &Field<'_, '_>, errors: &mut ErrorList) {
    let kind = target.get("type");
    if kind.text().is_empty() {
        errors.push(kind.required("must specify a metric target type"));
    }
    if !matches!(kind.text(), "Utilization" | "Value" | "AverageValue") {
        let why = "must be either Utilization, Value, or AverageValue";
        errors.push(FieldError::invalid(kind.path(), kind.text(), why));
    }
    for name in ["value", "averageValue"] {
        let quantity = target.get(name);
        if quantity.exists() && !is_positive(quantity.text()) {
            errors.push(quantity.invalid("must be positive"));
        }
    }
    let utilization = target.get("averageUtilization");
    if utilization.integer().is_some_and(|percent| percent < 1) {
        errors.push(utilization.invalid("must be greater than 0"));
    }
}

fn is_positive(text: &str) -> bool {
    let zero = Quantity::parse("0");
    match (Quantity::parse(text), zero) {
        (Ok(quantity), Ok(zero)) => quantity.compare(&zero) == Ordering::Greater,
        _ => false,
    }
}

// === behavior ===

fn check_rules(rules: &Field<'_, '_>, errors: &mut ErrorList) {
    if !rules.exists() {
        return;
    }
    let window = rules.get("stabilizationWindowSeconds");
    match window.integer() {
        Some(seconds) if seconds < 0 => {
            errors.push(window.invalid("must be greater than or equal to zero"));
        }
        Some(seconds) if seconds > MAX_WINDOW_SECONDS => {
            errors.push(window.invalid(format!("must be less than or equal to {MAX_WINDOW_SECONDS}")));
        }
        _ => {}
    }
    rules.get("selectPolicy").check_one_of(&["Disabled", "Max", "Min"], errors);
    let policies = rules.get("policies");
    if policies.is_empty() {
        errors.push(policies.required("must specify at least one Policy"));
    }
    for policy in policies.elements() {
        check_policy(&policy, errors);
    }
    let tolerance = rules.get("tolerance");
    if tolerance.exists() && tolerance.text().starts_with('-') {
        errors.push(tolerance.invalid("must be greater than or equal to 0"));
    }
}

fn check_policy(policy: &Field<'_, '_>, errors: &mut ErrorList) {
    let kind = policy.get("type");
    if !matches!(kind.text(), "Pods" | "Percent") {
        errors.push(FieldError::not_supported(kind.path(), kind.text(), &["Percent", "Pods"]));
    }
    for name in ["value", "periodSeconds"] {
        let number = policy.get(name);
        if number.integer().unwrap_or_default() <= 0 {
            let shown = number.integer().unwrap_or_default();
            errors.push(FieldError::invalid(number.path(), shown, "must be greater than zero"));
        }
    }
    let period = policy.get("periodSeconds");
    if period.integer().is_some_and(|seconds| seconds > MAX_PERIOD_SECONDS) {
        errors.push(period.invalid(format!("must be less than or equal to {MAX_PERIOD_SECONDS}")));
    }
}
