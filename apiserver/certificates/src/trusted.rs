//! Certificates that a client trusts: authorities, and servers' own.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{ring, verify_tls12_signature, verify_tls13_signature};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use x509_parser::prelude::{FromDer as _, X509Certificate};

use super::{Purpose, algorithms, can_issue, has_purpose};

/// Certificates that a client trusts.
#[derive(Debug)]
pub struct TrustedCertificates {
    /// Those that may issue others.
    roots: Arc<RootCertStore>,
    certificates: Vec<CertificateDer<'static>>,
}

/// Verifies servers' certificates, and the signatures of handshakes.
#[derive(Debug)]
enum Verifier {
    /// Accepts every certificate.
    Any,
    /// Accepts the certificates that the trusted ones have issued, and a server's certificate that is one of them itself. The
    /// library refuses the latter if it could issue certificates too, as those of many tools can. `issued` is `None` if none of
    /// them may issue any.
    Trusted { issued: Option<Arc<WebPkiServerVerifier>>, trusted: Arc<TrustedCertificates> },
}

/// Returns a verifier that accepts every certificate of a server. The signature of the handshake is still verified.
pub fn any_certificate() -> Arc<dyn ServerCertVerifier> {
    Arc::new(Verifier::Any)
}

/// Returns the certificates among these that may issue others: a path leads through them only.
pub fn issuers<'c>(certificates: &[CertificateDer<'c>]) -> Vec<CertificateDer<'c>> {
    certificates.iter().filter(|certificate| can_issue(certificate)).cloned().collect()
}

// === impl TrustedCertificates ===

impl Default for TrustedCertificates {
    fn default() -> Self {
        Self { roots: Arc::new(RootCertStore::empty()), certificates: Vec::new() }
    }
}

impl TrustedCertificates {
    /// Adds a certificate.
    ///
    /// # Errors
    /// Fails if it cannot be an authority.
    pub fn add(&mut self, certificate: CertificateDer<'static>) -> Result<(), Error> {
        if can_issue(&certificate) {
            Arc::make_mut(&mut self.roots).add(certificate.clone())?;
        } else {
            // A certificate that is trusted itself, and nothing that it has signed.
            RootCertStore::empty().add(certificate.clone())?;
        }
        self.certificates.push(certificate);
        Ok(())
    }

    /// Adds the certificates that can be authorities.
    pub fn add_usable(&mut self, certificates: impl IntoIterator<Item = CertificateDer<'static>>) {
        for certificate in certificates {
            // A bundle may have some of other kinds.
            let _ = self.add(certificate);
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.certificates.is_empty()
    }

    /// Returns what verifies servers' certificates; `None` if nothing is trusted.
    pub fn verifier(self: Arc<Self>) -> Option<Arc<dyn ServerCertVerifier>> {
        if self.is_empty() {
            return None;
        }
        let algorithms = Arc::new(ring::default_provider());
        let issued = WebPkiServerVerifier::builder_with_provider(self.roots.clone(), algorithms).build();
        Some(Arc::new(Verifier::Trusted { issued: issued.ok(), trusted: self }))
    }
}

// === impl Verifier ===

impl Verifier {
    /// Checks the name, the time and the purpose of a certificate that is trusted itself.
    fn verify_itself(
        certificate: &CertificateDer<'_>,
        name: &ServerName<'_>,
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let refused = |reason| Err(Error::InvalidCertificate(reason));
        let Ok((_, parsed)) = X509Certificate::from_der(certificate) else {
            return refused(CertificateError::BadEncoding);
        };
        let validity = parsed.validity();
        let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        if seconds < validity.not_before.timestamp() {
            return refused(CertificateError::NotValidYet);
        }
        if seconds > validity.not_after.timestamp() {
            return refused(CertificateError::Expired);
        }
        // The library also refuses critical extensions that it does not know.
        verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
        if !has_purpose(&parsed, Purpose::Server) {
            return refused(CertificateError::InvalidPurpose);
        }
        Ok(ServerCertVerified::assertion())
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self {
            Self::Any => Ok(ServerCertVerified::assertion()),
            Self::Trusted { trusted, .. } if trusted.certificates.iter().any(|own| own == certificate) => {
                Self::verify_itself(certificate, name, now)
            }
            Self::Trusted { issued: Some(issued), .. } => {
                let issuers = issuers(intermediates);
                issued.verify_server_cert(certificate, &issuers, name, ocsp_response, now)
            }
            Self::Trusted { issued: None, .. } => {
                Err(Error::InvalidCertificate(CertificateError::UnknownIssuer))
            }
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &algorithms())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &algorithms())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        algorithms().supported_schemes()
    }
}
