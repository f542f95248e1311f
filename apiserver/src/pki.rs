//! Keys and certificates: created on the first start, reused on later ones, renewed before they expire.
//!
//! Modules depend only on modules below them in this list:
//!
//! | module | contents |
//! |---|---|
//! | `front_proxy` | the server's identity towards extension servers |
//! | `client` | client certificates for `apiserver kubeconfig` |
//! | `service` | certificates between a main server and an extension server |
//! | `issue` | certificates of the authorities: issued, and reissued when they have to be |
//! | `authority` | the certificate authorities of one installation |
//! | `parameters` | the parameters that all certificates have |
//! | `validity` | validity and renewal |
//! | `named` | certificates for some host names |
//! | `directory` | the directory of keys, and how it is written |
//! | `notes` | notes on the files, for operators |
//! | `error` | files that cannot be used |

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clients::tls::Trust;
use registry_core::durable_file::{self, Durability};
use rustls::sign;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use x509_parser::prelude::{FromDer as _, X509Certificate};

use crate::options::Options;
use crate::proxy::KubeletIdentity;

mod authority;
mod client;
mod directory;
mod error;
mod front_proxy;
mod issue;
mod named;
mod notes;
mod parameters;
mod service;
#[cfg(test)]
mod tests;
mod validity;

pub(crate) use authority::DirectoryGuard;
use authority::{AUTHORITY_PREFIX, Authority};
pub(crate) use client::issue_client;
pub(crate) use directory::{KeyDirectory, write_surviving};
pub(crate) use error::FileFault;
pub use error::{PkiError, UnusableFile};
use front_proxy::FrontProxy;
pub(crate) use front_proxy::generates_proxy_identity;
use issue::Purpose;
pub(crate) use named::NamedIdentity;
pub(crate) use notes::Notes;
pub(crate) use service::{issue_front_proxy, issue_serving};
pub(crate) use validity::{Moment, Validity, now};

/// The name in the generated certificate of the front proxy, which extension servers accept.
pub(crate) const PROXY_CLIENT: &str = "front-proxy-client";

/// The server's certificates, and the authorities that it trusts.
pub struct Identities {
    /// The serving certificate, with its chain.
    pub serving_chain: Vec<CertificateDer<'static>>,
    /// Its key.
    pub serving_key: PrivateKeyDer<'static>,
    /// The certificate authorities (PEM) that clients verify the server with.
    pub server_ca_pem: String,
    /// The authorities whose client certificates are accepted.
    pub client_authorities: Vec<CertificateDer<'static>>,
    /// The authorities (PEM) of clients that extension servers accept: those of the operator, or else the server's own.
    pub client_ca_pem: String,
    /// The authorities of front proxies.
    pub proxy_authorities: Vec<CertificateDer<'static>>,
    /// The authorities (PEM) of front proxies that extension servers trust: the same, or the generated authority of this
    /// server's own identity towards them, whose certificates this server does not accept itself.
    pub proxy_ca_pem: String,
    /// The identity that this server presents to extension servers.
    pub(crate) proxy_identity: Option<Arc<sign::CertifiedKey>>,
    /// Certificates for some host names.
    pub(crate) named: Vec<NamedIdentity>,
    /// The administrator's certificate.
    pub admin: CertifiedKey,
    /// Notes on the files, for operators.
    pub(crate) notes: Notes,
}

/// A certificate and its key, as PEM.
#[derive(Clone)]
pub struct CertifiedKey {
    /// The certificate.
    pub certificate_pem: String,
    /// The private key.
    pub key_pem: String,
}

// === impl Identities ===

impl Identities {
    /// Returns the identities for these options: existing ones are read, missing ones and those due for
    /// renewal are created and written.
    pub fn ensure(options: &Options) -> Result<Self, PkiError> {
        Self::ensure_at(options, now())
    }

    /// The same as [`ensure`](Self::ensure), at this time.
    pub(crate) fn ensure_at(options: &Options, now: Moment) -> Result<Self, PkiError> {
        let keys = KeyDirectory::from_options(options);
        let directory = keys.path();
        keys.create()?;
        let guard = DirectoryGuard::acquire(directory)?;
        let mut notes = Notes::default();
        let authority = Authority::ensure(&keys, now, &mut notes)?;
        let admin = authority.ensure_leaf(&keys, &Purpose::Administrator, now, &mut notes)?;

        let serving = &options.serving;
        let given = serving.tls_cert_file.clone().zip(serving.tls_private_key_file.clone());
        let given = given.or_else(|| placed_pair(options, directory));
        let (certificate_pem, key_pem, server_ca_pem) = if let Some((certificate, key)) = &given {
            let chain = read(certificate)?;
            (chain.clone(), read(key)?, chain)
        } else {
            let purpose = Purpose::serving(serving.bind_address, serving.service_cluster_ip_range.primary());
            let leaf = authority.ensure_leaf(&keys, &purpose, now, &mut notes)?;
            (leaf.certificate_pem, leaf.key_pem, authority.trusted_pem.clone())
        };
        let front_proxy = FrontProxy::ensure(options, &keys, now, &mut notes)?;
        if generates_kubelet_identity(options) {
            authority.ensure_leaf(&keys, &Purpose::KubeletClient, now, &mut notes)?;
        }
        drop(guard);
        notes.log_made(directory);
        let own = (directory.join("apiserver.crt"), directory.join("apiserver.key"));
        let (certificate_path, key_path) = match given {
            Some(given) => given,
            None => own,
        };
        let mut client_authorities = certificates(&directory.join("ca.crt"), &authority.trusted_pem)?;
        let mut client_ca_pem = authority.trusted_pem.clone();
        if let Some(path) = &options.authentication.client_ca_file {
            let others = read(path)?;
            client_authorities.extend(certificates(path, &others)?);
            client_ca_pem = others;
        }
        let (proxy_authorities, given_proxy_ca_pem) = front_proxy_authorities(options)?;
        let proxy_ca_pem = front_proxy.generated_ca_pem.unwrap_or(given_proxy_ca_pem);
        let named = options.tls.tls_sni_cert_key.iter().map(NamedIdentity::read).collect::<Result<_, _>>()?;
        let serving_key = private_key(&key_path, &key_pem)?;
        let serving_chain = certificates(&certificate_path, &certificate_pem)?;
        check_pair(&serving_chain, &serving_key, &certificate_path, &key_path)?;
        Ok(Self {
            serving_chain,
            serving_key,
            server_ca_pem,
            client_authorities,
            client_ca_pem,
            proxy_authorities,
            proxy_ca_pem,
            proxy_identity: front_proxy.identity,
            named,
            admin,
            notes,
        })
    }
}

/// Returns the pair that an operator has put into `--cert-dir` under the names of the generated one, as Kubernetes' test
/// environments do: it is served, and never replaced.
fn placed_pair(options: &Options, directory: &Path) -> Option<(PathBuf, PathBuf)> {
    options.serving.cert_dir.as_ref()?;
    let pair = (directory.join("apiserver.crt"), directory.join("apiserver.key"));
    let leaf = CertificateDer::from_pem_slice(&fs::read(&pair.0).ok()?).ok()?;
    let (_, parsed) = X509Certificate::from_der(&leaf).ok()?;
    let mut names = parsed.issuer().iter_common_name();
    let is_own = names.any(|name| name.as_str().is_ok_and(|name| name.starts_with(AUTHORITY_PREFIX)));
    (!is_own && pair.1.exists()).then_some(pair)
}

/// Returns the authorities of front proxies, which must not be those of clients unless proxies are named: every client
/// could act as a proxy.
fn front_proxy_authorities(options: &Options) -> Result<(Vec<CertificateDer<'static>>, String), PkiError> {
    let proxies = &options.authentication.front_proxy;
    let Some(path) = &proxies.requestheader_client_ca_file else { return Ok((Vec::new(), String::new())) };
    let pem = read(path)?;
    let authorities = certificates(path, &pem)?;
    if let Some(clients) = &options.authentication.client_ca_file
        && proxies.requestheader_allowed_names.is_empty()
        && certificates(clients, &read(clients)?)?.iter().any(|certificate| authorities.contains(certificate))
    {
        return Err(FileFault::Overlapping.in_file(path));
    }
    Ok((authorities, pem))
}

/// Fails if the key does not belong to the certificate.
fn check_pair(
    chain: &[CertificateDer<'static>],
    key: &PrivateKeyDer<'static>,
    certificate_path: &Path,
    key_path: &Path,
) -> Result<(), PkiError> {
    match certificates::certified_key(chain.to_vec(), key) {
        Ok(_) => Ok(()),
        Err(rustls::Error::InconsistentKeys(_)) => {
            Err(FileFault::OtherCertificate(certificate_path.to_owned()).in_file(key_path))
        }
        Err(rustls::Error::InvalidCertificate(wrong)) => {
            Err(FileFault::Certificate(wrong).in_file(certificate_path))
        }
        Err(error) => Err(FileFault::Tls(error).in_file(key_path)),
    }
}

/// Checks the certificates and keys that the options name. Creates none.
///
/// # Errors
/// Fails if a file cannot be used.
pub(crate) fn check_given(options: &Options) -> Result<(), PkiError> {
    let serving = &options.serving;
    if let (Some(certificate), Some(key)) = (&serving.tls_cert_file, &serving.tls_private_key_file) {
        let chain = certificates(certificate, &read(certificate)?)?;
        let parsed = private_key(key, &read(key)?)?;
        check_pair(&chain, &parsed, certificate, key)?;
    }
    let authorities =
        [&options.authentication.client_ca_file, &options.kubelet.kubelet_certificate_authority];
    for path in authorities.into_iter().flatten() {
        certificates(path, &read(path)?)?;
    }
    front_proxy_authorities(options)?;
    options.tls.tls_sni_cert_key.iter().try_for_each(|files| NamedIdentity::read(files).map(|_| ()))
}

/// Whether the identity towards kubelets is generated.
fn generates_kubelet_identity(options: &Options) -> bool {
    let given = &options.kubelet;
    given.kubelet_client_certificate.is_none() || given.kubelet_client_key.is_none()
}

/// Returns the identity towards kubelets: that of the options, else a certificate of the generated authority.
pub(crate) fn kubelet_identity(options: &Options, now: Moment) -> Result<KubeletIdentity, PkiError> {
    let given = &options.kubelet;
    let keys = KeyDirectory::from_options(options);
    let authorities = match &given.kubelet_certificate_authority {
        Some(path) => certificates(path, &read(path)?)?,
        None => Vec::new(),
    };
    let shown = if let (Some(certificate), Some(key)) =
        (&given.kubelet_client_certificate, &given.kubelet_client_key)
    {
        CertifiedKey { certificate_pem: read(certificate)?, key_pem: read(key)? }
    } else {
        keys.create()?;
        let _guard = DirectoryGuard::acquire(keys.path())?;
        let mut notes = Notes::default();
        let authority = Authority::ensure(&keys, now, &mut notes)?;
        authority.ensure_leaf(&keys, &Purpose::KubeletClient, now, &mut notes)?
    };
    let path = given.kubelet_client_certificate.clone().unwrap_or_else(|| keys.path().to_owned());
    let key_path = given.kubelet_client_key.as_ref().unwrap_or(&path);
    let key = private_key(key_path, &shown.key_pem)?;
    Ok(KubeletIdentity { chain: certificates(&path, &shown.certificate_pem)?, key, authorities })
}

/// The authorities of the other servers of the cluster, and what trusts them.
pub(crate) type PeerAuthorities = (Vec<CertificateDer<'static>>, Trust);

/// Returns the authorities of the other servers of the cluster, if the options name them.
pub(crate) fn peer_authorities(options: &Options) -> Result<Option<PeerAuthorities>, PkiError> {
    let Some(path) = &options.peers.peer_ca_file else { return Ok(None) };
    let found = certificates(path, &read(path)?)?;
    let trust = Trust::from_certificates(&found).map_err(|error| FileFault::Tls(error).in_file(path))?;
    Ok(Some((found, trust)))
}

/// Returns the certificates in a PEM text; at least one.
pub(crate) fn certificates(path: &Path, pem: &str) -> Result<Vec<CertificateDer<'static>>, PkiError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    match found {
        Ok(found) if found.is_empty() => Err(FileFault::NoCertificate.in_file(path)),
        Ok(found) => Ok(found),
        Err(error) => Err(FileFault::Pem(error).in_file(path)),
    }
}

/// Returns the first private key in a PEM text.
pub(super) fn private_key(path: &Path, pem: &str) -> Result<PrivateKeyDer<'static>, PkiError> {
    certificates::private_key(pem.as_bytes()).map_err(|error| FileFault::Key(error).in_file(path))
}

/// Creates a directory (and its parents) that only its owner can access. An existing one is unchanged.
pub(crate) fn create_private_directory(path: &Path) -> Result<(), PkiError> {
    durable_file::create_directory(path).map_err(|source| PkiError::Write { path: path.to_owned(), source })
}

/// Writes a file that only its owner can read, atomically.
pub(crate) fn write_private(path: &Path, text: &str) -> Result<(), PkiError> {
    write_surviving(Durability::PowerLoss, path, text)
}

fn read(path: &Path) -> Result<String, PkiError> {
    fs::read_to_string(path).map_err(|source| PkiError::Read { path: path.to_owned(), source })
}

/// Reads a generated key, and removes the permission of others to do so.
fn read_private(path: &Path, notes: &mut Notes) -> Result<String, PkiError> {
    match durable_file::restrict(path) {
        Ok(false) => {}
        Ok(true) => notes.warn(format!("others could read {}; now they cannot", path.display())),
        // Its reader finds that it is missing.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => notes.warn(format!("others can read {}: {error}", path.display())),
    }
    read(path)
}
