//! Authenticates users by the certificates of their connections.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/authentication/request/x509`.

use std::sync::Arc;

use registry_core::context::UserInfo;

use super::chain::{Refusal, RequestAuthenticator, Shown};
use super::trust::ClientTrust;

/// Authenticates users by their certificates.
pub(super) struct ClientCertificates(pub(super) Arc<ClientTrust>);

// === impl ClientCertificates ===

impl RequestAuthenticator for ClientCertificates {
    fn authenticate(&self, shown: &Shown<'_>) -> Result<Option<UserInfo>, Refusal> {
        let Some(certificates) = shown.certificates else { return Ok(None) };
        let judged = certificates.as_client(&self.0.clients);
        let Some(certificate) = judged.certificate() else { return Ok(None) };
        match certificate.user() {
            Ok(user) => Ok(Some(user.clone())),
            Err(reason) => Err(Refusal::Invalid(reason.into_owned())),
        }
    }
}
