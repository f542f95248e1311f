//! TLS: what the server shows, and whom it believes.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

use crate::error::ServerError;

use super::pki::Identities;

/// Accepts TLS 1.2 and 1.3 with the serving identity, and client certificates of the believed authorities. A
/// client may show none; one that shows a wrong one is refused in the handshake.
pub(super) fn acceptor(identities: &Identities) -> Result<TlsAcceptor, ServerError> {
    let provider = Arc::new(ring::default_provider());
    let mut roots = RootCertStore::empty();
    for authority in &identities.client_authorities {
        roots.add(authority.clone())?;
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
        .allow_unauthenticated()
        .build()?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_client_cert_verifier(verifier)
        .with_single_cert(identities.serving_chain.clone(), identities.serving_key.clone_key())?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    // Clients that come back resume without a signature, and the server keeps nothing for them.
    config.ticketer = ring::Ticketer::new()?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
