//! `CertificateSubjectRestriction`: refuses requests for client certificates of the group `system:masters`.

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::admission::{ObjectWrite, Operation, ValidatingAdmission};
use registry_core::api::{Object, StatusError};
use registry_core::context::MASTERS;
use resource_views::certificates::v1::CertificateSigningRequest;

use crate::admission::refusal::forbidden;
use crate::api::certificates::certificatesigningrequests::CertificateSigningRequests;
use crate::api::certificates::certificatesigningrequests::subject::{self, Subject, SubjectError};

const CLIENT_SIGNER: &str = "kubernetes.io/kube-apiserver-client";

/// The plug-in.
pub(super) struct CertificateSubject;

#[async_trait]
impl ValidatingAdmission for CertificateSubject {
    async fn validate(&self, _: &RequestContext, write: ObjectWrite<'_>) -> Result<(), StatusError> {
        let Some(request) = write.object else { return Ok(()) };
        let is_client = CertificateSigningRequest(request).spec().signer_name().text() == CLIENT_SIGNER;
        if !write.attributes.are_of::<CertificateSigningRequests>(&[Operation::Create]) || !is_client {
            return Ok(());
        }
        let subject = requested(request).map_err(|why| {
            forbidden(write.attributes, write.object, format!("failed to parse CSR: {why}"))
        })?;
        if subject.organizations.iter().any(|name| name == MASTERS) {
            let why = format!("use of {CLIENT_SIGNER} signer with {MASTERS} group is not allowed");
            return Err(forbidden(write.attributes, write.object, why));
        }
        Ok(())
    }
}

/// Returns the subject that a request asks a certificate for.
pub(in crate::admission) fn requested(request: &Object) -> Result<Subject, SubjectError> {
    subject::subject_of(&CertificateSigningRequest(request).spec().request().bytes())
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use rcgen::{CertificateParams, DnType, KeyPair};
    use registry_core::admission::Attributes;
    use registry_core::admission::ObjectWrite;
    use registry_core::api::{GroupVersionKind, GroupVersionResource};
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn nobody_becomes_administrator_by_a_certificate() {
        let group = "certificates.k8s.io";
        let resource = GroupVersionResource { group, version: "v1", resource: "certificatesigningrequests" };
        let kind = GroupVersionKind { group, version: "v1", kind: "CertificateSigningRequest" };
        let attributes = Attributes::new(Operation::Create, resource, kind, "one");
        let refusal = async |signer: &str, text: &[u8]| {
            let spec = json!({"signerName": signer, "request": STANDARD.encode(text)});
            let object = Object::from_value(json!({"metadata": {"name": "one"}, "spec": spec})).unwrap();
            let context = RequestContext::default();
            let checked = CertificateSubject
                .validate(&context, ObjectWrite::new(&attributes, Some(&object), None))
                .await;
            checked.err().map(|why| why.message)
        };
        let mut params = CertificateParams::default();
        // Among other groups, too.
        params.distinguished_name.push(DnType::OrganizationName, MASTERS);
        let request = params.serialize_request(&KeyPair::generate().unwrap()).unwrap().pem().unwrap();
        let refused = refusal(CLIENT_SIGNER, request.as_bytes()).await.unwrap();
        assert!(refused.ends_with("with system:masters group is not allowed"), "{refused}");
        assert_eq!(refusal("example.com/a", request.as_bytes()).await, None);
        let unreadable = refusal(CLIENT_SIGNER, b"zork").await.unwrap();
        assert!(unreadable.contains("failed to parse CSR"), "{unreadable}");
    }
}
