//! The certificate authorities of clients and of front proxies, which can be replaced while connections are open.

use std::sync::Arc;

use arc_swap::{ArcSwapOption, Guard};
use rustls::RootCertStore;
use rustls::crypto::CryptoProvider;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls_pki_types::CertificateDer;

use crate::error::ServerError;

/// The authorities whose certificates are accepted, by what they are accepted for.
#[derive(Debug, Default)]
pub(crate) struct ClientTrust {
    /// Of clients: the certificate names the user.
    pub(crate) clients: Authorities,
    /// Of front proxies: headers name the user.
    pub(crate) proxies: Authorities,
}

/// A replaceable set of certificate authorities. Without any, no certificate is accepted.
#[derive(Debug, Default)]
pub(crate) struct Authorities(ArcSwapOption<Verifier>);

/// Verifies chains of certificates with one set of authorities.
#[derive(Debug)]
pub(crate) struct Verifier(pub(super) Arc<dyn ClientCertVerifier>);

// === impl ClientTrust ===

impl ClientTrust {
    /// Replaces both sets of authorities. Certificates of open connections are judged by them from now on.
    pub(crate) fn replace(&self, clients: Option<Verifier>, proxies: Option<Verifier>) {
        self.clients.0.store(clients.map(Arc::new));
        self.proxies.0.store(proxies.map(Arc::new));
    }
}

// === impl Authorities ===

impl Authorities {
    /// Returns what verifies certificates now.
    pub(super) fn current(&self) -> Guard<Option<Arc<Verifier>>> {
        self.0.load()
    }
}

// === impl Verifier ===

impl Verifier {
    /// Creates a verifier; `None` without authorities.
    ///
    /// # Errors
    /// Fails if a certificate cannot be an authority.
    pub(crate) fn new(
        authorities: &[CertificateDer<'static>],
        provider: &Arc<CryptoProvider>,
    ) -> Result<Option<Self>, ServerError> {
        if authorities.is_empty() {
            return Ok(None);
        }
        let mut roots = RootCertStore::empty();
        for authority in authorities {
            roots.add(authority.clone())?;
        }
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
            .allow_unauthenticated()
            .build()?;
        Ok(Some(Self(verifier)))
    }

    /// Returns what verifies the certificates.
    pub(crate) fn into_inner(self) -> Arc<dyn ClientCertVerifier> {
        self.0
    }
}
