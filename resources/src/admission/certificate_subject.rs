//! `CertificateSubjectRestriction`: refuses requests for client certificates of the group `system:masters`.

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use registry_core::RequestContext;
use registry_core::admission::{AdmissionPlugin, Attributes, Operation, ValidatingAdmission};
use registry_core::api::{Object, StatusError};
use registry_core::resource::Resource;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::pem::parse_x509_pem;
use x509_parser::prelude::FromDer;

use super::concerns;
use crate::certificates::certificatesigningrequests::CertificateSigningRequests;

const CLIENT_SIGNER: &str = "kubernetes.io/kube-apiserver-client";
const ADMINISTRATORS: &str = "system:masters";

/// The plug-in.
pub(super) struct CertificateSubject;

impl AdmissionPlugin for CertificateSubject {
    fn name(&self) -> &'static str {
        "CertificateSubjectRestriction"
    }
}

#[async_trait]
impl ValidatingAdmission for CertificateSubject {
    async fn validate(
        &self,
        _context: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&Object>,
        _old: Option<&Object>,
    ) -> Result<(), StatusError> {
        let Some(request) = object else { return Ok(()) };
        let is_client = request.get_str(&["spec", "signerName"]) == Some(CLIENT_SIGNER);
        if !concerns::<CertificateSigningRequests>(attributes, &[Operation::Create]) || !is_client {
            return Ok(());
        }
        let text = STANDARD.decode(request.get_str(&["spec", "request"]).unwrap_or_default());
        if organizations(&text.unwrap_or_default()).iter().any(|name| name == ADMINISTRATORS) {
            let why = format!("use of {CLIENT_SIGNER} signer with {ADMINISTRATORS} group is not allowed");
            let resource = CertificateSigningRequests::TYPE.group_resource();
            return Err(StatusError::forbidden(resource, request.name(), why));
        }
        Ok(())
    }
}

/// Returns the organizations in the subject of a PEM request: the groups of the certificate's user.
fn organizations(pem: &[u8]) -> Vec<String> {
    let Ok((_, pem)) = parse_x509_pem(pem) else { return Vec::new() };
    let Ok((_, request)) = X509CertificationRequest::from_der(&pem.contents) else { return Vec::new() };
    let subject = request.certification_request_info.subject;
    subject.iter_organization().filter_map(|name| Some(name.as_str().ok()?.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, DnType, KeyPair};

    #[test]
    fn the_groups_of_a_request_are_read() {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::OrganizationName, ADMINISTRATORS);
        let request = params.serialize_request(&KeyPair::generate().unwrap()).unwrap();
        assert_eq!(organizations(request.pem().unwrap().as_bytes()), [ADMINISTRATORS]);
        assert!(organizations(b"zork").is_empty());
    }
}
