//! `NodeRestriction`: a node only changes its own objects: its node, its pods, its lease. An attacker who has one node does
//! not get the others.
//!
//! | module | contents |
//! |---|---|
//! | `audiences` | the audiences of tokens that a node may request |
//! | `node` | labels, taints and the rest of a node |
//! | `pod` | mirror pods, statuses, evictions |
//! | `pod_certificate` | requests of certificates for pods |

mod audiences;
mod node;
mod pod;
mod pod_certificate;

use std::sync::Arc;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::admission::{Attributes, MutatingAdmission, ObjectWriteMut, Operation};
use registry_core::api::{GroupResource, Object, StatusError};
use registry_core::features::{Feature, Features};
use registry_core::registry::InstalledApi;
use registry_core::rest::access::AccessReviewer;
use resource_views::authentication::v1::TokenRequest;
use resource_views::certificates::v1::CertificateSigningRequest;
use resource_views::resource::v1::ResourceSlice;
use serde_json::Value;

use super::node_identity;
use crate::admission::certificates::certificate_subject::requested;
use crate::admission::refusal::forbidden;
use crate::api::certificates::podcertificaterequests::PodCertificateRequests;
use crate::api::core::nodes::Nodes;
use crate::api::core::pods::Pods;
use crate::api::core::serviceaccounts::ServiceAccounts;
use crate::support::lookup::Lookup;
use audiences::Audiences;

/// The resources as Kubernetes' caches name them in errors: in the singular.
const POD: GroupResource = GroupResource { group: "", resource: "pod" };
const NODE: GroupResource = GroupResource { group: "", resource: "node" };
const LEASES: &str = "kube-node-lease";
/// The signers that kubelets request their certificates from.
const KUBELET_SIGNERS: [&str; 2] =
    ["kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet"];

/// The plug-in.
pub(super) struct NodeRestriction {
    pods: Lookup,
    nodes: Lookup,
    /// `None` if nodes may request any, without the feature gate.
    audiences: Option<Audiences>,
    /// `None` if PodCertificateRequests are not served, as without their feature gate.
    accounts_of_pod_certificates: Option<Lookup>,
}

/// A write by a node.
struct Write<'a> {
    /// The name of the node.
    node: &'a str,
    context: &'a RequestContext,
    attributes: &'a Attributes<'a>,
    object: Option<&'a Object>,
    old: Option<&'a Object>,
}

impl NodeRestriction {
    /// Creates the plug-in over the installed pods and nodes; `None` if they are not served.
    pub(super) fn new(
        installed: &InstalledApi,
        access: Arc<dyn AccessReviewer>,
        features: Features,
    ) -> Option<Self> {
        let limits_audiences = features.contains(Feature::ServiceAccountNodeAudienceRestriction);
        Some(Self {
            pods: Lookup::for_resource::<Pods>(installed)?,
            nodes: Lookup::for_resource::<Nodes>(installed)?,
            audiences: limits_audiences.then(|| Audiences::new(installed, access)),
            accounts_of_pod_certificates: Lookup::for_resource::<PodCertificateRequests>(installed)
                .and_then(|_| Lookup::for_resource::<ServiceAccounts>(installed)),
        })
    }

    async fn check(&self, write: &Write<'_>) -> Result<(), StatusError> {
        let resource = write.attributes.resource;
        match (resource.group, resource.resource) {
            ("", "pods") => match write.attributes.subresource {
                "" => self.check_pod(write).await,
                "status" => pod::check_status(write),
                "eviction" => self.check_eviction(write).await,
                other => Err(write.refused(format!(
                    "unexpected pod subresource {other:?}, only 'status' and 'eviction' are allowed"
                ))),
            },
            ("", "nodes") => node::check(write),
            ("", "persistentvolumeclaims") => check_claim_status(write),
            ("", "serviceaccounts") => self.check_token(write).await,
            ("coordination.k8s.io", "leases") => check_lease(write),
            ("storage.k8s.io", "csinodes") if write.name() != write.node => {
                Err(write.refused("can only access CSINode with the same name as the requesting node"))
            }
            ("resource.k8s.io", "resourceslices") => check_slice(write),
            ("certificates.k8s.io", "certificatesigningrequests") => check_certificate(write),
            ("certificates.k8s.io", "podcertificaterequests") => self.check_pod_certificate(write).await,
            _ => Ok(()),
        }
    }

    /// Returns a pod, which has to exist.
    async fn pod(&self, write: &Write<'_>, name: &str) -> Result<Object, StatusError> {
        let pod = self.pods.get(&write.context.namespace, name).await?;
        pod.ok_or_else(|| StatusError::not_found(POD, name))
    }

    async fn check_eviction(&self, write: &Write<'_>) -> Result<(), StatusError> {
        if write.attributes.operation != Operation::Create {
            return Err(
                write.refused(format!("unexpected operation {}", write.attributes.operation.as_str()))
            );
        }
        let name = write.name();
        if name.is_empty() {
            return Err(write.refused("could not determine pod from request data"));
        }
        let node = write.node;
        if pod::node_of(&self.pod(write, name).await?) == node {
            return Ok(());
        }
        let why = format!("node {node} can only evict pods with spec.nodeName set to itself");
        Err(write.refused(why))
    }

    /// Checks the request of a token for a service account: for a pod of the node, and its audiences.
    async fn check_token(&self, write: &Write<'_>) -> Result<(), StatusError> {
        let Some(request) = write.object.filter(|_| {
            write.attributes.operation == Operation::Create && write.attributes.subresource == "token"
        }) else {
            return Ok(());
        };
        let spec = TokenRequest(request).spec();
        let bound = spec.bound_object_ref();
        let (name, uid) = (bound.name().text(), bound.uid().text());
        let is_pod = bound.api_version().text() == "v1" && bound.kind().text() == "Pod";
        if name.is_empty() || !is_pod {
            return Err(write.refused("node requested token not bound to a pod"));
        }
        if uid.is_empty() {
            return Err(write.refused("node requested token with a pod binding without a uid"));
        }
        let pod = self.pod(write, name).await?;
        if uid != pod.uid() {
            return Err(write.refused(format!(
                "the UID in the bound object reference ({uid}) does not match the UID in record. The object might have \
                 been deleted and then recreated"
            )));
        }
        if pod::node_of(&pod) != write.node {
            return Err(write.refused("node requested token bound to a pod scheduled on a different node"));
        }
        let Some(audiences) = &self.audiences else { return Ok(()) };
        let checked = audiences.check(write.context, write.attributes.name, request, &pod).await;
        checked.map_err(|why| write.refused(why))
    }
}

// === impl Write ===

impl<'a> Write<'a> {
    fn refused(&self, why: impl std::fmt::Display) -> StatusError {
        forbidden(self.attributes, self.object.or(self.old), why)
    }

    /// Returns the name of the object: of the deleted one, if a collection is deleted.
    fn name(&self) -> &'a str {
        match self.attributes.name {
            "" => self.object.or(self.old).map(Object::name).unwrap_or_default(),
            name => name,
        }
    }
}

#[async_trait]
impl MutatingAdmission for NodeRestriction {
    async fn admit(&self, context: &RequestContext, write: ObjectWriteMut<'_>) -> Result<(), StatusError> {
        let Some(node) = node_identity::node_name(&context.user) else { return Ok(()) };
        if write.attributes.operation == Operation::Connect {
            return Ok(());
        }
        let write = Write {
            node,
            context,
            attributes: write.attributes,
            object: write.object.map(|object| &*object),
            old: write.old,
        };
        if node.is_empty() {
            let why = format!("could not determine node from user {:?}", context.user.name);
            return Err(write.refused(why));
        }
        self.check(&write).await
    }
}

/// Checks a write to a claim: a node reports what it has resized, and nothing else.
fn check_claim_status(write: &Write<'_>) -> Result<(), StatusError> {
    if write.attributes.subresource != "status" {
        return Err(write.refused("may only update PVC status"));
    }
    let (Operation::Update, Some(new), Some(old)) = (write.attributes.operation, write.object, write.old)
    else {
        return Err(write.refused(format!("unexpected operation {:?}", write.attributes.operation.as_str())));
    };
    let rest = |claim: &Object| {
        let mut claim = claim.clone();
        for field in ["capacity", "conditions", "allocatedResourceStatuses", "allocatedResources"] {
            claim.remove(&["status", field]);
        }
        for field in ["resourceVersion", "managedFields"] {
            claim.remove(&["metadata", field]);
        }
        if matches!(claim.get(&["status"]), Some(Value::Object(status)) if status.is_empty()) {
            claim.remove(&["status"]);
        }
        claim
    };
    if rest(new) == rest(old) {
        return Ok(());
    }
    Err(write.refused(format!(
        "node {:?} is not allowed to update fields other than status.quantity and status.conditions",
        write.node
    )))
}

fn check_lease(write: &Write<'_>) -> Result<(), StatusError> {
    if write.context.namespace != LEASES {
        return Err(write.refused(format!("can only access leases in the {LEASES:?} system namespace")));
    }
    if write.name() == write.node {
        return Ok(());
    }
    Err(write.refused("can only access node lease with the same name as the requesting node"))
}

/// Checks a write to a slice of devices. Updates cannot change the node of a slice.
fn check_slice(write: &Write<'_>) -> Result<(), StatusError> {
    let (slice, verb) = match write.attributes.operation {
        Operation::Create => (write.object, "create"),
        Operation::Delete => (write.old, "delete"),
        Operation::Update | Operation::Connect => return Ok(()),
    };
    if slice.is_some_and(|slice| ResourceSlice(slice).spec().node_name().text() == write.node) {
        return Ok(());
    }
    Err(write.refused(format!("can only {verb} ResourceSlice with the same NodeName as the requesting node")))
}

/// Checks a request for a certificate as a kubelet: it is for the node itself.
fn check_certificate(write: &Write<'_>) -> Result<(), StatusError> {
    let Some(request) = write.object.filter(|_| write.attributes.operation == Operation::Create) else {
        return Ok(());
    };
    let signer = CertificateSigningRequest(request).spec().signer_name().text();
    if !KUBELET_SIGNERS.contains(&signer) {
        return Ok(());
    }
    let subject = requested(request).map_err(|why| write.refused(format!("unable to parse csr: {why}")))?;
    let own = format!("{}{}", node_identity::PREFIX, write.node);
    if subject.common_name == own {
        return Ok(());
    }
    Err(write.refused(format!("can only create a node CSR with CN={own}")))
}

#[cfg(test)]
mod tests;
