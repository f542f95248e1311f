//! Certificates and keys, where Go accepts what the library for TLS refuses: certificates of X.509 version 1, certificates that
//! are among the trusted ones themselves, and keys in all forms of PEM files.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::crypto::ring::sign::any_supported_type;
use rustls::sign::{CertifiedKey, SigningKey};
use rustls::{Error, InconsistentKeys};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, SubjectPublicKeyInfoDer};
use x509_parser::prelude::{FromDer as _, X509Certificate, X509Version};

mod checks;
mod keys;
#[cfg(test)]
mod tests;
mod texts;
mod trusted;

pub use checks::{Purpose, can_issue, direct_issuer, has_purpose, is_signature_of};
pub use keys::{KeyError, pkcs8_forms, private_key, rsa_public_key_info};
pub use texts::{certificate_text, handshake_text, pem_text, text};
pub use trusted::{TrustedCertificates, any_certificate, issuers};

/// Returns a certificate with its chain and its key.
///
/// # Errors
/// Fails if the key cannot be used, or if it is not that of the certificate.
pub fn certified_key(
    chain: Vec<CertificateDer<'static>>,
    key: &PrivateKeyDer<'_>,
) -> Result<CertifiedKey, Error> {
    let key: Arc<dyn SigningKey> = any_supported_type(key)?;
    let certified = CertifiedKey::new(chain, key);
    let matches = match certified.cert.first().and_then(|leaf| key_of_version_1(leaf)) {
        Some(public) if certified.key.public_key().is_none_or(|own| own == public) => Ok(()),
        Some(_) => Err(Error::InconsistentKeys(InconsistentKeys::KeyMismatch)),
        None => certified.keys_match(),
    };
    match matches {
        Ok(()) | Err(Error::InconsistentKeys(InconsistentKeys::Unknown)) => Ok(certified),
        Err(error) => Err(error),
    }
}

/// Error of bytes that are no certificate. Not retryable.
#[derive(Debug, thiserror::Error)]
#[error("it is not an X.509 certificate")]
pub struct NotX509;

/// Parses a certificate.
///
/// # Errors
/// Fails if it is none.
pub fn parsed(der: &[u8]) -> Result<X509Certificate<'_>, NotX509> {
    let parsed = X509Certificate::from_der(der);
    parsed.map(|(_, parsed)| parsed).map_err(|_| NotX509)
}

/// Returns the public key of a certificate of X.509 version 1, which the library for TLS does not parse; `None` for other versions.
pub fn key_of_version_1(certificate: &CertificateDer<'_>) -> Option<SubjectPublicKeyInfoDer<'static>> {
    let (_, parsed) = X509Certificate::from_der(certificate).ok()?;
    let is_version_1 = parsed.version == X509Version::V1;
    is_version_1.then(|| SubjectPublicKeyInfoDer::from(parsed.public_key().raw.to_vec()))
}

/// Returns the algorithms of signatures in certificates and handshakes.
fn algorithms() -> rustls::crypto::WebPkiSupportedAlgorithms {
    ring::default_provider().signature_verification_algorithms
}
