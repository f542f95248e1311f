//! The older form of metrics, and its conversion from and to `autoscaling/v2`.

use k8s_openapi::api::autoscaling::v2;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde::{Deserialize, Serialize};

use super::or_zero;

macro_rules! older {
    ($($(#[$attribute:meta])* $name:ident { $($field:ident: $type:ty),* $(,)? })*) => { $(
        $(#[$attribute])*
        #[derive(Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub(in super::super) struct $name {
            $(
                #[serde(default, skip_serializing_if = "Skip::skip")]
                $field: $type,
            )*
        }
    )* };
}

/// Whether Go's `omitempty` leaves a field out: only absent pointers here.
trait Skip {
    fn skip(&self) -> bool {
        false
    }
}

impl<T> Skip for Option<T> {
    fn skip(&self) -> bool {
        self.is_none()
    }
}

impl Skip for String {}
impl Skip for Quantity {}
impl Skip for Reference {}

older! {
    /// A target metric.
    MetricSpec {
        r#type: String,
        object: Option<ObjectSource>,
        pods: Option<PodsSource>,
        resource: Option<ResourceSource>,
        container_resource: Option<ContainerSource>,
        external: Option<ExternalSource>,
    }
    ObjectSource {
        target: Reference,
        metric_name: String,
        target_value: Quantity,
        selector: Option<LabelSelector>,
        average_value: Option<Quantity>,
    }
    PodsSource { metric_name: String, target_average_value: Quantity, selector: Option<LabelSelector> }
    ResourceSource {
        name: String,
        target_average_utilization: Option<i32>,
        target_average_value: Option<Quantity>,
    }
    ContainerSource {
        name: String,
        target_average_utilization: Option<i32>,
        target_average_value: Option<Quantity>,
        container: String,
    }
    ExternalSource {
        metric_name: String,
        metric_selector: Option<LabelSelector>,
        target_value: Option<Quantity>,
        target_average_value: Option<Quantity>,
    }
    /// A measurement.
    MetricStatus {
        r#type: String,
        object: Option<ObjectStatus>,
        pods: Option<PodsStatus>,
        resource: Option<ResourceStatus>,
        container_resource: Option<ContainerStatus>,
        external: Option<ExternalStatus>,
    }
    ObjectStatus {
        target: Reference,
        metric_name: String,
        current_value: Quantity,
        selector: Option<LabelSelector>,
        average_value: Option<Quantity>,
    }
    PodsStatus { metric_name: String, current_average_value: Quantity, selector: Option<LabelSelector> }
    ResourceStatus {
        name: String,
        current_average_utilization: Option<i32>,
        current_average_value: Quantity,
    }
    ContainerStatus {
        name: String,
        current_average_utilization: Option<i32>,
        current_average_value: Quantity,
        container: String,
    }
    ExternalStatus {
        metric_name: String,
        metric_selector: Option<LabelSelector>,
        current_value: Quantity,
        current_average_value: Option<Quantity>,
    }
    #[derive(Default)]
    Reference { kind: String, name: String, api_version: Option<String> }
}

/// Returns the target, of the type that its fields imply.
fn target(
    kind: &str,
    value: Option<Quantity>,
    average_value: Option<Quantity>,
    average_utilization: Option<i32>,
) -> v2::MetricTarget {
    v2::MetricTarget { type_: kind.to_owned(), value, average_value, average_utilization }
}

fn utilization_target(utilization: Option<i32>, value: Option<Quantity>) -> v2::MetricTarget {
    let kind = if utilization.is_some() { "Utilization" } else { "AverageValue" };
    target(kind, None, value, utilization)
}

fn measured(
    value: Option<Quantity>,
    average_value: Option<Quantity>,
    average_utilization: Option<i32>,
) -> v2::MetricValueStatus {
    v2::MetricValueStatus { value, average_value, average_utilization }
}

fn metric(name: String, selector: Option<LabelSelector>) -> v2::MetricIdentifier {
    v2::MetricIdentifier { name, selector }
}

// === references ===

impl From<v2::CrossVersionObjectReference> for Reference {
    fn from(from: v2::CrossVersionObjectReference) -> Self {
        Self { kind: from.kind, name: from.name, api_version: from.api_version }
    }
}

impl From<Reference> for v2::CrossVersionObjectReference {
    fn from(from: Reference) -> Self {
        Self { kind: from.kind, name: from.name, api_version: from.api_version }
    }
}

// === wanted metrics ===

impl From<v2::MetricSpec> for MetricSpec {
    fn from(from: v2::MetricSpec) -> Self {
        Self {
            r#type: from.type_,
            object: from.object.map(|source| ObjectSource {
                target: source.described_object.into(),
                metric_name: source.metric.name,
                target_value: or_zero(source.target.value),
                selector: source.metric.selector,
                average_value: source.target.average_value,
            }),
            pods: from.pods.map(|source| PodsSource {
                metric_name: source.metric.name,
                target_average_value: or_zero(source.target.average_value),
                selector: source.metric.selector,
            }),
            resource: from.resource.map(|source| ResourceSource {
                name: source.name,
                target_average_utilization: source.target.average_utilization,
                target_average_value: source.target.average_value,
            }),
            container_resource: from.container_resource.map(|source| ContainerSource {
                name: source.name,
                target_average_utilization: source.target.average_utilization,
                target_average_value: source.target.average_value,
                container: source.container,
            }),
            external: from.external.map(|source| ExternalSource {
                metric_name: source.metric.name,
                metric_selector: source.metric.selector,
                target_value: source.target.value,
                target_average_value: source.target.average_value,
            }),
        }
    }
}

impl From<MetricSpec> for v2::MetricSpec {
    fn from(from: MetricSpec) -> Self {
        Self {
            type_: from.r#type,
            object: from.object.map(|source| {
                let kind = if source.average_value.is_some() { "AverageValue" } else { "Value" };
                v2::ObjectMetricSource {
                    described_object: source.target.into(),
                    metric: metric(source.metric_name, source.selector),
                    target: target(kind, Some(source.target_value), source.average_value, None),
                }
            }),
            pods: from.pods.map(|source| v2::PodsMetricSource {
                metric: metric(source.metric_name, source.selector),
                target: target("AverageValue", None, Some(source.target_average_value), None),
            }),
            resource: from.resource.map(|source| v2::ResourceMetricSource {
                name: source.name,
                target: utilization_target(source.target_average_utilization, source.target_average_value),
            }),
            container_resource: from.container_resource.map(|source| v2::ContainerResourceMetricSource {
                name: source.name,
                container: source.container,
                target: utilization_target(source.target_average_utilization, source.target_average_value),
            }),
            external: from.external.map(|source| {
                let kind = if source.target_value.is_some() { "Value" } else { "AverageValue" };
                v2::ExternalMetricSource {
                    metric: metric(source.metric_name, source.metric_selector),
                    target: target(kind, source.target_value, source.target_average_value, None),
                }
            }),
        }
    }
}

// === measurements ===

impl From<v2::MetricStatus> for MetricStatus {
    fn from(from: v2::MetricStatus) -> Self {
        Self {
            r#type: from.type_,
            object: from.object.map(|source| ObjectStatus {
                target: source.described_object.into(),
                metric_name: source.metric.name,
                current_value: or_zero(source.current.value),
                selector: source.metric.selector,
                average_value: source.current.average_value,
            }),
            pods: from.pods.map(|source| PodsStatus {
                metric_name: source.metric.name,
                current_average_value: or_zero(source.current.average_value),
                selector: source.metric.selector,
            }),
            resource: from.resource.map(|source| ResourceStatus {
                name: source.name,
                current_average_utilization: source.current.average_utilization,
                current_average_value: or_zero(source.current.average_value),
            }),
            container_resource: from.container_resource.map(|source| ContainerStatus {
                name: source.name,
                current_average_utilization: source.current.average_utilization,
                current_average_value: or_zero(source.current.average_value),
                container: source.container,
            }),
            external: from.external.map(|source| ExternalStatus {
                metric_name: source.metric.name,
                metric_selector: source.metric.selector,
                current_value: or_zero(source.current.value),
                current_average_value: source.current.average_value,
            }),
        }
    }
}

impl From<MetricStatus> for v2::MetricStatus {
    fn from(from: MetricStatus) -> Self {
        Self {
            type_: from.r#type,
            object: from.object.map(|source| v2::ObjectMetricStatus {
                described_object: source.target.into(),
                metric: metric(source.metric_name, source.selector),
                current: measured(Some(source.current_value), source.average_value, None),
            }),
            pods: from.pods.map(|source| v2::PodsMetricStatus {
                metric: metric(source.metric_name, source.selector),
                current: measured(None, Some(source.current_average_value), None),
            }),
            resource: from.resource.map(|source| v2::ResourceMetricStatus {
                name: source.name,
                current: measured(
                    None,
                    Some(source.current_average_value),
                    source.current_average_utilization,
                ),
            }),
            container_resource: from.container_resource.map(|source| v2::ContainerResourceMetricStatus {
                name: source.name,
                container: source.container,
                current: measured(
                    None,
                    Some(source.current_average_value),
                    source.current_average_utilization,
                ),
            }),
            external: from.external.map(|source| v2::ExternalMetricStatus {
                metric: metric(source.metric_name, source.metric_selector),
                current: measured(Some(source.current_value), source.current_average_value, None),
            }),
        }
    }
}
