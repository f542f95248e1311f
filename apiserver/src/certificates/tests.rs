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

/// A certificate of version 1 and its key (SEC 1, behind its parameters), as `openssl x509 -req` and `openssl ecparam` make them.
const VERSION_1: &[u8] = include_bytes!("tests/version_1.pem");

#[test]
fn a_certificate_of_version_1_is_shown_with_its_key_and_no_other() {
    let certified = crate::clients::tls::certified_key(VERSION_1, VERSION_1).unwrap();
    assert!(key_of_version_1(&certified.cert[0]).is_some());
    let other = rcgen::KeyPair::generate().unwrap().serialize_pem();
    for (chain, key, reason) in [
        (VERSION_1, other.as_bytes(), "client-key: the key is not that of the certificate"),
        (VERSION_1, b"", "client-key: it has no private key (PEM)"),
        (b"", VERSION_1, "client-certificate: it has no certificate (PEM)"),
        (
            b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            VERSION_1,
            "client-certificate: bad encoding",
        ),
        (b"-----BEGIN CERTIFICATE-----\nAAAA\n", VERSION_1, "client-certificate: a PEM section has no end"),
    ] {
        assert_eq!(crate::clients::tls::certified_key(chain, key).err().as_deref(), Some(reason));
    }
}
