use rustls::{AlertDescription, CertificateError, OtherError, PeerIncompatible};
use rustls_pki_types::pem;

use super::*;

/// An error of the library that parses certificates: it shows itself by its name.
#[derive(Debug, thiserror::Error)]
#[error("UnsupportedCertVersion")]
struct UnsupportedCertVersion;

#[test]
fn errors_of_libraries_are_texts_and_not_the_notation_of_rust() {
    let other = CertificateError::Other(OtherError(Arc::new(UnsupportedCertVersion)));
    for (error, expected) in [
        (Error::InvalidCertificate(other), "x509: unsupported cert version"),
        (
            Error::InvalidCertificate(CertificateError::UnknownIssuer),
            "x509: certificate signed by unknown authority",
        ),
        (Error::InvalidCertificate(CertificateError::BadSignature), "x509: bad signature"),
        (Error::AlertReceived(AlertDescription::BadCertificate), "remote error: tls: bad certificate"),
        (
            Error::PeerIncompatible(PeerIncompatible::NoCipherSuitesInCommon),
            "tls: the peer is incompatible: no cipher suites in common",
        ),
        (Error::InconsistentKeys(InconsistentKeys::KeyMismatch), "the key is not that of the certificate"),
        (Error::General("there is none".to_owned()), "there is none"),
        (Error::NoCertificatesPresented, "peer sent no certificates"),
    ] {
        assert_eq!(text(&error), expected);
    }
    let line = b"-----BEGIN".to_vec();
    for error in [
        pem::Error::MissingSectionEnd { end_marker: line.clone() },
        pem::Error::IllegalSectionStart { line },
        pem::Error::NoItemsFound,
    ] {
        let text = pem_text(&error);
        assert!(!text.contains(['[', '{', '(']), "{text}");
    }
}
