//! X.509 certificates, as far as rules depend on them.

use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;

/// Returns the certificate in these bytes, if they are one and nothing else.
pub(super) fn parse(der: &[u8]) -> Option<X509Certificate<'_>> {
    match X509Certificate::from_der(der) {
        Ok(([], certificate)) => Some(certificate),
        _ => None,
    }
}

/// Returns whether a certificate is the certificate of an authority; `None` if the bytes are no certificate.
pub(super) fn is_authority(der: &[u8]) -> Option<bool> {
    let certificate = parse(der)?;
    let constraints = certificate.basic_constraints().ok()?;
    Some(constraints.is_some_and(|constraints| constraints.value.ca))
}
