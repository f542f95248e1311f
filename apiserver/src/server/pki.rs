//! Keys and certificates: made on the first start, used again on later ones, renewed before they expire.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use crate::options::Options;
use crate::proxy::KubeletIdentity;

mod issue;
#[cfg(test)]
mod tests;

use issue::{Authority, Purpose};

/// Everything the server shows, and whom it believes.
pub struct Identities {
    /// The certificate the server shows, with its chain.
    pub serving_chain: Vec<CertificateDer<'static>>,
    /// Its key.
    pub serving_key: PrivateKeyDer<'static>,
    /// By which clients know the server: certificate authorities as PEM.
    pub server_ca_pem: String,
    /// The authorities whose client certificates are believed.
    pub client_authorities: Vec<CertificateDer<'static>>,
    /// The same as PEM.
    pub client_ca_pem: String,
    /// The administrator.
    pub admin: CertifiedKey,
}

/// A certificate and its key, as PEM.
#[derive(Clone)]
pub struct CertifiedKey {
    /// The certificate.
    pub certificate_pem: String,
    /// The private key.
    pub key_pem: String,
}

/// Keys and certificates are of no use. Not retryable, but for a full disk.
#[derive(Debug, thiserror::Error)]
pub enum PkiError {
    /// A file cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's words.
        source: std::io::Error,
    },
    /// A file or directory cannot be written.
    #[error("cannot write {path}: {source}")]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// The system's words.
        source: std::io::Error,
    },
    /// A file holds no certificate or key.
    #[error("{path} cannot be used: {reason}")]
    Unusable {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// A certificate cannot be made.
    #[error("cannot make a certificate: {0}")]
    Issue(#[from] rcgen::Error),
}

// === impl Identities ===

impl Identities {
    /// The identities that the options ask for: read where there are any, made and written where not.
    pub fn ensure(options: &Options) -> Result<Self, PkiError> {
        let directory = options.certificate_directory();
        create_private_directory(&directory)?;
        let authority = Authority::ensure(&directory)?;
        let admin = authority.ensure_leaf(&directory, "admin", &Purpose::Administrator)?;

        let serving = &options.serving;
        let (certificate_pem, key_pem, server_ca_pem) =
            if let (Some(certificate), Some(key)) = (&serving.tls_cert_file, &serving.tls_private_key_file) {
                let chain = read(certificate)?;
                (chain.clone(), read(key)?, chain)
            } else {
                let purpose = Purpose::serving(serving.bind_address, serving.service_cluster_ip_range);
                let leaf = authority.ensure_leaf(&directory, "apiserver", &purpose)?;
                (leaf.certificate_pem, leaf.key_pem, authority.certificate_pem.clone())
            };
        let certificate_path =
            serving.tls_cert_file.clone().unwrap_or_else(|| directory.join("apiserver.crt"));
        let key_path =
            serving.tls_private_key_file.clone().unwrap_or_else(|| directory.join("apiserver.key"));

        let mut client_authorities = certificates(&directory.join("ca.crt"), &authority.certificate_pem)?;
        let mut client_ca_pem = authority.certificate_pem.clone();
        if let Some(path) = &options.authentication.client_ca_file {
            let others = read(path)?;
            client_authorities.extend(certificates(path, &others)?);
            client_ca_pem = format!("{}\n{others}", client_ca_pem.trim_end());
        }
        let serving_key = PrivateKeyDer::from_pem_slice(key_pem.as_bytes())
            .map_err(|error| PkiError::Unusable { path: key_path, reason: error.to_string() })?;
        Ok(Self {
            serving_chain: certificates(&certificate_path, &certificate_pem)?,
            serving_key,
            server_ca_pem,
            client_authorities,
            client_ca_pem,
            admin,
        })
    }
}

/// How the server shows itself to kubelets: as the options say, else by a certificate of the generated authority.
pub(crate) fn kubelet_identity(options: &Options) -> Result<KubeletIdentity, PkiError> {
    let (given, directory) = (&options.kubelet, options.certificate_directory());
    let authorities = match &given.kubelet_certificate_authority {
        Some(path) => certificates(path, &read(path)?)?,
        None => Vec::new(),
    };
    let shown = if let (Some(certificate), Some(key)) =
        (&given.kubelet_client_certificate, &given.kubelet_client_key)
    {
        CertifiedKey { certificate_pem: read(certificate)?, key_pem: read(key)? }
    } else {
        Authority::ensure(&directory)?.ensure_leaf(
            &directory,
            "apiserver-kubelet-client",
            &Purpose::KubeletClient,
        )?
    };
    let path = given.kubelet_client_certificate.clone().unwrap_or(directory);
    let key = PrivateKeyDer::from_pem_slice(shown.key_pem.as_bytes())
        .map_err(|error| PkiError::Unusable { path: path.clone(), reason: error.to_string() })?;
    Ok(KubeletIdentity { chain: certificates(&path, &shown.certificate_pem)?, key, authorities })
}

/// The certificates in a PEM text; at least one.
pub(crate) fn certificates(path: &Path, pem: &str) -> Result<Vec<CertificateDer<'static>>, PkiError> {
    let unusable = |reason: String| PkiError::Unusable { path: path.to_owned(), reason };
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    match found {
        Ok(found) if found.is_empty() => Err(unusable("it holds no certificate".to_owned())),
        Ok(found) => Ok(found),
        Err(error) => Err(unusable(error.to_string())),
    }
}

/// Makes a directory (and those above it) that only its owner can look into. One that exists stays as it is.
pub(crate) fn create_private_directory(path: &Path) -> Result<(), PkiError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(|source| PkiError::Write { path: path.to_owned(), source })
}

/// Writes a file only its owner can read, whole or not at all.
pub(crate) fn write_private(path: &Path, text: &str) -> Result<(), PkiError> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}.tmp", std::process::id()));
    let temporary = PathBuf::from(temporary);
    let written = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&temporary)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| fs::rename(&temporary, path));
    written.map_err(|source| PkiError::Write { path: path.to_owned(), source })
}

fn read(path: &Path) -> Result<String, PkiError> {
    fs::read_to_string(path).map_err(|source| PkiError::Read { path: path.to_owned(), source })
}
