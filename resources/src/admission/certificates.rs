//! Plug-ins for certificates: who may approve and sign them, and for whom.

mod certificate_signers;
pub(super) mod certificate_subject;

use super::{AdmissionSettings, Plugins};

declare! {
    certificate_signers::CertificateApproval: "CertificateApproval"
    certificate_signers::CertificateSigning: "CertificateSigning"
    certificate_signers::TrustBundleAttest: "ClusterTrustBundleAttest"
    certificate_subject::CertificateSubject: "CertificateSubjectRestriction"
}

// === impl Plugins ===

impl Plugins {
    /// Adds the plug-ins of this module.
    pub(super) fn add_for_certificates(&mut self, settings: &AdmissionSettings) {
        let access = || settings.access.clone();
        self.validating(Some(certificate_signers::CertificateApproval(access())));
        self.validating(Some(certificate_signers::CertificateSigning(access())));
        self.validating(Some(certificate_signers::TrustBundleAttest(access())));
        self.validating(Some(certificate_subject::CertificateSubject));
    }
}
