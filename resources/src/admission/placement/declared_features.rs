//! `NodeDeclaredFeatureValidator`: an update of a pod may only need features that the pod's node has declared.
//!
//! Kubernetes concept: `k8s.io/component-helpers/nodedeclaredfeatures`.

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::admission::{ObjectWrite, Operation, ValidatingAdmission};
use registry_core::api::{Object, StatusError};
use registry_core::registry::InstalledApi;
use registry_core::resource::Resource;
use resource_views::core::v1::{Node, Pod, PodSpec};
use serde_json::Value;

use crate::admission::refusal::forbidden;
use crate::api::core::nodes::Nodes;
use crate::api::core::pods::Pods;
use crate::support::lookup::Lookup;

/// Changes of the resources of a whole pod.
const POD_RESIZE: &str = "InPlacePodLevelResourcesVerticalScaling";
/// Changes of the resources of init containers that are no sidecars.
const INIT_RESIZE: &str = "InPlacePodVerticalScalingInitContainers";

/// The plug-in.
pub(super) struct DeclaredFeatures {
    nodes: Lookup,
}

impl DeclaredFeatures {
    /// Creates the plug-in over the installed nodes; `None` if they are not served.
    pub(super) fn new(installed: &InstalledApi) -> Option<Self> {
        Some(Self { nodes: Lookup::for_resource::<Nodes>(installed)? })
    }
}

#[async_trait]
impl ValidatingAdmission for DeclaredFeatures {
    async fn validate(&self, _: &RequestContext, write: ObjectWrite<'_>) -> Result<(), StatusError> {
        let (Some(pod), Some(old)) = (write.object, write.old) else { return Ok(()) };
        let is_update = write.attributes.operation == Operation::Update
            && write.attributes.resource.group_resource() == Pods::TYPE.group_resource()
            && matches!(write.attributes.subresource, "" | "resize");
        let node = Pod(pod).spec().node_name().text();
        if !is_update || node.is_empty() || old.generation() == pod.generation() {
            return Ok(());
        }
        let needed = needed(pod, old);
        if needed.is_empty() {
            return Ok(());
        }
        let Some(node) = self.nodes.get("", node).await? else {
            return Err(forbidden(write.attributes, write.object, format!("node {node:?} not found")));
        };
        let status = Node(&node).status();
        let has = |feature: &str| status.declared_features().texts().any(|declared| declared == feature);
        let missing: Vec<&str> = needed.into_iter().filter(|feature| !has(feature)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let why = format!(
            "pod update requires features {} which are not available on node {:?}",
            missing.join(", "),
            node.name()
        );
        Err(forbidden(write.attributes, write.object, why))
    }
}

/// Returns the features that an update needs, sorted.
fn needed(pod: &Object, old: &Object) -> Vec<&'static str> {
    let mut needed = Vec::new();
    let (spec, before) = (Pod(pod).spec(), Pod(old).spec());
    if spec.resources().value() != before.resources().value() {
        needed.push(POD_RESIZE);
    }
    if starting(&spec) != starting(&before) {
        needed.push(INIT_RESIZE);
    }
    needed
}

/// Returns the resources of the init containers that are no sidecars.
fn starting<'v>(spec: &PodSpec<'v, '_>) -> Vec<Option<&'v Value>> {
    let containers = spec.init_containers();
    let resources = containers.elements().map(|container| {
        let is_sidecar = container.restart_policy().text() == "Always";
        container.resources().value().filter(|_| !is_sidecar)
    });
    resources.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_features_of_an_update_are_found() {
        let pod = |pod: &str, init: &str, sidecar: &str| {
            let amount = |cpu: &str| json!({"requests": {"cpu": cpu}});
            let spec = json!({"resources": amount(pod), "initContainers": [
                {"name": "i", "resources": amount(init)},
                {"name": "s", "restartPolicy": "Always", "resources": amount(sidecar)},
            ]});
            Object::from_value(json!({"spec": spec})).unwrap()
        };
        let old = pod("1", "1", "1");
        assert!(needed(&old, &old).is_empty());
        assert!(needed(&pod("1", "1", "2"), &old).is_empty());
        assert_eq!(needed(&pod("2", "1", "1"), &old), [POD_RESIZE]);
        assert_eq!(needed(&pod("2", "2", "1"), &old), [POD_RESIZE, INIT_RESIZE]);
    }
}
