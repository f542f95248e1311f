//! The authorities of the other servers' certificates, which may change while the server runs.

use std::sync::Arc;

use arc_swap::ArcSwap;
use clients::tls;
use rustls::pki_types::CertificateDer;

/// The authorities of the other servers' certificates.
pub(crate) struct PeerTrust(ArcSwap<PeerAuthorities>);

/// Certificates of authorities, and the TLS settings that accept their certificates.
pub(super) struct PeerAuthorities {
    certificates: Vec<CertificateDer<'static>>,
    pub(super) trust: tls::Trust,
}

// === impl PeerTrust ===

impl PeerTrust {
    /// Creates the trust in these authorities. `trust` has the TLS settings that accept their certificates.
    pub(crate) fn new(certificates: Vec<CertificateDer<'static>>, trust: tls::Trust) -> Self {
        Self(ArcSwap::from_pointee(PeerAuthorities { certificates, trust }))
    }

    /// Replaces the authorities, unless they are the same. Requests use new connections, which the new ones check.
    pub(crate) fn renew(&self, certificates: Vec<CertificateDer<'static>>, trust: tls::Trust) {
        if self.0.load().certificates != certificates {
            self.0.store(Arc::new(PeerAuthorities { certificates, trust }));
        }
    }

    /// Returns the authorities.
    pub(super) fn present(&self) -> Arc<PeerAuthorities> {
        self.0.load_full()
    }
}
