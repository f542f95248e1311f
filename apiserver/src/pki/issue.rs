//! Certificates of the authorities: issued, and reissued when they have to be.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair, SanType};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::access::{KUBELET_CLIENT, MASTERS};
use crate::options::ServiceRange;

use super::authority::Authority;
use super::parameters::parameters;
use super::validity::{Moment, Validity, days};
use super::{CertifiedKey, KeyDirectory, Notes, PROXY_CLIENT, PkiError, read, read_private};

const LEAF_DAYS: i64 = 365;

/// The purpose of a certificate.
pub(super) enum Purpose {
    /// Serving, under these names.
    Serving { names: Vec<String>, addresses: Vec<IpAddr> },
    /// The administrator's client certificate.
    Administrator,
    /// The server's client certificate for kubelets.
    KubeletClient,
    /// The server's client certificate for extension servers.
    FrontProxy,
}

// === impl Authority ===

impl Authority {
    /// Reads the certificate and the key of a purpose; creates them if they are missing, of another authority or for another
    /// purpose, or due for renewal.
    pub(super) fn ensure_leaf(
        &self,
        directory: &KeyDirectory,
        purpose: &Purpose,
        now: Moment,
        notes: &mut Notes,
    ) -> Result<CertifiedKey, PkiError> {
        let name = purpose.file();
        let certificate_path = directory.path().join(format!("{name}.crt"));
        let key_path = directory.path().join(format!("{name}.key"));
        let present = read(&certificate_path).and_then(|certificate_pem| {
            Ok(CertifiedKey { certificate_pem, key_pem: read_private(&key_path, notes)? })
        });
        // Files that cannot be read are replaced, like missing ones.
        if let Ok(present) = present
            && self.is_good(&present, purpose, now)
        {
            return Ok(present);
        }
        let key = KeyPair::generate()?;
        let end = (now + days(LEAF_DAYS)).min(self.validity.end);
        let certificate_pem = purpose.parameters(now, end).signed_by(&key, &self.issuer)?.pem();
        let key_pem = key.serialize_pem();
        directory.write(&key_path, &key_pem)?;
        directory.write(&certificate_path, &certificate_pem)?;
        notes.made(name);
        Ok(CertifiedKey { certificate_pem, key_pem })
    }

    fn is_good(&self, present: &CertifiedKey, purpose: &Purpose, now: Moment) -> bool {
        let Ok(der) = CertificateDer::from_pem_slice(present.certificate_pem.as_bytes()) else {
            return false;
        };
        let (Ok((_, parsed)), Ok(key)) =
            (X509Certificate::from_der(&der), KeyPair::from_pem(&present.key_pem))
        else {
            return false;
        };
        !Validity::from_certificate(&parsed).needs_renewal(now)
            && parsed.issuer().as_raw() == self.subject
            && parsed.public_key().subject_public_key.data.as_ref() == key.public_key_raw()
            && purpose.is_met_by(&parsed)
    }
}

// === impl Purpose ===

impl Purpose {
    /// Returns the purpose of serving on an address, to clients on this machine and inside the cluster.
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

    /// Returns the name of the files, without their extension.
    fn file(&self) -> &'static str {
        match self {
            Self::Serving { .. } => "apiserver",
            Self::Administrator => "admin",
            Self::KubeletClient => "apiserver-kubelet-client",
            Self::FrontProxy => "aggregator-client",
        }
    }

    fn parameters(&self, now: Moment, end: Moment) -> CertificateParams {
        let (name, usage) = match self {
            Self::Serving { .. } => ("kube-apiserver", ExtendedKeyUsagePurpose::ServerAuth),
            Self::Administrator => ("admin", ExtendedKeyUsagePurpose::ClientAuth),
            Self::FrontProxy => (PROXY_CLIENT, ExtendedKeyUsagePurpose::ClientAuth),
            // In no group: only kubelets authorize this user.
            Self::KubeletClient => (KUBELET_CLIENT, ExtendedKeyUsagePurpose::ClientAuth),
        };
        let mut made = parameters(name, now, end);
        made.extended_key_usages = vec![usage];
        match self {
            Self::Serving { names, addresses } => {
                let names =
                    names.iter().filter_map(|name| Some(SanType::DnsName(name.as_str().try_into().ok()?)));
                made.subject_alt_names =
                    names.chain(addresses.iter().copied().map(SanType::IpAddress)).collect();
            }
            Self::Administrator => made.distinguished_name.push(DnType::OrganizationName, MASTERS),
            Self::FrontProxy | Self::KubeletClient => {}
        }
        made
    }

    fn is_met_by(&self, certificate: &X509Certificate<'_>) -> bool {
        let (names, addresses) = match self {
            Self::Serving { names, addresses } => (names, addresses),
            Self::Administrator => return organizations(certificate) == [Some(MASTERS)],
            // Earlier versions made it a member of `system:masters`.
            Self::KubeletClient | Self::FrontProxy => return organizations(certificate).is_empty(),
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

/// Returns the groups that a certificate names; `None` for one that is not text.
fn organizations<'a>(certificate: &'a X509Certificate<'_>) -> Vec<Option<&'a str>> {
    certificate.subject().iter_organization().map(|organization| organization.as_str().ok()).collect()
}
