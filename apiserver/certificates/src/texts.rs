//! Errors of the libraries for TLS and PEM, which they show in the notation of Rust, as texts for people.

use rustls::{CertificateError, Error};
use rustls_pki_types::pem;

/// Returns the text of a handshake that failed, as Go has it where it is of the same kind.
pub fn handshake_text(failure: &std::io::Error) -> String {
    match failure.get_ref().and_then(|source| source.downcast_ref::<Error>()) {
        Some(Error::InvalidCertificate(wrong)) => {
            format!("tls: failed to verify certificate: x509: {}", certificate_text(wrong))
        }
        Some(error) => text(error),
        None => format!("tls: {failure}"),
    }
}

/// Returns the text of an error of TLS.
pub fn text(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(wrong) => format!("x509: {}", certificate_text(wrong)),
        Error::AlertReceived(alert) => format!("remote error: tls: {}", words(alert)),
        Error::PeerIncompatible(reason) => format!("tls: the peer is incompatible: {}", words(reason)),
        Error::PeerMisbehaved(reason) => format!("tls: the peer misbehaved: {}", words(reason)),
        Error::InvalidMessage(reason) => format!("tls: a message cannot be read: {}", words(reason)),
        Error::InappropriateMessage { .. } | Error::InappropriateHandshakeMessage { .. } => {
            "tls: unexpected message".to_owned()
        }
        Error::InconsistentKeys(_) => "the key is not that of the certificate".to_owned(),
        Error::General(reason) => reason.clone(),
        Error::InvalidCertRevocationList(reason) => words(reason),
        Error::InvalidEncryptedClientHello(reason) => words(reason),
        other => other.to_string(),
    }
}

/// Returns the text of a certificate that is not accepted, as Go has it where it is of the same kind.
pub fn certificate_text(wrong: &CertificateError) -> String {
    match wrong {
        CertificateError::UnknownIssuer => "certificate signed by unknown authority".to_owned(),
        CertificateError::Expired
        | CertificateError::ExpiredContext { .. }
        | CertificateError::NotValidYet
        | CertificateError::NotValidYetContext { .. } => {
            "certificate has expired or is not yet valid".to_owned()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "certificate is not valid for this name".to_owned()
        }
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "certificate specifies an incompatible key usage".to_owned()
        }
        // The error of the library that parses certificates, which shows its name.
        CertificateError::Other(other) => words(&other.0),
        other => words(other),
    }
}

/// Returns the text of a PEM file that cannot be read.
pub fn pem_text(error: &pem::Error) -> String {
    match error {
        pem::Error::MissingSectionEnd { .. } => "a PEM section has no end".to_owned(),
        pem::Error::IllegalSectionStart { .. } => {
            "a PEM section begins with a line that is not valid".to_owned()
        }
        other => other.to_string(),
    }
}

/// Returns the words of the name of a value that the library has no text for: `CaUsedAsEndEntity` is "ca used as end entity".
fn words(value: &impl std::fmt::Debug) -> String {
    let shown = format!("{value:?}");
    let name: String = shown.chars().take_while(char::is_ascii_alphanumeric).collect();
    let mut words = String::with_capacity(name.len() + 8);
    for (index, letter) in name.char_indices() {
        if letter.is_ascii_uppercase() && index > 0 {
            words.push(' ');
        }
        words.push(letter.to_ascii_lowercase());
    }
    words
}
