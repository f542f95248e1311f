//! Makes certificates, and knows which ones have to be made anew.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType, date_time_ymd,
};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::authorization::{KUBELET_CLIENT, MASTERS};
use crate::options::ServiceRange;

use super::{CertifiedKey, PkiError, read, write_private};

const AUTHORITY_DAYS: i64 = 3650;
const LEAF_DAYS: i64 = 365;
/// With less than this left, a certificate is made anew.
const RENEWAL_DAYS: i64 = 30;
/// Clocks differ: certificates are good from so long ago.
const BACKDATED_DAYS: i64 = 1;

/// The certificate authority of one installation.
pub(super) struct Authority {
    pub(super) certificate_pem: String,
    issuer: Issuer<'static, KeyPair>,
    /// Its name, unlike any other authority's.
    subject: Vec<u8>,
}

/// What a certificate is for.
pub(super) enum Purpose {
    /// Serving, under these names.
    Serving { names: Vec<String>, addresses: Vec<IpAddr> },
    /// The administrator's client certificate.
    Administrator,
    /// The server's own client certificate, for kubelets.
    KubeletClient,
}

// === impl Authority ===

impl Authority {
    /// Reads `ca.crt` and `ca.key`; makes them when there are none, or when they expire soon.
    pub(super) fn ensure(directory: &Path) -> Result<Self, PkiError> {
        let (certificate_path, key_path) = (directory.join("ca.crt"), directory.join("ca.key"));
        let pair = match (certificate_path.exists(), key_path.exists()) {
            (true, true) => {
                CertifiedKey { certificate_pem: read(&certificate_path)?, key_pem: read(&key_path)? }
            }
            (true, false) => {
                let reason = format!("its key {} is missing", key_path.display());
                return Err(PkiError::Unusable { path: certificate_path, reason });
            }
            (false, _) => Self::issue(directory)?,
        };
        let unusable = |reason: String| PkiError::Unusable { path: certificate_path.clone(), reason };
        let (_, expires) = inspect(&pair.certificate_pem).map_err(unusable)?;
        let pair = if expires_soon(expires) { Self::issue(directory)? } else { pair };
        let (der, _) = inspect(&pair.certificate_pem).map_err(unusable)?;
        let key = KeyPair::from_pem(&pair.key_pem)
            .map_err(|error| PkiError::Unusable { path: key_path, reason: error.to_string() })?;
        let (_, parsed) = X509Certificate::from_der(&der).map_err(|error| unusable(error.to_string()))?;
        if parsed.public_key().subject_public_key.data.as_ref() != key.public_key_raw() {
            return Err(unusable("ca.key is another certificate's key".to_owned()));
        }
        let subject = parsed.subject().as_raw().to_vec();
        let issuer = Issuer::from_ca_cert_der(&der, key)?;
        Ok(Self { certificate_pem: pair.certificate_pem, issuer, subject })
    }

    fn issue(directory: &Path) -> Result<CertifiedKey, PkiError> {
        let mut parameters =
            parameters(&format!("orlop-ca@{}", Timestamp::now().as_nanosecond()), AUTHORITY_DAYS);
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.key_usages =
            vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate()?;
        let certificate = parameters.self_signed(&key)?;
        store(directory, "ca", certificate.pem(), &key)
    }

    /// Reads `{name}.crt` and `{name}.key`; makes them when they are missing, of another authority, for another
    /// purpose, or expire soon.
    pub(super) fn ensure_leaf(
        &self,
        directory: &Path,
        name: &str,
        purpose: &Purpose,
    ) -> Result<CertifiedKey, PkiError> {
        let present = read(&directory.join(format!("{name}.crt")))
            .and_then(|certificate_pem| {
                Ok(CertifiedKey { certificate_pem, key_pem: read(&directory.join(format!("{name}.key")))? })
            })
            .ok()
            .filter(|present| self.is_good(present, purpose));
        if let Some(present) = present {
            return Ok(present);
        }
        let key = KeyPair::generate()?;
        let certificate = purpose.parameters().signed_by(&key, &self.issuer)?;
        store(directory, name, certificate.pem(), &key)
    }

    fn is_good(&self, present: &CertifiedKey, purpose: &Purpose) -> bool {
        let Ok((der, expires)) = inspect(&present.certificate_pem) else { return false };
        let (Ok((_, parsed)), Ok(key)) =
            (X509Certificate::from_der(&der), KeyPair::from_pem(&present.key_pem))
        else {
            return false;
        };
        !expires_soon(expires)
            && parsed.issuer().as_raw() == self.subject
            && parsed.public_key().subject_public_key.data.as_ref() == key.public_key_raw()
            && purpose.is_met_by(&parsed)
    }
}

// === impl Purpose ===

impl Purpose {
    /// Serving on an address, to clients on this machine and inside the cluster.
    pub(super) fn serving(bind_address: IpAddr, services: ServiceRange) -> Self {
        let names = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"];
        let mut names: Vec<String> = names.map(str::to_owned).to_vec();
        names.push("kubernetes.default.svc.cluster.local".to_owned());
        let mut addresses =
            vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into(), services.first_address()];
        if !bind_address.is_unspecified() && !addresses.contains(&bind_address) {
            addresses.push(bind_address);
        }
        Self::Serving { names, addresses }
    }

    fn parameters(&self) -> CertificateParams {
        match self {
            Self::Serving { names, addresses } => {
                let mut made = parameters("kube-apiserver", LEAF_DAYS);
                made.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
                let names =
                    names.iter().filter_map(|name| Some(SanType::DnsName(name.as_str().try_into().ok()?)));
                made.subject_alt_names =
                    names.chain(addresses.iter().copied().map(SanType::IpAddress)).collect();
                made
            }
            Self::Administrator => {
                let mut made = parameters("admin", LEAF_DAYS);
                made.distinguished_name.push(DnType::OrganizationName, MASTERS);
                made.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
                made
            }
            // In no group: only kubelets are to obey this user.
            Self::KubeletClient => {
                let mut made = parameters(KUBELET_CLIENT, LEAF_DAYS);
                made.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
                made
            }
        }
    }

    fn is_met_by(&self, certificate: &X509Certificate<'_>) -> bool {
        let (names, addresses) = match self {
            Self::Serving { names, addresses } => (names, addresses),
            Self::Administrator => return organizations(certificate) == [Some(MASTERS)],
            // Earlier versions made it a member of `system:masters`.
            Self::KubeletClient => return organizations(certificate).is_empty(),
        };
        let Ok(Some(alternatives)) = certificate.subject_alternative_name() else { return false };
        let present = &alternatives.value.general_names;
        let bytes = |address: &IpAddr| match address {
            IpAddr::V4(v4) => v4.octets().to_vec(),
            IpAddr::V6(v6) => v6.octets().to_vec(),
        };
        names.iter().all(|name| present.contains(&GeneralName::DNSName(name)))
            && addresses.iter().all(|address| present.contains(&GeneralName::IPAddress(&bytes(address))))
    }
}

/// The groups that a certificate names; `None` for one that is no text.
fn organizations<'a>(certificate: &'a X509Certificate<'_>) -> Vec<Option<&'a str>> {
    certificate.subject().iter_organization().map(|one| one.as_str().ok()).collect()
}

/// What all certificates have: a name, a time, a use.
fn parameters(common_name: &str, days: i64) -> CertificateParams {
    let date = |days: i64| {
        let moment = Timestamp::now().saturating_add(SignedDuration::from_hours(24 * days));
        let date = moment.unwrap_or(Timestamp::MAX).to_zoned(jiff::tz::TimeZone::UTC).date();
        date_time_ymd(date.year().into(), date.month().unsigned_abs(), date.day().unsigned_abs())
    };
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name = rcgen::DistinguishedName::new();
    parameters.distinguished_name.push(DnType::CommonName, common_name);
    parameters.not_before = date(-BACKDATED_DAYS);
    parameters.not_after = date(days);
    parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    parameters.use_authority_key_identifier_extension = true;
    parameters
}

fn store(
    directory: &Path,
    name: &str,
    certificate_pem: String,
    key: &KeyPair,
) -> Result<CertifiedKey, PkiError> {
    let key_pem = key.serialize_pem();
    write_private(&directory.join(format!("{name}.key")), &key_pem)?;
    write_private(&directory.join(format!("{name}.crt")), &certificate_pem)?;
    Ok(CertifiedKey { certificate_pem, key_pem })
}

/// A certificate's bytes, and when it expires, in seconds since 1970.
fn inspect(pem: &str) -> Result<(CertificateDer<'static>, i64), String> {
    let der = CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|error| error.to_string())?;
    let (_, parsed) = X509Certificate::from_der(&der).map_err(|error| error.to_string())?;
    let expires = parsed.validity().not_after.timestamp();
    Ok((der, expires))
}

fn expires_soon(expires: i64) -> bool {
    expires - Timestamp::now().as_second() < RENEWAL_DAYS * 24 * 3600
}
