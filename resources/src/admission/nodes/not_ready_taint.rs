//! `TaintNodesByCondition`: taints new nodes, so that nothing is scheduled to them before they are ready.

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::admission::{MutatingAdmission, ObjectWriteMut, Operation};
use registry_core::api::{Object, StatusError};
use resource_views::core::v1::Node;
use serde_json::{Value, json};

use crate::api::core::nodes::Nodes;

/// The plug-in.
pub(super) struct NotReadyTaint;

#[async_trait]
impl MutatingAdmission for NotReadyTaint {
    async fn admit(&self, _: &RequestContext, write: ObjectWriteMut<'_>) -> Result<(), StatusError> {
        if let (true, Some(node)) = (write.attributes.are_of::<Nodes>(&[Operation::Create]), write.object) {
            taint(node);
        }
        Ok(())
    }
}

fn taint(node: &mut Object) {
    let taint = json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"});
    let mut taints = Node(node).spec().taints().values().to_vec();
    let same = |present: &Value| ["key", "effect"].iter().all(|field| present.get(field) == taint.get(field));
    if !taints.iter().any(same) {
        taints.push(taint);
        node.set(&["spec", "taints"], taints.into());
    }
}
