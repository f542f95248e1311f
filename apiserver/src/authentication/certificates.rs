//! The certificates that a client presents on its connection, and the judgement of authorities on them. The common name is the
//! user, the organizations are the groups.
//!
//! The chain is verified once for each connection, and again when the authorities change; its expiry is checked at each
//! request.

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use arc_swap::ArcSwapOption;
use certificates::{NotX509, Purpose, direct_issuer, has_purpose, parsed, text};
use jiff::Timestamp;
use registry_core::context::UserInfo;
use rustls_pki_types::{CertificateDer, UnixTime};
use x509_parser::oid_registry::Oid;
use x509_parser::prelude::{X509Certificate, X509Extension, X509Name, X509Version};

#[cfg(test)]
use super::trust::ClientTrust;
use super::trust::{Authorities, Verifier};

#[cfg(test)]
mod tests;

/// The key under which audit logs record the credential that was used.
const CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";
/// The subject attribute that holds a user's UID, in DER: `1.3.6.1.4.1.57683.2`.
const UID_ATTRIBUTE: &[u8] = &[0x2b, 0x06, 0x01, 0x04, 0x01, 0x83, 0xc2, 0x53, 0x02];

/// The client certificate of a connection.
#[derive(Clone, Debug)]
pub(crate) enum ClientCertificate {
    /// Issued by an authority that the server trusts.
    Trusted {
        /// The user that the certificate names.
        user: UserInfo,
        /// The validity period, in seconds since 1970.
        validity: RangeInclusive<i64>,
    },
    /// The certificate cannot be used, for this reason.
    Refused(String),
}

/// The certificates that a client has presented on its connection, its own first, and what they are accepted as.
#[derive(Debug)]
pub(crate) struct PeerCertificates {
    chain: Vec<CertificateDer<'static>>,
    as_client: Judged,
    as_proxy: Judged,
}

/// Error of a client certificate that is not accepted. Not retryable.
#[derive(Debug, thiserror::Error)]
enum CertificateError {
    #[error("the client certificate cannot be read: {0}")]
    Unreadable(#[from] NotX509),
    #[error("the client certificate ends before it begins")]
    NeverValid,
    #[error(
        "the client certificate is of X.509 version 1, and none of the authorities has issued it directly"
    )]
    NotIssuedDirectly,
    #[error("the client certificate is not accepted: x509: unhandled critical extension")]
    CriticalExtension,
    #[error("the client certificate is not accepted: x509: certificate specifies an incompatible key usage")]
    KeyUsage,
    #[error("the client certificate is not accepted: {}", text(.0))]
    NotVerified(#[source] rustls::Error),
    #[error("the client certificate's {0} is not text")]
    NoText(&'static str),
    #[error("the client certificate has several UIDs")]
    SeveralUids,
    #[error("the client certificate's UID is empty")]
    EmptyUid,
}

/// The last judgement on a chain.
#[derive(Debug, Default)]
struct Judged(ArcSwapOption<Judgement>);

/// The judgement of a set of authorities on a chain.
#[derive(Debug)]
pub(super) struct Judgement {
    /// The verifier of the authorities; `None` if there are none.
    by: Option<Arc<Verifier>>,
    certificate: Option<ClientCertificate>,
}

// === impl PeerCertificates ===

impl PeerCertificates {
    /// Keeps a chain that a client has presented.
    pub(crate) fn new(chain: &[CertificateDer<'_>]) -> Self {
        let chain = chain.iter().map(|certificate| certificate.clone().into_owned()).collect();
        Self { chain, as_client: Judged::default(), as_proxy: Judged::default() }
    }

    /// Returns the judgement on the chain as the chain of a client.
    pub(super) fn as_client(&self, authorities: &Authorities) -> Arc<Judgement> {
        self.as_client.by(authorities, &self.chain)
    }

    /// Returns the judgement on the chain as the chain of a front proxy.
    pub(super) fn as_proxy(&self, authorities: &Authorities) -> Arc<Judgement> {
        self.as_proxy.by(authorities, &self.chain)
    }
}

// === impl Judged ===

impl Judged {
    /// Returns the judgement of the present authorities; it is made again when they have changed.
    fn by(&self, authorities: &Authorities, chain: &[CertificateDer<'_>]) -> Arc<Judgement> {
        let authorities = authorities.current();
        let present = authorities.as_ref();
        if let Some(last) = &*self.0.load()
            && last.by.as_ref().map(Arc::as_ptr) == present.map(Arc::as_ptr)
        {
            return last.clone();
        }
        let certificate = match present {
            Some(verifier) => ClientCertificate::verify(chain, verifier),
            None => Some(ClientCertificate::Refused("no authority of certificates is trusted".to_owned())),
        };
        let judgement = Arc::new(Judgement { by: present.cloned(), certificate });
        self.0.store(Some(judgement.clone()));
        judgement
    }
}

// === impl Judgement ===

impl Judgement {
    /// Returns the certificate; `None` if it names nobody.
    pub(super) fn certificate(&self) -> Option<&ClientCertificate> {
        self.certificate.as_ref()
    }
}

// === impl ClientCertificate ===

impl ClientCertificate {
    /// Verifies the chain that a client has presented, its own certificate first. Returns `None` when there
    /// is none, or when it names no user.
    pub(crate) fn verify(chain: &[CertificateDer<'_>], verifier: &Verifier) -> Option<Self> {
        let (leaf, intermediates) = chain.split_first()?;
        match trusted(leaf, intermediates, verifier) {
            Ok(trusted) => trusted,
            Err(error) => Some(Self::Refused(error.to_string())),
        }
    }

    /// Returns the user, if the certificate is valid now.
    ///
    /// # Errors
    /// Returns the reason why it is not.
    pub(crate) fn user(&self) -> Result<&UserInfo, Cow<'_, str>> {
        self.user_at(SystemTime::now())
    }

    fn user_at(&self, now: SystemTime) -> Result<&UserInfo, Cow<'_, str>> {
        match self {
            Self::Refused(reason) => Err(Cow::Borrowed(reason)),
            Self::Trusted { user, validity } => {
                let seconds = seconds_of(now);
                // As in Go, it ends at the beginning of its last second.
                if (seconds, subsec_nanos_of(now)) > (*validity.end(), 0) {
                    Err(Cow::Owned(format!("the client certificate expired at {}", date(*validity.end()))))
                } else if seconds < *validity.start() {
                    let start = date(*validity.start());
                    Err(Cow::Owned(format!("the client certificate is not valid before {start}")))
                } else {
                    Ok(user)
                }
            }
        }
    }
}

/// Verifies a chain at a moment at which the client's certificate is valid; the current time is checked at
/// each request. Returns `None` for a certificate without a common name.
fn trusted(
    leaf: &CertificateDer<'_>,
    intermediates: &[CertificateDer<'_>],
    verifier: &Verifier,
) -> Result<Option<ClientCertificate>, CertificateError> {
    let parsed = parsed(leaf)?;
    let own = validity_of(&parsed);
    if own.is_empty() {
        return Err(CertificateError::NeverValid);
    }
    let validity = if verifier.authorities.iter().any(|authority| authority == leaf) {
        check_authority(&parsed)?;
        own
    } else if parsed.version == X509Version::V1 {
        let issuer =
            direct_issuer(&parsed, &verifier.authorities).ok_or(CertificateError::NotIssuedDirectly)?;
        both(&own, &validity_of(&issuer))
    } else {
        verified(leaf, intermediates, verifier, own)?
    };
    let Some(user) = user_of(leaf, parsed.subject())? else { return Ok(None) };
    Ok(Some(ClientCertificate::Trusted { user, validity }))
}

/// Checks a client's certificate that is one of the authorities' itself.
fn check_authority(certificate: &X509Certificate<'_>) -> Result<(), CertificateError> {
    let is_known = |extension: &X509Extension<'_>| !extension.parsed_extension().unsupported();
    if certificate.extensions().iter().any(|extension| extension.critical && !is_known(extension)) {
        return Err(CertificateError::CriticalExtension);
    }
    if !has_purpose(certificate, Purpose::Client) {
        return Err(CertificateError::KeyUsage);
    }
    Ok(())
}

/// Verifies a chain, and returns when it is valid.
fn verified(
    leaf: &CertificateDer<'_>,
    intermediates: &[CertificateDer<'_>],
    verifier: &Verifier,
    own: RangeInclusive<i64>,
) -> Result<RangeInclusive<i64>, CertificateError> {
    let moment = seconds_of(SystemTime::now()).clamp(*own.start(), *own.end());
    let since_epoch = Duration::from_secs(u64::try_from(moment).unwrap_or(0));
    verifier
        .verify(leaf, intermediates, UnixTime::since_unix_epoch(since_epoch))
        .map_err(CertificateError::NotVerified)?;
    let mut validity = own;
    for intermediate in intermediates {
        // Intermediates that are not valid now are not part of the verified path.
        let other = validity_of(&parsed(intermediate)?);
        if other.contains(&moment) {
            validity = both(&validity, &other);
        }
    }
    Ok(validity)
}

/// Returns when both periods are.
fn both(own: &RangeInclusive<i64>, other: &RangeInclusive<i64>) -> RangeInclusive<i64> {
    *own.start().max(other.start())..=*own.end().min(other.end())
}

/// Returns the user that a certificate names, or `None` without a common name.
///
/// # Errors
/// Fails if an attribute cannot be read: leaving out a group could change what the user may do.
fn user_of(der: &[u8], subject: &X509Name<'_>) -> Result<Option<UserInfo>, CertificateError> {
    // As in Go, the last common name is used.
    let Some(name) = subject.iter_common_name().last() else { return Ok(None) };
    let name = name.as_str().map_err(|_| CertificateError::NoText("common name"))?;
    if name.is_empty() {
        return Ok(None);
    }
    let mut groups = Vec::new();
    for organization in subject.iter_organization() {
        groups.push(organization.as_str().map_err(|_| CertificateError::NoText("organization"))?.to_owned());
    }
    let uid = uid_of(subject)?;
    let fingerprint = ring::digest::digest(&ring::digest::SHA256, der);
    let credential = format!("X509SHA256={}", hex(fingerprint.as_ref()));
    let extra = vec![(CREDENTIAL_ID.to_owned(), vec![credential])];
    Ok(Some(UserInfo { name: name.to_owned(), uid, groups, extra }))
}

/// Returns the UID in a subject, or an empty string.
fn uid_of(subject: &X509Name<'_>) -> Result<String, CertificateError> {
    let attribute = Oid::new(Cow::Borrowed(UID_ATTRIBUTE));
    let mut uids = subject.iter_by_oid(&attribute);
    let Some(uid) = uids.next() else { return Ok(String::new()) };
    if uids.next().is_some() {
        return Err(CertificateError::SeveralUids);
    }
    match uid.as_str() {
        Ok("") => Err(CertificateError::EmptyUid),
        Ok(uid) => Ok(uid.to_owned()),
        Err(_) => Err(CertificateError::NoText("UID")),
    }
}

fn validity_of(certificate: &X509Certificate<'_>) -> RangeInclusive<i64> {
    let validity = certificate.validity();
    validity.not_before.timestamp()..=validity.not_after.timestamp()
}

/// Returns the seconds since 1970; an earlier clock counts as 1970.
fn seconds_of(moment: SystemTime) -> i64 {
    let since = moment.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    i64::try_from(since).unwrap_or(i64::MAX)
}

/// Returns the nanoseconds since the beginning of the second.
fn subsec_nanos_of(moment: SystemTime) -> u32 {
    moment.duration_since(UNIX_EPOCH).map_or(0, |since| since.subsec_nanos())
}

fn date(seconds: i64) -> String {
    Timestamp::from_second(seconds).map_or_else(|_| format!("{seconds} s"), |moment| moment.to_string())
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Returns authorities, and what makes certificates that they have judged already, as those of clients and of proxies.
#[cfg(test)]
pub(super) fn testing() -> (Arc<ClientTrust>, impl Fn(ClientCertificate) -> PeerCertificates) {
    let trust = Arc::new(ClientTrust::default());
    trust.set(Some(Verifier::accepting_nothing()), Some(Verifier::accepting_nothing()));
    let judged = {
        let trust = trust.clone();
        move |certificate: ClientCertificate| {
            let by = |authorities: &Authorities| {
                let certificate = Some(certificate.clone());
                Judged(ArcSwapOption::from_pointee(Judgement {
                    by: authorities.current().clone(),
                    certificate,
                }))
            };
            PeerCertificates {
                chain: Vec::new(),
                as_client: by(&trust.clients),
                as_proxy: by(&trust.proxies),
            }
        }
    };
    (trust, judged)
}
