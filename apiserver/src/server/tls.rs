//! The TLS configuration of the server.

use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, ring, verify_tls13_signature_with_raw_key};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CipherSuite, DigitallySignedStruct, DistinguishedName, Error, RootCertStore, ServerConfig,
    SignatureScheme,
};
use rustls_pki_types::{CertificateDer, SubjectPublicKeyInfoDer, UnixTime};
use tokio_rustls::TlsAcceptor;
use x509_parser::prelude::{FromDer, X509Certificate, X509Version};

use crate::error::ServerError;

use super::pki::Identities;

/// The TLS configuration of connections.
#[derive(Clone)]
pub(super) struct ServerTls {
    /// Performs the handshake.
    pub(super) acceptor: TlsAcceptor,
    /// Verifies the chains of client certificates.
    pub(super) verifier: Arc<dyn ClientCertVerifier>,
}

/// Requests a client certificate and accepts any, as kube-apiserver does. The handshake proves that the
/// client has the certificate's key. Whether an authority has issued it is verified after the handshake, when
/// the certificate of a resumed session is available too, and the client can receive the reason of a refusal.
#[derive(Debug)]
struct AnyClientCertificate(Arc<dyn ClientCertVerifier>);

/// Returns the acceptor of TLS 1.2 and 1.3 with the serving identity.
pub(super) fn server_tls(identities: &Identities) -> Result<ServerTls, ServerError> {
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
        .with_client_cert_verifier(Arc::new(AnyClientCertificate(verifier.clone())))
        .with_single_cert(identities.serving_chain.clone(), identities.serving_key.clone_key())?;
    config.ignore_client_order = true;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    // Clients resume sessions without a signature, and the server keeps no state for them.
    config.ticketer = ring::Ticketer::new()?;
    Ok(ServerTls { acceptor: TlsAcceptor::from(Arc::new(config)), verifier })
}

/// Returns the cryptography provider: the suites of AES-128 first, as in kube-apiserver's TLS, for a third
/// less work per byte.
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

// === impl AnyClientCertificate ===

impl ClientCertVerifier for AnyClientCertificate {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.0.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        match X509Certificate::from_der(certificate) {
            // The library does not parse certificates of version 1. The key is enough for the handshake, so
            // that the client can receive the reason afterwards.
            Ok((_, parsed)) if parsed.version == X509Version::V1 => {
                let key = SubjectPublicKeyInfoDer::from(parsed.public_key().raw);
                let algorithms = ring::default_provider().signature_verification_algorithms;
                verify_tls13_signature_with_raw_key(message, &key, signature, &algorithms)
            }
            _ => self.0.verify_tls13_signature(message, certificate, signature),
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
