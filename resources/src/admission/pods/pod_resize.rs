//! `PodResizeValidator`: a pod on a node may only be resized to what the node can give, and not on Windows.

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::admission::{ObjectWrite, Operation, ValidatingAdmission};
use registry_core::api::{Object, StatusCause, StatusError};
use registry_core::registry::InstalledApi;
use registry_core::resource::Resource;
use registry_core::schema::Quantity;
use resource_views::core::v1::{Node, Pod};

use crate::admission::refusal::forbidden;
use crate::api::core::nodes::Nodes;
use crate::api::core::pod_spec::totals;
use crate::api::core::pods::Pods;
use crate::support::lookup::Lookup;

/// The plug-in.
pub(super) struct PodResize {
    nodes: Lookup,
}

impl PodResize {
    /// Creates the plug-in over the installed nodes; `None` if they are not served.
    pub(super) fn new(installed: &InstalledApi) -> Option<Self> {
        Some(Self { nodes: Lookup::for_resource::<Nodes>(installed)? })
    }
}

#[async_trait]
impl ValidatingAdmission for PodResize {
    async fn validate(&self, _: &RequestContext, write: ObjectWrite<'_>) -> Result<(), StatusError> {
        let (Some(pod), Some(old)) = (write.object, write.old) else { return Ok(()) };
        let is_resize = write.attributes.operation == Operation::Update
            && write.attributes.resource.group_resource() == Pods::TYPE.group_resource()
            && write.attributes.subresource == "resize";
        let node = Pod(pod).spec().node_name().text();
        // An update that changes nothing keeps the generation.
        if !is_resize || node.is_empty() || old.generation() == pod.generation() {
            return Ok(());
        }
        let Some(node) = self.nodes.get("", node).await? else {
            return Err(forbidden(write.attributes, write.object, format!("node {node:?} not found")));
        };
        let refused = |why: String, reason: &str| {
            let cause = StatusCause { reason: reason.to_owned(), ..StatusCause::default() };
            forbidden(write.attributes, write.object, why).with_causes(vec![cause])
        };
        if let Some(system) = other_system(&node) {
            let why =
                format!("pod resize is only supported on linux nodes, node {:?} is {system:?}", node.name());
            return Err(refused(why, "UnsupportedPlatform"));
        }
        match exceeding(pod, &node) {
            Some(exceeding) => {
                let why = format!("node didn't have enough allocatable resources: {exceeding}");
                Err(refused(why, "NodeCapacity"))
            }
            None => Ok(()),
        }
    }
}

/// Returns the node's operating system, unless that is Linux or unknown.
fn other_system(node: &Object) -> Option<&str> {
    let system = node.label("kubernetes.io/os");
    system.filter(|system| *system != "linux")
}

/// Returns a quantity in the units that messages show; `None` if it has too many of them.
type InUnits = fn(&Quantity) -> Option<i128>;

/// Returns what a pod requests beyond what a node has in total; `None` if nothing.
fn exceeding(pod: &Object, node: &Object) -> Option<String> {
    let requests = totals::pod_total(pod, "requests");
    let allocatable = totals::read(Node(node).status().allocatable().value());
    let mut texts = Vec::new();
    let units: [(&str, InUnits); 2] = [("cpu", Quantity::milli_value), ("memory", Quantity::value)];
    for (name, in_units) in units {
        let zero = Quantity::whole(0);
        let requested = requests.get(name).unwrap_or(&zero);
        let present = allocatable.get(name).unwrap_or(&zero);
        if requested.compare(present).is_gt() {
            let shown = |amount| in_units(amount).unwrap_or(i128::from(i64::MAX));
            let (requested, present) = (shown(requested), shown(present));
            texts.push(format!("{name}, requested: {requested}, allocatable: {present}"));
        }
    }
    (!texts.is_empty()).then(|| texts.join("; "))
}

#[cfg(test)]
mod tests {
    use registry_core::admission::Attributes;
    use registry_core::admission::ObjectWrite;
    use registry_core::api::{GroupVersionKind, GroupVersionResource};
    use serde_json::{Value, json};

    use super::*;
    use crate::testing;

    fn pod(generation: i64, node: &str, requests: Value) -> Object {
        let mut container = json!({"name": "c"});
        container["resources"]["requests"] = requests;
        let spec = json!({"nodeName": node, "containers": [container]});
        Object::from_value(json!({"metadata": {"name": "p", "generation": generation}, "spec": spec}))
            .unwrap()
    }

    #[tokio::test]
    async fn a_resize_has_to_fit_the_node() {
        let installed = testing::installed(&["nodes", "pods"]);
        let allocatable = json!({"cpu": "2", "memory": "1Gi"});
        testing::create::<Nodes>(
            &installed,
            json!({"metadata": {"name": "n"}, "status": {"allocatable": allocatable}}),
        )
        .await;
        let windows = json!({"metadata": {"name": "w", "labels": {"kubernetes.io/os": "windows"}}});
        testing::create::<Nodes>(&installed, windows).await;
        let plugin = PodResize::new(&installed).unwrap();
        let resource = GroupVersionResource { group: "", version: "v1", resource: "pods" };
        let kind = GroupVersionKind { group: "", version: "v1", kind: "Pod" };
        let attributes =
            Attributes { subresource: "resize", ..Attributes::new(Operation::Update, resource, kind, "p") };
        let refusal = async |new: Object| {
            let old = pod(1, "n", json!({"cpu": "1"}));
            let context = RequestContext::system("default");
            plugin
                .validate(&context, ObjectWrite::new(&attributes, Some(&new), Some(&old)))
                .await
                .err()
                .map(|why| why.message)
        };
        assert_eq!(refusal(pod(2, "n", json!({"cpu": "2", "memory": "1Gi"}))).await, None);
        assert_eq!(refusal(pod(1, "n", json!({"cpu": "5"}))).await, None);
        assert_eq!(
            refusal(pod(2, "n", json!({"cpu": "2500m", "memory": "2Gi"}))).await.unwrap(),
            "pods \"p\" is forbidden: node didn't have enough allocatable resources: cpu, requested: 2500, \
             allocatable: 2000; memory, requested: 2147483648, allocatable: 1073741824"
        );
        assert!(refusal(pod(2, "w", json!({}))).await.unwrap().ends_with("node \"w\" is \"windows\""));
        assert!(refusal(pod(2, "x", json!({}))).await.unwrap().ends_with("node \"x\" not found"));
    }
}
