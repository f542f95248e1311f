//! The server's identity towards extension servers, which trust the names of users in its requests.
//!
//! It is given by the operator, or generated together with an authority of its own.

use std::path::Path;
use std::sync::Arc;

use certificates::certified_key;
use rustls::sign;

use crate::options::Options;

use super::authority::{Authority, AuthorityPurpose};
use super::issue::Purpose;
use super::{FileFault, KeyDirectory, Moment, Notes, PkiError, certificates, private_key, read};

/// The identity, and the generated authority.
pub(super) struct FrontProxy {
    /// The certificate and its key; `None` if the operator has configured front proxies, but no identity of this server.
    pub(super) identity: Option<Arc<sign::CertifiedKey>>,
    /// The generated authority (PEM); `None` if the operator has configured his own.
    pub(super) generated_ca_pem: Option<String>,
}

/// Whether the identity is generated: unless the operator has configured it, or the authorities of front proxies. Those name
/// the headers that extension servers trust, which a generated identity cannot know.
pub(crate) fn generates_proxy_identity(options: &Options) -> bool {
    options.aggregator.proxy_client_cert_file.is_none()
        && options.authentication.front_proxy.requestheader_client_ca_file.is_none()
}

// === impl FrontProxy ===

impl FrontProxy {
    /// Reads the identity that the options name, or reads or generates one in this directory.
    pub(super) fn ensure(
        options: &Options,
        directory: &KeyDirectory,
        now: Moment,
        notes: &mut Notes,
    ) -> Result<Self, PkiError> {
        let given = &options.aggregator;
        if let (Some(certificate), Some(key)) = (&given.proxy_client_cert_file, &given.proxy_client_key_file)
        {
            let identity = certified(certificate, &read(certificate)?, key, &read(key)?)?;
            return Ok(Self { identity: Some(identity), generated_ca_pem: None });
        }
        if !generates_proxy_identity(options) {
            return Ok(Self { identity: None, generated_ca_pem: None });
        }
        let authority = Authority::ensure_for(AuthorityPurpose::FrontProxy, directory, now, notes)?;
        let leaf = authority.ensure_leaf(directory, &Purpose::FrontProxy, now, notes)?;
        let path = directory.path();
        let identity = certified(path, &leaf.certificate_pem, path, &leaf.key_pem)?;
        Ok(Self { identity: Some(identity), generated_ca_pem: Some(authority.trusted_pem) })
    }
}

/// Returns a certificate with its key, which must belong to it.
fn certified(
    certificate_path: &Path,
    certificate_pem: &str,
    key_path: &Path,
    key_pem: &str,
) -> Result<Arc<sign::CertifiedKey>, PkiError> {
    let chain = certificates(certificate_path, certificate_pem)?;
    let key = private_key(key_path, key_pem)?;
    certified_key(chain, &key).map(Arc::new).map_err(|error| FileFault::Tls(error).in_file(key_path))
}
