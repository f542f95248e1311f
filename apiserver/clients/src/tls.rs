//! TLS configurations of clients, and the authorities of certificates.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use certificates::{self, TrustedCertificates, any_certificate, private_key};
use parking_lot::Mutex;
use rustls::client::ResolvesClientCert;
use rustls::crypto::ring;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ClientConfig, Error, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;

use super::error::SettingsError;

/// Number of servers beyond which warnings repeat.
const MAX_WARNED: usize = 64;

/// The authorities that a server's certificate is checked against.
#[derive(Clone)]
pub enum Trust {
    /// Nothing. The signature of the handshake is still verified.
    Any,
    /// These authorities.
    Authorities(Arc<TrustedCertificates>),
}

// === impl Trust ===

impl Trust {
    /// The authorities of the system, which are read once.
    pub fn system() -> Self {
        static ROOTS: OnceLock<Arc<TrustedCertificates>> = OnceLock::new();
        let read = || {
            let found = rustls_native_certs::load_native_certs();
            for failure in &found.errors {
                tracing::warn!("cannot read certificate authorities of the system: {failure}");
            }
            let mut roots = TrustedCertificates::default();
            roots.add_usable(found.certs);
            Arc::new(roots)
        };
        Self::Authorities(ROOTS.get_or_init(read).clone())
    }

    /// The authorities of a bundle (PEM).
    ///
    /// # Errors
    /// Fails if it has none.
    pub fn from_bundle(bundle: &[u8]) -> Result<Self, SettingsError> {
        let mut roots = TrustedCertificates::default();
        roots.add_usable(CertificateDer::pem_slice_iter(bundle).flatten());
        if roots.is_empty() {
            return Err(SettingsError::NoAuthorities);
        }
        Ok(Self::Authorities(Arc::new(roots)))
    }

    /// The authorities of a bundle (PEM), or those of the system if it is blank.
    ///
    /// # Errors
    /// Fails if it is not blank and has none.
    pub fn from_bundle_or_system(bundle: &[u8]) -> Result<Self, SettingsError> {
        if bundle.trim_ascii().is_empty() { Ok(Self::system()) } else { Self::from_bundle(bundle) }
    }

    /// These authorities.
    ///
    /// # Errors
    /// Fails if one cannot be an authority.
    pub fn from_certificates(authorities: &[CertificateDer<'static>]) -> Result<Self, Error> {
        let mut roots = TrustedCertificates::default();
        for authority in authorities {
            roots.add(authority.clone())?;
        }
        Ok(Self::Authorities(Arc::new(roots)))
    }
}

/// Returns the TLS configuration of a client that presents the certificate of `shown` and speaks the first of these
/// protocols that the server has.
///
/// # Errors
/// Fails only if the cryptography that this server is built with has no version of TLS.
pub fn client_config(
    trust: Trust,
    shown: Option<Arc<dyn ResolvesClientCert>>,
    protocols: &[&[u8]],
) -> Result<Arc<ClientConfig>, Error> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let builder = match trust {
        Trust::Any => builder.dangerous().with_custom_certificate_verifier(any_certificate()),
        Trust::Authorities(trusted) => match trusted.verifier() {
            Some(verifier) => builder.dangerous().with_custom_certificate_verifier(verifier),
            None => builder.with_root_certificates(RootCertStore::empty()),
        },
    };
    let mut config = match shown {
        Some(shown) => builder.with_client_cert_resolver(shown),
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    Ok(Arc::new(config))
}

/// Returns the TLS configuration of a client whose files (PEM) have the authorities of the server, which are otherwise those of
/// the system, and the certificate and the key that it presents, if it presents one.
///
/// # Errors
/// Fails if a file cannot be read or used.
pub fn client_config_from_files(
    authorities: Option<&Path>,
    identity: Option<(&Path, &Path)>,
    protocols: &[&[u8]],
) -> Result<Arc<ClientConfig>, SettingsError> {
    let read = |path: &Path| {
        std::fs::read(path).map_err(|source| SettingsError::Unreadable { path: path.to_owned(), source })
    };
    let trust = match authorities {
        Some(path) => Trust::from_bundle(&read(path)?)?,
        None => Trust::system(),
    };
    let shown = match identity {
        Some((chain, key)) => Some(shown_certificate(&read(chain)?, &read(key)?)?),
        None => None,
    };
    client_config(trust, shown, protocols).map_err(SettingsError::Tls)
}

/// Returns the resolver of a client that always presents this certificate with its key (PEM).
///
/// # Errors
/// Fails if they cannot be used, or do not belong together.
pub(super) fn shown_certificate(
    chain: &[u8],
    key: &[u8],
) -> Result<Arc<dyn ResolvesClientCert>, SettingsError> {
    Ok(Arc::new(SingleCertAndKey::from(certified_key(chain, key)?)))
}

/// Warns that the certificate of a server is not verified, once: a kubeconfig is read by every part that uses it.
pub(super) fn warn_unverified(server: &str) {
    if is_first_warning(server) {
        tracing::warn!("insecure-skip-tls-verify: the certificate of {server} is not verified");
    }
}

/// Whether there was no warning of a server before.
fn is_first_warning(server: &str) -> bool {
    static WARNED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut warned = WARNED.lock();
    if warned.len() >= MAX_WARNED {
        warned.clear();
    }
    warned.insert(server.to_owned())
}

/// Returns a client certificate with its chain, and its key (both PEM).
///
/// # Errors
/// Fails if one cannot be read, or if the key is not that of the certificate.
fn certified_key(chain: &[u8], key: &[u8]) -> Result<CertifiedKey, SettingsError> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(chain).collect();
    let chain = chain.map_err(SettingsError::CertificateEncoding)?;
    if chain.is_empty() {
        return Err(SettingsError::NoCertificate);
    }
    let key = private_key(key).map_err(SettingsError::KeyEncoding)?;
    certificates::certified_key(chain, &key).map_err(|error| match error {
        Error::InvalidCertificate(wrong) => SettingsError::Certificate(wrong),
        other => SettingsError::Key(other),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A certificate of version 1 and its key (SEC 1, behind its parameters), as `openssl x509 -req` and `openssl ecparam` make them.
    const VERSION_1: &[u8] = include_bytes!("tls/version_1.pem");

    #[test]
    fn a_certificate_of_version_1_is_shown_with_its_key_and_no_other() {
        let certified = certified_key(VERSION_1, VERSION_1).unwrap();
        assert!(certificates::key_of_version_1(&certified.cert[0]).is_some());
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
            (
                b"-----BEGIN CERTIFICATE-----\nAAAA\n",
                VERSION_1,
                "client-certificate: a PEM section has no end",
            ),
        ] {
            assert_eq!(certified_key(chain, key).err().unwrap().to_string(), reason);
        }
    }

    #[test]
    fn a_trusted_certificate_of_a_server_is_no_authority_for_others() {
        use rustls_pki_types::{ServerName, UnixTime};

        let of = |name: &str, is_ca: rcgen::IsCa| {
            let mut parameters = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap();
            parameters.distinguished_name.push(rcgen::DnType::CommonName, name);
            parameters.is_ca = is_ca;
            parameters
        };
        let key = || rcgen::KeyPair::generate().unwrap();
        for (is_ca, issues) in [
            (rcgen::IsCa::ExplicitNoCa, false),
            (rcgen::IsCa::NoCa, false),
            (rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained), true),
        ] {
            let (parameters, own_key) = (of("a.example.com", is_ca), key());
            let own = parameters.self_signed(&own_key).unwrap().der().clone();
            let issuer = rcgen::Issuer::new(parameters, own_key);
            let other = of("b.example.com", rcgen::IsCa::NoCa).signed_by(&key(), &issuer).unwrap();
            let Ok(Trust::Authorities(trusted)) = Trust::from_certificates(std::slice::from_ref(&own)) else {
                panic!("it is a certificate");
            };
            let verifier = trusted.verifier().unwrap();
            let verify = |certificate: &CertificateDer<'_>, name: &'static str| {
                let name = ServerName::try_from(name).unwrap();
                verifier.verify_server_cert(certificate, &[], &name, &[], UnixTime::now()).map(drop)
            };
            assert_eq!(verify(&own, "a.example.com"), Ok(()));
            let found = verify(other.der(), "b.example.com");
            assert_eq!(found.is_ok(), issues, "{found:?}");
        }
    }

    #[test]
    fn a_server_is_warned_of_once() {
        assert!(is_first_warning("https://a.example.com") && is_first_warning("https://b.example.com"));
        assert!(!is_first_warning("https://a.example.com"));
    }
}
