//! `PodTopologyLabels`: a pod takes over the zone and the region of the node that it is bound to.

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::admission::{Attributes, MutatingAdmission, ObjectWriteMut, Operation};
use registry_core::api::{Object, StatusError};
use registry_core::registry::InstalledApi;
use registry_core::resource::Resource;
use resource_views::core::v1::{Binding, Pod};

use crate::api::core::nodes::Nodes;
use crate::api::core::pods::Pods;
use crate::support::lookup::Lookup;

const LABELS: [&str; 2] = ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"];

/// The plug-in.
pub(super) struct TopologyLabels {
    nodes: Lookup,
}

impl TopologyLabels {
    /// Creates the plug-in over the installed nodes; `None` if they are not served.
    pub(super) fn new(installed: &InstalledApi) -> Option<Self> {
        Some(Self { nodes: Lookup::for_resource::<Nodes>(installed)? })
    }

    /// Returns the name of the node in a pod, or in a binding of a pod.
    fn node_of<'o>(attributes: &Attributes<'_>, object: &'o Object) -> Option<&'o str> {
        let target = Binding(object).target();
        let name = match attributes.subresource {
            "" => Pod(object).spec().node_name().text(),
            "binding" if target.kind().text() == "Node" => target.name().text(),
            _ => "",
        };
        Some(name).filter(|name| !name.is_empty())
    }
}

#[async_trait]
impl MutatingAdmission for TopologyLabels {
    async fn admit(&self, _: &RequestContext, write: ObjectWriteMut<'_>) -> Result<(), StatusError> {
        let Some(object) = write.object else { return Ok(()) };
        let is_pod = write.attributes.resource.group_resource() == Pods::TYPE.group_resource();
        if !is_pod || write.attributes.operation != Operation::Create {
            return Ok(());
        }
        let Some(name) = Self::node_of(write.attributes, object) else { return Ok(()) };
        let Some(node) = self.nodes.get("", name).await? else { return Ok(()) };
        for (label, value) in node.labels().filter(|(label, _)| LABELS.contains(label)) {
            object.set(&["metadata", "labels", label], value.into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use registry_core::admission::ObjectWriteMut;
    use registry_core::api::{GroupVersionKind, GroupVersionResource};
    use serde_json::json;

    use super::*;
    use crate::testing;

    #[tokio::test]
    async fn pods_and_bindings_take_over_the_zone() {
        let installed = testing::installed(&["nodes", "pods"]);
        let labels = json!({"topology.kubernetes.io/zone": "a", "other": "b"});
        testing::create::<Nodes>(&installed, json!({"metadata": {"name": "n", "labels": labels}})).await;
        let plugin = TopologyLabels::new(&installed).unwrap();
        let resource = GroupVersionResource { group: "", version: "v1", resource: "pods" };
        let kind = GroupVersionKind { group: "", version: "v1", kind: "Pod" };
        let admitted = async |object: serde_json::Value, subresource| {
            let mut object = Object::from_value(object).unwrap();
            let attributes =
                Attributes { subresource, ..Attributes::new(Operation::Create, resource, kind, "p") };
            let context = RequestContext::system("default");
            plugin.admit(&context, ObjectWriteMut::new(&attributes, Some(&mut object), None)).await.unwrap();
            object.get(&["metadata", "labels"]).cloned()
        };
        let zone = Some(json!({"topology.kubernetes.io/zone": "a"}));
        assert_eq!(admitted(json!({"spec": {"nodeName": "n"}}), "").await, zone);
        assert_eq!(admitted(json!({"target": {"kind": "Node", "name": "n"}}), "binding").await, zone);
        assert_eq!(admitted(json!({"target": {"kind": "Node", "name": "gone"}}), "binding").await, None);
        assert_eq!(admitted(json!({"spec": {}}), "").await, None);
    }
}
