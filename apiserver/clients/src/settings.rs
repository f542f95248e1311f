//! The settings of a client: a server, the authorities of its certificate, and the credentials for it.
//!
//! Contents that are in files are read again when the files change (`client`).

use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};

use super::egress::Route;
use super::error::SettingsError;
use super::tls::{self, Trust};

/// A server and how a client proves itself to it.
///
/// Kubernetes concept: `rest.Config`.
#[derive(Clone)]
pub struct ClientSettings {
    /// The URL. Paths of requests are below its path.
    pub server: String,
    /// The authorities of the server's certificate.
    pub trust: TrustSource,
    /// The name in the server's certificate, if it is not the URL's.
    pub server_name: Option<String>,
    /// The client's proof of its identity.
    pub credentials: Credentials,
    /// The way to the server.
    pub route: Route,
}

/// The source of the authorities that a server's certificate is checked against.
#[derive(Clone, Default)]
pub enum TrustSource {
    /// The authorities of the system.
    #[default]
    System,
    /// These authorities (PEM).
    Authorities(Content),
    /// Nothing.
    Any,
}

/// A user's credentials.
#[derive(Clone, Default)]
pub struct Credentials {
    /// The client certificate with its chain, and its key (PEM).
    pub certificate: Option<(Content, Content)>,
    /// The header of each request.
    pub authorization: Authorization,
    /// The headers by which the client acts as another user.
    pub impersonation: HeaderMap,
}

/// The `Authorization` header of each request.
#[derive(Clone, Default)]
pub enum Authorization {
    /// None.
    #[default]
    None,
    /// A bearer token.
    Token(String),
    /// A file with a bearer token.
    TokenFile(PathBuf),
    /// A user's name and password.
    Basic(String, String),
}

/// Bytes, or the file with them.
#[derive(Clone, PartialEq, Eq)]
pub enum Content {
    /// The bytes.
    Inline(Vec<u8>),
    /// The file.
    File(PathBuf),
}

/// The contents of all files at one time.
#[derive(PartialEq, Eq)]
pub(super) struct Contents {
    tls: TlsContents,
    token: Option<Vec<u8>>,
}

#[derive(PartialEq, Eq)]
struct TlsContents {
    authorities: Option<Vec<u8>>,
    certificate: Option<(Vec<u8>, Vec<u8>)>,
}

// === impl ClientSettings ===

impl ClientSettings {
    /// Returns the settings of a server with a certificate of the system's authorities, for a client without credentials.
    pub fn anonymous(server: impl Into<String>) -> Self {
        let (trust, credentials) = (TrustSource::default(), Credentials::default());
        Self { server: server.into(), trust, server_name: None, credentials, route: Route::default() }
    }

    /// Sets the way to the server.
    #[must_use]
    pub fn through(self, route: Route) -> Self {
        Self { route, ..self }
    }

    /// Whether something is in a file, which may change.
    pub(super) fn has_files(&self) -> bool {
        let is_file = |content: &Content| matches!(content, Content::File(_));
        let Credentials { certificate, authorization, .. } = &self.credentials;
        matches!(&self.trust, TrustSource::Authorities(content) if is_file(content))
            || matches!(authorization, Authorization::TokenFile(_))
            || certificate.as_ref().is_some_and(|(chain, key)| is_file(chain) || is_file(key))
    }

    /// Reads all files.
    ///
    /// # Errors
    /// Fails if one cannot be read.
    pub(super) fn contents(&self) -> Result<Contents, SettingsError> {
        let authorities = match &self.trust {
            TrustSource::Authorities(content) => Some(content.read()?),
            TrustSource::System | TrustSource::Any => None,
        };
        let certificate = match &self.credentials.certificate {
            Some((chain, key)) => Some((chain.read()?, key.read()?)),
            None => None,
        };
        let token = match &self.credentials.authorization {
            Authorization::TokenFile(path) => Some(Content::File(path.clone()).read()?),
            _ => None,
        };
        Ok(Contents { tls: TlsContents { authorities, certificate }, token })
    }

    /// Returns the TLS configuration of these contents.
    ///
    /// # Errors
    /// Fails if a certificate or a key cannot be used.
    pub(super) fn tls(
        &self,
        contents: &Contents,
        protocols: &[&[u8]],
    ) -> Result<Arc<rustls::ClientConfig>, SettingsError> {
        let trust = match (&self.trust, &contents.tls.authorities) {
            (TrustSource::Any, _) => Trust::Any,
            (_, Some(bundle)) => Trust::from_bundle(bundle)?,
            (_, None) => Trust::system(),
        };
        let shown = match &contents.tls.certificate {
            Some((chain, key)) => Some(tls::shown_certificate(chain, key)?),
            None => None,
        };
        tls::client_config(trust, shown, protocols).map_err(SettingsError::Tls)
    }

    /// Returns the headers of each request.
    ///
    /// # Errors
    /// Fails if the credentials cannot be in a header.
    pub(super) fn headers(&self, contents: &Contents) -> Result<HeaderMap, SettingsError> {
        let mut headers = self.credentials.impersonation.clone();
        let text = match (&self.credentials.authorization, &contents.token) {
            (Authorization::None, _) => return Ok(headers),
            (Authorization::Token(token), _) => format!("Bearer {token}"),
            (Authorization::TokenFile(path), token) => {
                let token = String::from_utf8_lossy(token.as_deref().unwrap_or_default()).trim().to_owned();
                if token.is_empty() {
                    return Err(SettingsError::EmptyToken(path.clone()));
                }
                format!("Bearer {token}")
            }
            (Authorization::Basic(name, password), _) => {
                format!("Basic {}", STANDARD.encode(format!("{name}:{password}")))
            }
        };
        let mut value = HeaderValue::from_str(&text).map_err(|_| SettingsError::CredentialsInHeader)?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
        Ok(headers)
    }
}

// === impl Contents ===

impl Contents {
    /// Whether connections that were made with these contents may be used with the others.
    pub(super) fn has_tls_of(&self, other: &Self) -> bool {
        self.tls == other.tls
    }
}

// === impl Content ===

impl Content {
    /// Returns the bytes.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn read(&self) -> Result<Vec<u8>, SettingsError> {
        match self {
            Self::Inline(bytes) => Ok(bytes.clone()),
            Self::File(path) => {
                std::fs::read(path).map_err(|source| SettingsError::Unreadable { path: path.clone(), source })
            }
        }
    }
}
