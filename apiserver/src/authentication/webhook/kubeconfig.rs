//! The kubeconfig that says where a webhook is, and how the server authenticates to it.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use registry_core::codec::{Limits, yaml};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::Value;

use crate::webhooks::fetch::ClientIdentity;

/// What a kubeconfig says about the server of its current context.
pub(super) struct Kubeconfig {
    pub(super) url: String,
    /// PEM; the authorities of the system if it is empty.
    pub(super) authority: Vec<u8>,
    pub(super) server_name: Option<String>,
    pub(super) identity: Option<ClientIdentity>,
    pub(super) secret: Option<Secret>,
}

/// What proves the server's identity in a header.
pub(super) enum Secret {
    Token(String),
    /// Read for each request, because it is renewed.
    TokenFile(PathBuf),
    Basic(String, String),
}

/// A cluster or a user of the file.
struct Section<'f> {
    fields: &'f Value,
    directory: &'f Path,
}

// === impl Kubeconfig ===

impl Kubeconfig {
    /// Reads a file.
    ///
    /// # Errors
    /// Fails if it cannot be read, or says something that is not supported.
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let failed = |reason: String| format!("the kubeconfig {:?} cannot be used: {reason}", path.display());
        let bytes = fs::read(path).map_err(|error| failed(error.to_string()))?;
        let directory = path.parent().unwrap_or(Path::new("."));
        Self::parse(&bytes, directory).map_err(failed)
    }

    fn parse(bytes: &[u8], directory: &Path) -> Result<Self, String> {
        let file = yaml::decode(bytes, &Limits::default()).map_err(|error| error.to_string())?.value;
        let context = text(&file, "current-context").ok_or("it has no current-context")?;
        let context = named(&file, "contexts", "context", context)?;
        let cluster = text(context, "cluster").ok_or("its context names no cluster")?;
        let cluster = Section { fields: named(&file, "clusters", "cluster", cluster)?, directory };
        let user = match text(context, "user") {
            Some(name) => named(&file, "users", "user", name)?,
            None => &Value::Null,
        };
        let user = Section { fields: user, directory };
        cluster.refuse(&["proxy-url"])?;
        user.refuse(&["exec", "auth-provider"])?;
        if cluster.fields.get("insecure-skip-tls-verify") == Some(&Value::Bool(true)) {
            return Err(
                "insecure-skip-tls-verify is not supported: give the certificate-authority".to_owned()
            );
        }
        let url = text(cluster.fields, "server").ok_or("its cluster has no server")?;
        if !url.starts_with("https://") {
            return Err(format!("the server {url:?} is no https URL"));
        }
        Ok(Self {
            url: url.to_owned(),
            authority: cluster.data("certificate-authority")?.unwrap_or_default(),
            server_name: text(cluster.fields, "tls-server-name").map(str::to_owned),
            identity: user.identity()?,
            secret: user.secret(),
        })
    }
}

// === impl Section ===

impl Section<'_> {
    fn refuse(&self, fields: &[&str]) -> Result<(), String> {
        match fields.iter().find(|field| self.fields.get(field).is_some_and(|value| !value.is_null())) {
            Some(field) => Err(format!("{field} is not supported")),
            None => Ok(()),
        }
    }

    fn path(&self, field: &str) -> Option<PathBuf> {
        text(self.fields, field).map(|path| self.directory.join(path))
    }

    /// Returns the content of `field-data`, or of the file that `field` names.
    fn data(&self, field: &str) -> Result<Option<Vec<u8>>, String> {
        let data_field = format!("{field}-data");
        if let Some(data) = text(self.fields, &data_field) {
            let decoded = BASE64_STANDARD.decode(data).map_err(|error| format!("{data_field}: {error}"))?;
            return Ok(Some(decoded));
        }
        let Some(path) = self.path(field) else { return Ok(None) };
        fs::read(&path).map(Some).map_err(|error| format!("{}: {error}", path.display()))
    }

    fn identity(&self) -> Result<Option<ClientIdentity>, String> {
        let (chain, key) = match (self.data("client-certificate")?, self.data("client-key")?) {
            (Some(chain), Some(key)) => (chain, key),
            (None, None) => return Ok(None),
            _ => return Err("client-certificate and client-key need each other".to_owned()),
        };
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&chain).collect();
        let chain = chain.map_err(|error| format!("client-certificate: {error}"))?;
        let key = PrivateKeyDer::from_pem_slice(&key).map_err(|error| format!("client-key: {error}"))?;
        Ok(Some((chain, key)))
    }

    fn secret(&self) -> Option<Secret> {
        // As in client-go, the file takes precedence.
        if let Some(path) = self.path("tokenFile") {
            return Some(Secret::TokenFile(path));
        }
        if let Some(token) = text(self.fields, "token") {
            return Some(Secret::Token(token.to_owned()));
        }
        let name = text(self.fields, "username")?;
        Some(Secret::Basic(name.to_owned(), text(self.fields, "password").unwrap_or_default().to_owned()))
    }
}

// === impl Secret ===

impl Secret {
    /// Returns the value of the `Authorization` header.
    pub(super) fn header_value(&self) -> Result<String, String> {
        match self {
            Self::Token(token) => Ok(format!("Bearer {token}")),
            Self::TokenFile(path) => {
                let token =
                    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
                Ok(format!("Bearer {}", token.trim()))
            }
            Self::Basic(name, password) => {
                Ok(format!("Basic {}", BASE64_STANDARD.encode(format!("{name}:{password}"))))
            }
        }
    }
}

/// Returns a field that is a text and not empty.
fn text<'v>(value: &'v Value, field: &str) -> Option<&'v str> {
    value.get(field)?.as_str().filter(|text| !text.is_empty())
}

/// Returns the entry of a list with this name.
fn named<'f>(file: &'f Value, list: &str, field: &str, name: &str) -> Result<&'f Value, String> {
    let entries = file.get(list).and_then(Value::as_array).into_iter().flatten();
    let found = entries.into_iter().find(|entry| text(entry, "name") == Some(name));
    found.and_then(|entry| entry.get(field)).ok_or_else(|| format!("it has no {field} {name:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "
current-context: c
contexts: [{name: c, context: {cluster: s, user: u}}]
clusters: [{name: s, cluster: {server: 'https://auth.example.com/review', tls-server-name: other}}]
users: [{name: u, user: {token: secret}}]
";

    fn parse(file: &str) -> Result<Kubeconfig, String> {
        Kubeconfig::parse(file.as_bytes(), Path::new("/nowhere"))
    }

    #[test]
    fn the_current_context_says_where_and_who() {
        let read = parse(FILE).unwrap();
        assert_eq!(read.url, "https://auth.example.com/review");
        assert_eq!(read.server_name.as_deref(), Some("other"));
        assert_eq!(read.secret.unwrap().header_value().unwrap(), "Bearer secret");
        let basic = parse(&FILE.replace("token: secret", "username: a, password: b")).unwrap();
        assert_eq!(basic.secret.unwrap().header_value().unwrap(), "Basic YTpi");
    }

    #[test]
    fn what_is_not_supported_is_refused() {
        for (from, to, named) in [
            ("https:", "http:", "no https"),
            ("current-context: c", "current-context: d", "context \"d\""),
            ("token: secret", "exec: {command: x}", "exec"),
            ("token: secret", "client-certificate-data: eA==", "need each other"),
            ("tls-server-name: other", "insecure-skip-tls-verify: true", "insecure-skip-tls-verify"),
            ("tls-server-name: other", "certificate-authority: ca.crt", "/nowhere/ca.crt"),
            ("tls-server-name: other", "proxy-url: 'http://x'", "proxy-url"),
        ] {
            let refused = parse(&FILE.replace(from, to)).map(|_| ()).expect_err(to);
            assert!(refused.contains(named), "{refused}");
        }
    }
}
