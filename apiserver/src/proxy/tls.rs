//! TLS towards proxied peers.

use std::sync::{Arc, PoisonError, RwLock};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ResolvesClientCert, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};

use crate::error::ServerError;

/// The server's identity towards kubelets, and the authorities of theirs.
pub(crate) struct KubeletIdentity {
    /// The certificate, with its chain.
    pub(crate) chain: Vec<CertificateDer<'static>>,
    /// Its key.
    pub(crate) key: PrivateKeyDer<'static>,
    /// The authorities of kubelets' certificates, which are not verified if it is empty.
    pub(crate) authorities: Vec<CertificateDer<'static>>,
}

/// The certificate that is presented to kubelets. It can be renewed while connections are made.
#[derive(Debug)]
pub(crate) struct KubeletCertificate(RwLock<Arc<CertifiedKey>>);

/// TLS configurations by expected peer.
pub(crate) struct PeerTls {
    /// The certificate that is presented to kubelets.
    pub(crate) certificate: Arc<KubeletCertificate>,
    /// For kubelets.
    pub(super) kubelet: Arc<ClientConfig>,
    /// For kubelets whose certificates are not verified.
    pub(super) unverified_kubelet: Arc<ClientConfig>,
    /// For workloads, whose certificates cannot be verified.
    pub(super) workload: Arc<ClientConfig>,
}

/// Accepts every certificate. The signature of the handshake is still verified.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

// === impl PeerTls ===

impl PeerTls {
    pub(crate) fn new(identity: KubeletIdentity) -> Result<Self, ServerError> {
        let provider = Arc::new(ring::default_provider());
        let any: Arc<dyn ServerCertVerifier> = Arc::new(AnyCertificate(provider.clone()));
        let known: Arc<dyn ServerCertVerifier> = if identity.authorities.is_empty() {
            any.clone()
        } else {
            let mut roots = RootCertStore::empty();
            for authority in &identity.authorities {
                roots.add(authority.clone())?;
            }
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build()?
        };
        let certificate = Arc::new(KubeletCertificate::new(identity)?);
        Ok(Self {
            kubelet: config(&provider, known, Some(certificate.clone()))?,
            unverified_kubelet: config(&provider, any.clone(), Some(certificate.clone()))?,
            workload: config(&provider, any, None)?,
            certificate,
        })
    }
}

/// Returns a verifier that accepts every certificate.
pub(crate) fn any_certificate() -> Arc<dyn ServerCertVerifier> {
    Arc::new(AnyCertificate(Arc::new(ring::default_provider())))
}

fn config(
    provider: &Arc<CryptoProvider>,
    verifier: Arc<dyn ServerCertVerifier>,
    shown: Option<Arc<KubeletCertificate>>,
) -> Result<Arc<ClientConfig>, ServerError> {
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let mut config = match shown {
        Some(certificate) => builder.with_client_cert_resolver(certificate),
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// Returns the configuration for a peer whose certificate is verified against these authorities (PEM), or those of the
/// system if they are empty, or is not verified. `identity` is the certificate (PEM) and key that are presented to it.
///
/// # Errors
/// Fails with a reason if a certificate or key cannot be used.
pub(crate) fn peer_config(
    authorities: &[u8],
    is_insecure: bool,
    identity: Option<(Vec<u8>, Vec<u8>)>,
) -> Result<Arc<ClientConfig>, String> {
    let provider = Arc::new(ring::default_provider());
    let mut roots = RootCertStore::empty();
    if authorities.trim_ascii().is_empty() {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    } else {
        roots.add_parsable_certificates(CertificateDer::pem_slice_iter(authorities).flatten());
    }
    let verifier: Arc<dyn ServerCertVerifier> = if is_insecure {
        Arc::new(AnyCertificate(provider.clone()))
    } else if roots.is_empty() {
        return Err("unable to load root certificates: no valid certificate authority data seen".to_owned());
    } else {
        let known = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build();
        known.map_err(|error| error.to_string())?
    };
    let shown = match identity {
        None => None,
        Some((certificate, key)) => {
            let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&certificate).collect();
            let chain = chain.map_err(|error| format!("client certificate: {error}"))?;
            let key = PrivateKeyDer::from_pem_slice(&key).map_err(|error| format!("client key: {error}"))?;
            let identity = KubeletIdentity { chain, key, authorities: Vec::new() };
            Some(Arc::new(KubeletCertificate::new(identity).map_err(|error| error.to_string())?))
        }
    };
    config(&provider, verifier, shown).map_err(|error| error.to_string())
}

// === impl KubeletCertificate ===

impl KubeletCertificate {
    pub(crate) fn new(identity: KubeletIdentity) -> Result<Self, ServerError> {
        Ok(Self(RwLock::new(certified(identity)?)))
    }

    /// Replaces the certificate, if this one differs.
    pub(crate) fn renew(&self, identity: KubeletIdentity) -> Result<(), ServerError> {
        if identity.chain != self.present().cert {
            *self.0.write().unwrap_or_else(PoisonError::into_inner) = certified(identity)?;
        }
        Ok(())
    }

    /// Returns the current certificate.
    pub(crate) fn present(&self) -> Arc<CertifiedKey> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Fails if the key does not belong to the certificate.
fn certified(identity: KubeletIdentity) -> Result<Arc<CertifiedKey>, ServerError> {
    let provider = ring::default_provider();
    Ok(Arc::new(CertifiedKey::from_der(identity.chain, identity.key, &provider)?))
}

impl ResolvesClientCert for KubeletCertificate {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        Some(self.present())
    }

    fn has_certs(&self) -> bool {
        true
    }
}

// === impl AnyCertificate ===

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
