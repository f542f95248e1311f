//! Validity and renewal of certificates.

use jiff::Timestamp;
use rustls_pki_types::CertificateDer;
use x509_parser::prelude::{FromDer, X509Certificate};

/// Seconds since 1970.
pub(crate) type Moment = i64;

/// The validity period of a certificate, bounds included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Validity {
    pub(crate) begin: Moment,
    pub(crate) end: Moment,
}

/// The current time.
pub(crate) fn now() -> Moment {
    Timestamp::now().as_second()
}

/// Returns a number of days in seconds.
pub(super) const fn days(count: i64) -> i64 {
    count * 24 * 3600
}

// === impl Validity ===

impl Validity {
    pub(super) fn from_certificate(certificate: &X509Certificate<'_>) -> Self {
        let validity = certificate.validity();
        Self { begin: validity.not_before.timestamp(), end: validity.not_after.timestamp() }
    }

    /// Returns the period in which all certificates of a chain are valid; `None` if one cannot be parsed, or
    /// there is none.
    pub(crate) fn from_chain(chain: &[CertificateDer<'_>]) -> Option<Self> {
        let mut common: Option<Self> = None;
        for certificate in chain {
            let (_, parsed) = X509Certificate::from_der(certificate).ok()?;
            let own = Self::from_certificate(&parsed);
            common = Some(common.map_or(own, |known| Self {
                begin: known.begin.max(own.begin),
                end: known.end.min(own.end),
            }));
        }
        common
    }

    /// Returns whether it is valid at that time.
    pub(crate) fn holds(self, now: Moment) -> bool {
        (self.begin..=self.end).contains(&now)
    }

    /// Returns whether the certificate is due for renewal: after two thirds of its lifetime, or if it is not
    /// valid yet.
    pub(super) fn needs_renewal(self, now: Moment) -> bool {
        let renewal = self.begin + (self.end - self.begin) / 3 * 2;
        now < self.begin || now >= renewal
    }
}
