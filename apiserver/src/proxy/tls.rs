//! TLS towards proxied peers.

use std::sync::Arc;

use certificates::certified_key;
use clients::tls::{Trust, client_config};
use parking_lot::RwLock;
use rustls::client::{ResolvesClientCert, Resumption};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, SignatureScheme};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

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
#[derive(Clone)]
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

// === impl PeerTls ===

impl PeerTls {
    pub(crate) fn new(identity: KubeletIdentity) -> Result<Self, rustls::Error> {
        let known = match identity.authorities.as_slice() {
            [] => Trust::Any,
            authorities => Trust::from_certificates(authorities)?,
        };
        let certificate = Arc::new(KubeletCertificate::new(identity)?);
        let config = |trust: Trust, shown: Option<Arc<KubeletCertificate>>| {
            let shown = shown.map(|certificate| certificate as Arc<dyn ResolvesClientCert>);
            let mut config = client_config(trust, shown, &[b"http/1.1"])?;
            // A resumed session would have the identity of a former certificate.
            Arc::make_mut(&mut config).resumption = Resumption::disabled();
            Ok::<_, rustls::Error>(config)
        };
        Ok(Self {
            kubelet: config(known, Some(certificate.clone()))?,
            unverified_kubelet: config(Trust::Any, Some(certificate.clone()))?,
            workload: config(Trust::Any, None)?,
            certificate,
        })
    }
}

// === impl KubeletCertificate ===

impl KubeletCertificate {
    pub(crate) fn new(identity: KubeletIdentity) -> Result<Self, rustls::Error> {
        Ok(Self(RwLock::new(certified(identity)?)))
    }

    /// Replaces the certificate, if this one differs.
    pub(crate) fn renew(&self, identity: KubeletIdentity) -> Result<(), rustls::Error> {
        if identity.chain != self.present().cert {
            *self.0.write() = certified(identity)?;
        }
        Ok(())
    }

    /// Returns the current certificate.
    pub(crate) fn present(&self) -> Arc<CertifiedKey> {
        self.0.read().clone()
    }
}

/// Fails if the key does not belong to the certificate.
fn certified(identity: KubeletIdentity) -> Result<Arc<CertifiedKey>, rustls::Error> {
    Ok(Arc::new(certified_key(identity.chain, &identity.key)?))
}

impl ResolvesClientCert for KubeletCertificate {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        Some(self.present())
    }

    fn has_certs(&self) -> bool {
        true
    }
}
