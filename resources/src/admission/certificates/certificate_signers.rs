//! `CertificateApproval`, `CertificateSigning`, `ClusterTrustBundleAttest`: who may approve and sign requests for
//! certificates of a signer, and publish its trust anchors. The authorizer decides, by the virtual resource `signers`.

use std::sync::Arc;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::admission::{Attributes, ObjectWrite, Operation, ValidatingAdmission};
use registry_core::api::validation::{ErrorList, FieldError, FieldPath};
use registry_core::api::{GroupResource, Object, StatusError};
use registry_core::resource::Resource;
use registry_core::rest::access::{AccessReviewer, ResourceAccess, WantedAccess};
use resource_views::certificates::v1::CertificateSigningRequest;
use resource_views::certificates::v1beta1::PodCertificateRequest;

use crate::admission::refusal::forbidden;
use crate::api::certificates::certificatesigningrequests::CertificateSigningRequests;
use crate::api::certificates::podcertificaterequests::PodCertificateRequests;
use crate::support::semantic;

const GROUP: &str = "certificates.k8s.io";
const BUNDLES: GroupResource = GroupResource { group: GROUP, resource: "clustertrustbundles" };

/// Checks who approves and denies requests.
pub(super) struct CertificateApproval(pub(super) Arc<dyn AccessReviewer>);

/// Checks who issues certificates.
pub(super) struct CertificateSigning(pub(super) Arc<dyn AccessReviewer>);

/// Checks who publishes the trust anchors of a signer.
pub(super) struct TrustBundleAttest(pub(super) Arc<dyn AccessReviewer>);

#[async_trait]
impl ValidatingAdmission for CertificateApproval {
    async fn validate(&self, context: &RequestContext, write: ObjectWrite<'_>) -> Result<(), StatusError> {
        let Some(old) = write.old else { return Ok(()) };
        if !changes_request(write.attributes, "approval")
            || may(&self.0, context, "approve", signer(old)).await
        {
            return Ok(());
        }
        let why = format!("user not permitted to approve requests with signerName {:?}", signer(old));
        Err(forbidden(write.attributes, write.object, why))
    }
}

#[async_trait]
impl ValidatingAdmission for CertificateSigning {
    async fn validate(&self, context: &RequestContext, write: ObjectWrite<'_>) -> Result<(), StatusError> {
        let (Some(new), Some(old)) = (write.object, write.old) else { return Ok(()) };
        if ends_pod_request(write.attributes, new, old) && !may(&self.0, context, "sign", signer(old)).await {
            let detail = format!(
                "User {:?} is not permitted to \"sign\" for signer {:?}",
                context.user.name,
                signer(old)
            );
            let path = FieldPath::new("spec").child("signerName");
            let errors = ErrorList::from(FieldError::forbidden(path, detail));
            return Err(StatusError::invalid(PodCertificateRequests::TYPE.kind, new.name(), &errors));
        }
        let is_same = [["status", "certificate"], ["status", "conditions"]]
            .iter()
            .all(|path| new.get(path) == old.get(path));
        if !changes_request(write.attributes, "status")
            || is_same
            || may(&self.0, context, "sign", signer(old)).await
        {
            return Ok(());
        }
        let why = format!("user not permitted to sign requests with signerName {:?}", signer(old));
        Err(forbidden(write.attributes, write.object, why))
    }
}

#[async_trait]
impl ValidatingAdmission for TrustBundleAttest {
    async fn validate(&self, context: &RequestContext, write: ObjectWrite<'_>) -> Result<(), StatusError> {
        let Some(new) = write.object else { return Ok(()) };
        let is_write = Operation::WRITES.contains(&write.attributes.operation);
        let name = signer(new);
        if write.attributes.resource.group_resource() != BUNDLES || !is_write || name.is_empty() {
            return Ok(());
        }
        let is_collected = write.old.is_some_and(|old| differs_only_for_collection(new, old));
        if is_collected || may(&self.0, context, "attest", name).await {
            return Ok(());
        }
        let why = format!("user not permitted to attest for signerName {name:?}");
        Err(forbidden(write.attributes, write.object, why))
    }
}

/// Whether a write changes the status of a PodCertificateRequest. Kubernetes checks the signer of these without a plug-in.
fn ends_pod_request(attributes: &Attributes<'_>, new: &Object, old: &Object) -> bool {
    attributes.resource.group_resource() == PodCertificateRequests::TYPE.group_resource()
        && attributes.subresource == "status"
        && !semantic::equal(
            PodCertificateRequest(new).status().value(),
            PodCertificateRequest(old).status().value(),
        )
}

fn changes_request(attributes: &Attributes<'_>, subresource: &str) -> bool {
    attributes.resource.group_resource() == CertificateSigningRequests::TYPE.group_resource()
        && attributes.subresource == subresource
        && attributes.operation == Operation::Update
}

fn signer(object: &Object) -> &str {
    // Requests for pods and bundles of trusted authorities have it at the same place.
    CertificateSigningRequest(object).spec().signer_name().text()
}

/// Whether the user has a verb on a signer, or on all signers of its domain.
async fn may(access: &Arc<dyn AccessReviewer>, context: &RequestContext, verb: &str, signer: &str) -> bool {
    let domain = signer.split('/').next().unwrap_or_default();
    for name in [signer.to_owned(), format!("{domain}/*")] {
        let wanted = WantedAccess::Resource(ResourceAccess {
            verb: verb.to_owned(),
            group: GROUP.to_owned(),
            version: "*".to_owned(),
            resource: "signers".to_owned(),
            name,
            ..ResourceAccess::default()
        });
        if access.decide(&context.user, &wanted).await.allowed {
            return true;
        }
    }
    false
}

/// Whether an update changes nothing but what the garbage collector maintains.
fn differs_only_for_collection(new: &Object, old: &Object) -> bool {
    let rest = |object: &Object| {
        let mut object = object.clone();
        for field in ["ownerReferences", "finalizers", "managedFields", "resourceVersion"] {
            object.remove(&["metadata", field]);
        }
        object
    };
    rest(new) == rest(old)
}

#[cfg(test)]
mod tests;
