//! Certificates for some host names (`--tls-sni-cert-key`).

use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer as _, X509Certificate};

use crate::options::NamedCertificate;

use super::{FileFault, PkiError, certificates, check_pair, private_key, read};

/// A certificate, its key, and the host names that it is presented for.
pub(crate) struct NamedIdentity {
    /// The certificate, with its chain.
    pub(crate) chain: Vec<CertificateDer<'static>>,
    /// Its key.
    pub(crate) key: PrivateKeyDer<'static>,
    /// Host names, lower case. `*.` stands for one label.
    pub(crate) names: Vec<String>,
}

// === impl NamedIdentity ===

impl Clone for NamedIdentity {
    fn clone(&self) -> Self {
        Self { chain: self.chain.clone(), key: self.key.clone_key(), names: self.names.clone() }
    }
}

impl std::fmt::Debug for NamedIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "NamedIdentity({:?})", self.names)
    }
}

impl NamedIdentity {
    /// Reads the files.
    pub(super) fn read(files: &NamedCertificate) -> Result<Self, PkiError> {
        let chain = certificates(&files.certificate, &read(&files.certificate)?)?;
        let key = private_key(&files.key, &read(&files.key)?)?;
        check_pair(&chain, &key, &files.certificate, &files.key)?;
        let names = if files.names.is_empty() { names_of(&chain) } else { files.names.clone() };
        if names.is_empty() {
            return Err(FileFault::NoNames.in_file(&files.certificate));
        }
        Ok(Self { chain, key, names })
    }

    /// Whether the certificate is for this host name, or for any of its domain.
    pub(crate) fn is_for(&self, host: &str) -> bool {
        let domain = host.split_once('.').map(|(_, domain)| domain);
        self.names.iter().any(|name| match name.strip_prefix("*.") {
            Some(own) => domain == Some(own),
            None => name == host,
        })
    }
}

/// Returns the host names in a certificate; its common name without any.
fn names_of(chain: &[CertificateDer<'_>]) -> Vec<String> {
    let Some(Ok((_, parsed))) = chain.first().map(|leaf| X509Certificate::from_der(leaf)) else {
        return Vec::new();
    };
    let mut names: Vec<String> = match parsed.subject_alternative_name() {
        Ok(Some(alternatives)) => {
            let names = alternatives.value.general_names.iter();
            let dns =
                names.filter_map(|name| if let GeneralName::DNSName(dns) = name { Some(*dns) } else { None });
            dns.map(str::to_ascii_lowercase).collect()
        }
        _ => Vec::new(),
    };
    if names.is_empty() {
        let common = parsed.subject().iter_common_name().last().and_then(|name| name.as_str().ok());
        names.extend(common.map(str::to_ascii_lowercase));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_one_label() {
        let names = ["a.example.com", "*.example.org"].map(str::to_owned).to_vec();
        let identity =
            NamedIdentity { chain: Vec::new(), key: PrivateKeyDer::Pkcs8(Vec::new().into()), names };
        for host in ["a.example.com", "x.example.org"] {
            assert!(identity.is_for(host), "{host}");
        }
        for host in ["b.example.com", "example.org", "x.y.example.org", "", "*.example.com"] {
            assert!(!identity.is_for(host), "{host}");
        }
    }
}
