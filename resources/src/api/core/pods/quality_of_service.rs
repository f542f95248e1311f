//! The quality of service of a pod, from its requests and limits.
//!
//! Kubernetes concept: [quality of service classes](https://kubernetes.io/docs/concepts/workloads/pods/pod-qos/).

use std::collections::BTreeMap;

use registry_core::api::Object;
use registry_core::schema::Quantity;
use resource_views::core::v1::Pod;
use resource_views::{Map, Quantity as Amount};

use crate::api::core::pod_spec::totals;

/// Amounts of the processor and of memory.
type Amounts = BTreeMap<&'static str, Quantity>;

/// Returns `Guaranteed`, `Burstable` or `BestEffort`, from the requests and limits of the pod or else of its containers.
pub(crate) fn quality_of_service(pod: &Object) -> &'static str {
    let mut requests = Amounts::new();
    let mut limits = Amounts::new();
    let mut all_limited = true;
    let spec = Pod(pod).spec();
    let resources = spec.resources();
    if resources.exists() {
        let own = resources.limits();
        add(&mut requests, &resources.requests());
        all_limited = add(&mut limits, &own) || own.is_empty();
    } else {
        for list in [spec.containers(), spec.init_containers()] {
            for container in list.elements() {
                let resources = container.resources();
                add(&mut requests, &resources.requests());
                all_limited &= add(&mut limits, &resources.limits());
            }
        }
    }
    let is_limit = |(name, request): (&&str, &Quantity)| {
        limits.get(*name).is_some_and(|limit| limit.compare(request).is_eq())
    };
    if requests.is_empty() && limits.is_empty() {
        "BestEffort"
    } else if all_limited && requests.len() == limits.len() && requests.iter().all(is_limit) {
        "Guaranteed"
    } else {
        "Burstable"
    }
}

/// Adds amounts to others; returns whether both were among them.
fn add(to: &mut Amounts, amounts: &Map<Amount<'_, '_>>) -> bool {
    let mut found = 0;
    for name in ["cpu", "memory"] {
        let amount = amounts.entry(name).quantity();
        let Some(amount) = amount.filter(Quantity::is_positive) else {
            continue;
        };
        found += 1;
        let sum = to.get(name).map_or_else(|| amount.clone(), |sum| totals::plus(sum, &amount));
        to.insert(name, sum);
    }
    found == 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn the_class_follows_requests_and_limits() {
        let class = |spec: Value| quality_of_service(&Object::from_value(json!({"spec": spec})).unwrap());
        let spec_with = |resources: Value| json!({"containers": [{"resources": resources}]});
        let full = json!({"cpu": "1", "memory": "1Gi"});
        assert_eq!(class(spec_with(json!({}))), "BestEffort");
        assert_eq!(class(spec_with(json!({"requests": {"cpu": "0"}}))), "BestEffort");
        assert_eq!(class(spec_with(json!({"requests": {"cpu": "1"}}))), "Burstable");
        assert_eq!(class(spec_with(json!({"limits": full, "requests": full}))), "Guaranteed");
        let same = json!({"cpu": "1000m", "memory": "1024Mi"});
        assert_eq!(class(spec_with(json!({"limits": full, "requests": same}))), "Guaranteed");
        let of_pod =
            json!({"containers": [{"resources": {}}], "resources": {"limits": full, "requests": full}});
        assert_eq!(class(of_pod), "Guaranteed");
    }
}
