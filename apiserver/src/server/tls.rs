//! TLS: what the server shows, and whom it believes.

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::server::WebPkiClientVerifier;
use rustls::{CipherSuite, RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

use crate::error::ServerError;

use super::pki::Identities;

/// Accepts TLS 1.2 and 1.3 with the serving identity, and client certificates of the believed authorities. A
/// client may show none; one that shows a wrong one is refused in the handshake.
pub(super) fn acceptor(identities: &Identities) -> Result<TlsAcceptor, ServerError> {
    let provider = Arc::new(provider());
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
    config.ignore_client_order = true;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    // Clients that come back resume without a signature, and the server keeps nothing for them.
    config.ticketer = ring::Ticketer::new()?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// What encrypts: the suites of AES-128 first, as kube-apiserver's own TLS has them, for a third less work for each byte.
fn provider() -> CryptoProvider {
    const PREFERRED: [CipherSuite; 3] = [
        CipherSuite::TLS13_AES_128_GCM_SHA256,
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
        CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
    ];
    let mut provider = ring::default_provider();
    provider.cipher_suites.sort_by_key(|suite| !PREFERRED.contains(&suite.suite()));
    provider
}
