//! The authorities of webhooks' certificates.

use std::sync::{Arc, OnceLock};

use rustls::crypto::ring;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;

use crate::proxy::any_certificate;

/// Returns the TLS configuration for a webhook whose certificate is checked against this bundle (PEM), or against the
/// authorities of the system if it is blank.
///
/// # Errors
/// Fails if the bundle has no certificate.
pub(super) fn config(bundle: &[u8]) -> Result<Arc<ClientConfig>, String> {
    // As in Kubernetes: calls over HTTP/2 would all go to one of the endpoints of a service.
    client_config(Some(bundle), None, &[b"http/1.1"])
}

/// Returns the TLS configuration of a client that presents `identity` and speaks the first of these protocols that the
/// server has. The server's certificate is checked as in [`config`], or not at all without a bundle.
///
/// # Errors
/// Fails if the bundle has no certificate.
pub(crate) fn client_config(
    bundle: Option<&[u8]>,
    identity: Option<Arc<CertifiedKey>>,
    protocols: &[&[u8]],
) -> Result<Arc<ClientConfig>, String> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let builder = match bundle {
        None => builder.dangerous().with_custom_certificate_verifier(any_certificate()),
        Some(bundle) if bundle.trim_ascii().is_empty() => builder.with_root_certificates(system_roots()),
        Some(bundle) => builder.with_root_certificates(Arc::new(roots_of(bundle)?)),
    };
    let mut config = match identity {
        Some(identity) => builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(identity))),
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    Ok(Arc::new(config))
}

pub(super) fn roots_of(bundle: &[u8]) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(CertificateDer::pem_slice_iter(bundle).flatten());
    if roots.is_empty() {
        return Err("unable to load root certificates: no valid certificate authority data seen".to_owned());
    }
    Ok(roots)
}

/// Returns the authorities of the system, read once.
pub(super) fn system_roots() -> Arc<RootCertStore> {
    static ROOTS: OnceLock<Arc<RootCertStore>> = OnceLock::new();
    let read = || {
        let found = rustls_native_certs::load_native_certs();
        for failure in &found.errors {
            tracing::warn!("cannot read certificate authorities of the system: {failure}");
        }
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(found.certs);
        Arc::new(roots)
    };
    ROOTS.get_or_init(read).clone()
}
