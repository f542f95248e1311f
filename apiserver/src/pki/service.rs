//! Certificates between a main server and an extension server, each of an authority of its own.

use std::net::Ipv4Addr;
use std::time::Duration;

use rcgen::{BasicConstraints, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose, SanType};
use uuid::Uuid;

use super::parameters::parameters_until;
use super::{CertifiedKey, Moment, PROXY_CLIENT, PkiError};

/// A certificate, and the authority that it is checked with.
pub(crate) struct ServiceCertificate {
    /// The certificate with its chain.
    pub(crate) leaf: CertifiedKey,
    /// The authority (PEM), whose key is not kept.
    pub(crate) ca_pem: String,
}

/// Issues a certificate for a service, by an authority of its own, that is valid for this time.
///
/// # Errors
/// Fails if it cannot be created.
pub(crate) fn issue_serving(
    service: &str,
    namespace: &str,
    lifetime: Duration,
    now: Moment,
) -> Result<ServiceCertificate, PkiError> {
    let full = format!("{service}.{namespace}.svc");
    let names = [full.clone(), format!("{full}.cluster.local"), format!("{service}.{namespace}")];
    let names = names.into_iter().chain(["localhost".to_owned()]).collect();
    issue(&full, names, ExtendedKeyUsagePurpose::ServerAuth, lifetime, now)
}

/// Issues the client certificate of a front proxy, likewise.
///
/// # Errors
/// Fails if it cannot be created.
pub(crate) fn issue_front_proxy(lifetime: Duration, now: Moment) -> Result<ServiceCertificate, PkiError> {
    issue(PROXY_CLIENT, Vec::new(), ExtendedKeyUsagePurpose::ClientAuth, lifetime, now)
}

fn issue(
    common_name: &str,
    names: Vec<String>,
    usage: ExtendedKeyUsagePurpose,
    lifetime: Duration,
    now: Moment,
) -> Result<ServiceCertificate, PkiError> {
    let end = now.saturating_add(i64::try_from(lifetime.as_secs()).unwrap_or(i64::MAX));
    let key = KeyPair::generate()?;
    let mut authority = parameters_until(&format!("{common_name}-ca-{}", Uuid::new_v4()), now, end);
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    let certificate = authority.self_signed(&key)?;
    let issuer = Issuer::new(authority, key);

    let mut leaf = parameters_until(common_name, now, end);
    leaf.extended_key_usages = vec![usage];
    if !names.is_empty() {
        // For clients on the same machine.
        leaf.subject_alt_names.push(SanType::IpAddress(Ipv4Addr::LOCALHOST.into()));
    }
    for name in names {
        leaf.subject_alt_names.push(SanType::DnsName(name.try_into()?));
    }
    let leaf_key = KeyPair::generate()?;
    let ca_pem = certificate.pem();
    let certificate_pem = leaf.signed_by(&leaf_key, &issuer)?.pem() + &ca_pem;
    let leaf = CertifiedKey { certificate_pem, key_pem: leaf_key.serialize_pem() };
    Ok(ServiceCertificate { leaf, ca_pem })
}
