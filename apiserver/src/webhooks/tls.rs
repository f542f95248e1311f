//! The authorities of webhooks' certificates.

use std::sync::{Arc, OnceLock};

use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;

/// Returns the TLS configuration for a webhook whose certificate is checked against this bundle (PEM), or against the
/// authorities of the system if it is blank.
///
/// # Errors
/// Fails if the bundle has no certificate.
pub(super) fn config(bundle: &[u8]) -> Result<Arc<ClientConfig>, String> {
    let roots = if bundle.trim_ascii().is_empty() { system_roots() } else { Arc::new(roots_of(bundle)?) };
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    // As in Kubernetes: calls over HTTP/2 would all go to one of the endpoints of a service.
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
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
