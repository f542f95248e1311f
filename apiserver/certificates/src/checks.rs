//! Checks of single certificates, as Go makes them.

use rustls::DigitallySignedStruct;
use rustls_pki_types::{CertificateDer, SubjectPublicKeyInfoDer};
use x509_parser::asn1_rs::ToDer as _;
use x509_parser::prelude::{FromDer as _, SubjectPublicKeyInfo, X509Certificate, X509Version};
use x509_parser::x509::AlgorithmIdentifier;

use super::{algorithms, parsed};

/// The use of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// By a client.
    Client,
    /// By a server.
    Server,
}

/// Whether a certificate may be used for a purpose: it names that one, all of them, or none.
pub fn has_purpose(certificate: &X509Certificate<'_>, purpose: Purpose) -> bool {
    match certificate.extended_key_usage() {
        Ok(None) => true,
        Ok(Some(usage)) => {
            let named = match purpose {
                Purpose::Client => usage.value.client_auth,
                Purpose::Server => usage.value.server_auth,
            };
            usage.value.any || named
        }
        Err(_) => false,
    }
}

/// Returns the authority that has issued a certificate directly, for clients; certificates of version 1 have no extensions that
/// would need further checks.
pub fn direct_issuer<'a>(
    certificate: &X509Certificate<'_>,
    authorities: &'a [CertificateDer<'static>],
) -> Option<X509Certificate<'a>> {
    let parsed = authorities.iter().filter_map(|authority| X509Certificate::from_der(authority).ok());
    let mut issuers = parsed.map(|(_, authority)| authority).filter(|authority| {
        authority.subject().as_raw() == certificate.issuer().as_raw()
            && may_issue(authority)
            && has_purpose(authority, Purpose::Client)
            && is_signed_by(certificate, authority.public_key())
    });
    issuers.next()
}

/// Whether a certificate may issue others, by its constraints and its usage. The library for TLS does not ask this of the
/// certificates that are trusted, and never looks at the usage.
///
/// Go's concept: `CheckSignatureFrom` of `crypto/x509`.
pub fn can_issue(certificate: &[u8]) -> bool {
    parsed(certificate).is_ok_and(|certificate| may_issue(&certificate))
}

/// Whether a certificate is one of an authority.
fn may_issue(authority: &X509Certificate<'_>) -> bool {
    let is_authority = match authority.basic_constraints() {
        Ok(Some(constraints)) => constraints.value.ca,
        Ok(None) => authority.version != X509Version::V3,
        Err(_) => false,
    };
    let signs = match authority.key_usage() {
        Ok(usage) => usage.is_none_or(|usage| usage.value.key_cert_sign()),
        Err(_) => false,
    };
    is_authority && signs
}

/// Whether a certificate was signed with a key, by an algorithm that is secure enough for TLS.
fn is_signed_by(certificate: &X509Certificate<'_>, key: &SubjectPublicKeyInfo<'_>) -> bool {
    let inner = &certificate.tbs_certificate.signature;
    if *inner != certificate.signature_algorithm {
        return false;
    }
    let (Some(signature), Some(public)) = (identifier(inner), identifier(&key.algorithm)) else {
        return false;
    };
    algorithms().all.iter().any(|algorithm| {
        let signed = certificate.tbs_certificate.as_ref();
        algorithm.signature_alg_id().as_ref() == signature
            && algorithm.public_key_alg_id().as_ref() == public
            && algorithm
                .verify_signature(&key.subject_public_key.data, signed, &certificate.signature_value.data)
                .is_ok()
    })
}

/// Returns the content of an algorithm identifier.
fn identifier(algorithm: &AlgorithmIdentifier<'_>) -> Option<Vec<u8>> {
    let mut content = algorithm.algorithm.to_der_vec().ok()?;
    if let Some(parameters) = &algorithm.parameters {
        content.extend(parameters.to_der_vec().ok()?);
    }
    Some(content)
}

/// Whether a handshake of TLS 1.2 was signed with a key.
pub fn is_signature_of(
    key: &SubjectPublicKeyInfoDer<'_>,
    message: &[u8],
    signature: &DigitallySignedStruct,
) -> bool {
    let Ok((_, key)) = SubjectPublicKeyInfo::from_der(key) else { return false };
    let Some(public) = identifier(&key.algorithm) else { return false };
    let mapping = algorithms().mapping.iter().find(|(scheme, _)| *scheme == signature.scheme);
    mapping.is_some_and(|(_, candidates)| {
        candidates.iter().any(|algorithm| {
            let data = &key.subject_public_key.data;
            algorithm.public_key_alg_id().as_ref() == public
                && algorithm.verify_signature(data, message, signature.signature()).is_ok()
        })
    })
}
