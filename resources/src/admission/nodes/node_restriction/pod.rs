//! The writes of pods that a node may make: it creates and deletes its mirror pods, and reports the status of its pods.

use registry_core::admission::Operation;
use registry_core::api::{Object, StatusError};
use resource_views::Typed as _;
use resource_views::core::v1::Pod;
use resource_views::meta::v1::OwnerReference;
use serde_json::Value;

use super::{NODE, NodeRestriction, Write};
use crate::admission::pods::references;
use crate::api::core::pod_spec::validation::annotations::{MIRROR, is_mirror};

impl NodeRestriction {
    pub(super) async fn check_pod(&self, write: &Write<'_>) -> Result<(), StatusError> {
        let node = write.node;
        match (write.attributes.operation, write.object) {
            (Operation::Create, Some(pod)) => self.check_new_pod(write, pod).await,
            (Operation::Delete, _) => {
                let pod = match write.old {
                    Some(pod) => pod.clone(),
                    None => self.pod(write, write.name()).await?,
                };
                if node_of(&pod) == node {
                    return Ok(());
                }
                let why = format!("node {node:?} can only delete pods with spec.nodeName set to itself");
                Err(write.refused(why))
            }
            (operation, _) => Err(write.refused(format!(
                "unexpected operation {:?}, node {node:?} can only create and delete mirror pods",
                operation.as_str()
            ))),
        }
    }

    async fn check_new_pod(&self, write: &Write<'_>, pod: &Object) -> Result<(), StatusError> {
        let node = write.node;
        if !is_mirror(pod) {
            return Err(write.refused(format!(
                "pod does not have {MIRROR:?} annotation, node {node:?} can only create mirror pods"
            )));
        }
        if node_of(pod) != node {
            let why = format!("node {node:?} can only create pods with spec.nodeName set to itself");
            return Err(write.refused(why));
        }
        self.check_owner(write, pod).await?;
        match references::needed_resource(pod) {
            Ok(None) => Ok(()),
            Ok(Some(resource)) => {
                Err(write.refused(format!("node {node:?} can not create pods that reference {resource}")))
            }
            Err(why) => Err(write.refused(format!("error checking mirror pod for API references: {why}"))),
        }
    }

    /// Checks that a pod belongs to the node, and to nothing else: it is deleted with it.
    async fn check_owner(&self, write: &Write<'_>, pod: &Object) -> Result<(), StatusError> {
        let node = write.node;
        let owner = match Pod(pod).metadata().owner_references().values() {
            [owner] => OwnerReference::from_value(owner),
            [] => {
                return Err(write.refused(format!(
                    "node {node:?} can only create pods with an owner reference set to itself"
                )));
            }
            _ => {
                return Err(write.refused(format!(
                    "node {node:?} can only create pods with a single owner reference set to itself"
                )));
            }
        };
        let named = (owner.api_version().text(), owner.kind().text(), owner.name().text());
        let why = if named != ("v1", "Node", node) {
            format!("node {node:?} can only create pods with an owner reference set to itself")
        } else if !owner.controller().is_true() {
            format!("node {node:?} can only create pods with a controller owner reference set to itself")
        } else if owner.block_owner_deletion().is_true() {
            format!("node {node:?} must not set blockOwnerDeletion on an owner reference")
        } else {
            let present = self.nodes.get("", node).await?;
            let present = present.ok_or_else(|| StatusError::not_found(NODE, node))?;
            let uid = owner.uid().text();
            if uid == present.uid() {
                return Ok(());
            }
            format!("node {node} UID mismatch: expected {uid} got {}", present.uid())
        };
        Err(write.refused(why))
    }
}

/// Returns the name of the node that a pod is bound to.
pub(super) fn node_of(pod: &Object) -> &str {
    Pod(pod).spec().node_name().text()
}

/// Checks a report of a pod's status.
pub(super) fn check_status(write: &Write<'_>) -> Result<(), StatusError> {
    let node = write.node;
    let (Operation::Update, Some(new), Some(old)) = (write.attributes.operation, write.object, write.old)
    else {
        return Err(write.refused(format!("unexpected operation {:?}", write.attributes.operation.as_str())));
    };
    let claims = |pod: &Object| {
        let statuses = Pod(pod).status().resource_claim_statuses().value().and_then(Value::as_array);
        let fields = |status: &Value| ["name", "resourceClaimName"].map(|field| status.get(field).cloned());
        statuses.into_iter().flatten().map(fields).collect::<Vec<_>>()
    };
    let extended = |pod: &Object| Pod(pod).status().extended_resource_claim_status().value().cloned();
    let labels = |pod: &Object| {
        let mut labels: Vec<_> =
            pod.labels().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        labels.sort_unstable();
        labels
    };
    let why = if node_of(old) != node {
        format!("node {node:?} can only update pod status for pods with spec.nodeName set to itself")
    } else if labels(new) != labels(old) {
        format!("node {node:?} cannot update labels through pod status")
    } else if claims(new) != claims(old) {
        format!("node {node:?} cannot update resource claim statues")
    } else if extended(new) != extended(old) {
        format!("node {node:?} cannot update extended resource claim status")
    } else {
        return Ok(());
    };
    Err(write.refused(why))
}
