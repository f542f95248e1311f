//! `ExtendedResourceToleration`: a pod that requests an extended resource tolerates the taint that keeps other pods from the
//! nodes that have it.

use std::collections::BTreeSet;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::admission::{MutatingAdmission, ObjectWriteMut, Operation};
use registry_core::api::{Object, StatusError};
use resource_views::Typed as _;
use resource_views::core::v1::{Pod, Toleration};
use serde_json::{Map, Value, json};

use crate::api::core::pod_spec::resource_names::is_extended;
use crate::api::core::pods::Pods;

/// The plug-in.
pub(super) struct ExtendedToleration;

#[async_trait]
impl MutatingAdmission for ExtendedToleration {
    async fn admit(&self, _: &RequestContext, mut write: ObjectWriteMut<'_>) -> Result<(), StatusError> {
        let Some(pod) = write.object_of::<Pods>(Operation::WRITES) else { return Ok(()) };
        let resources = requested(pod);
        if resources.is_empty() {
            return Ok(());
        }
        let mut tolerations = Pod(pod).spec().tolerations().values().to_vec();
        for resource in resources {
            let toleration = json!({"key": resource, "operator": "Exists", "effect": "NoSchedule"});
            let is_same = |other: &&mut Value| {
                let other = Toleration::from_value(other);
                let (key, operator) = (other.key().text(), other.operator().text());
                let (effect, value) = (other.effect().text(), other.value().text());
                (key, operator, effect, value) == (resource.as_str(), "Exists", "NoSchedule", "")
            };
            let mut is_present = false;
            for present in tolerations.iter_mut().filter(is_same) {
                *present = toleration.clone();
                is_present = true;
            }
            if !is_present {
                tolerations.push(toleration);
            }
        }
        pod.set(&["spec", "tolerations"], tolerations.into());
        Ok(())
    }
}

/// Returns the extended resources that a pod's containers request.
fn requested(pod: &Object) -> BTreeSet<String> {
    let spec = Pod(pod).spec();
    let (own, initial) = (spec.containers(), spec.init_containers());
    let containers = own.elements().chain(initial.elements());
    let names = containers.flat_map(|container| {
        let requests = container.resources().requests().value();
        requests.and_then(Value::as_object).into_iter().flat_map(Map::keys)
    });
    names.filter(|name| is_extended(name)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_extended_resources_are_tolerated() {
        let requests =
            json!({"cpu": "1", "example.com/gpu": "1", "hugepages-1Gi": "1", "kubernetes.io/x": "1"});
        let pod = json!({"spec": {"initContainers": [{"resources": {"requests": requests}}]}});
        let found = requested(&Object::from_value(pod).unwrap());
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["example.com/gpu"]);
    }
}
