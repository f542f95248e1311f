//! Reading of kubeconfigs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use registry_core::codec::{Limits, yaml};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{Credentials, bearer, secret};

/// What a kubeconfig says about a service.
pub(super) struct Loaded {
    pub(super) server: String,
    pub(super) server_name: Option<String>,
    pub(super) tls: Arc<ClientConfig>,
    pub(super) credentials: Credentials,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Kubeconfig {
    #[serde(default)]
    current_context: String,
    #[serde(default)]
    clusters: Vec<Named<Cluster>>,
    #[serde(default)]
    contexts: Vec<Named<Context>>,
    #[serde(default)]
    users: Vec<Named<User>>,
}

/// An entry of one of the lists, whose content is in a field named after the list.
#[derive(Deserialize)]
struct Named<T> {
    name: String,
    #[serde(alias = "cluster", alias = "context", alias = "user")]
    content: T,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct Cluster {
    server: String,
    certificate_authority: Option<PathBuf>,
    certificate_authority_data: Option<String>,
    insecure_skip_tls_verify: bool,
    tls_server_name: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Context {
    cluster: String,
    user: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct User {
    client_certificate: Option<PathBuf>,
    client_certificate_data: Option<String>,
    client_key: Option<PathBuf>,
    client_key_data: Option<String>,
    token: Option<String>,
    #[serde(rename = "tokenFile")]
    token_file: Option<PathBuf>,
    username: Option<String>,
    password: Option<String>,
    exec: Option<serde_json::Value>,
    #[serde(rename = "auth-provider")]
    auth_provider: Option<serde_json::Value>,
}

/// Reads a kubeconfig.
pub(super) fn load(path: &Path) -> Result<Loaded, String> {
    let text = std::fs::read(path).map_err(|error| error.to_string())?;
    let decoded = yaml::decode(&text, &Limits::default()).map_err(|error| error.to_string())?;
    let config: Kubeconfig = from_value(decoded.value)?;
    let context = find(config.contexts, &config.current_context, "context")?;
    let cluster = find(config.clusters, &context.cluster, "cluster")?;
    let user =
        if context.user.is_empty() { User::default() } else { find(config.users, &context.user, "user")? };
    if cluster.insecure_skip_tls_verify {
        return Err("insecure-skip-tls-verify is not supported: the service could be anyone".to_owned());
    }
    let directory = path.parent().unwrap_or_else(|| Path::new(""));
    let roots = roots(&cluster, directory)?;
    Ok(Loaded {
        tls: tls(roots, &user, directory)?,
        credentials: credentials(&user, directory)?,
        server: cluster.server,
        server_name: cluster.tls_server_name,
    })
}

fn from_value<T: DeserializeOwned>(value: serde_json::Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(|error| error.to_string())
}

fn find<T>(entries: Vec<Named<T>>, name: &str, what: &str) -> Result<T, String> {
    let found = entries.into_iter().find(|entry| entry.name == name);
    found.map(|entry| entry.content).ok_or_else(|| format!("there is no {what} {name:?}"))
}

/// Returns the content that is in the file itself, or in another one.
fn content(data: Option<&str>, file: Option<&Path>, directory: &Path) -> Result<Option<Vec<u8>>, String> {
    if let Some(data) = data.filter(|data| !data.is_empty()) {
        return STANDARD.decode(data.trim()).map(Some).map_err(|error| error.to_string());
    }
    let Some(file) = file.filter(|file| !file.as_os_str().is_empty()) else { return Ok(None) };
    let path = directory.join(file);
    std::fs::read(&path).map(Some).map_err(|error| format!("{}: {error}", path.display()))
}

fn roots(cluster: &Cluster, directory: &Path) -> Result<RootCertStore, String> {
    let data = cluster.certificate_authority_data.as_deref();
    let mut roots = RootCertStore::empty();
    match content(data, cluster.certificate_authority.as_deref(), directory)? {
        Some(bundle) => {
            roots.add_parsable_certificates(CertificateDer::pem_slice_iter(&bundle).flatten());
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    if roots.is_empty() { Err("there is no certificate authority".to_owned()) } else { Ok(roots) }
}

fn tls(roots: RootCertStore, user: &User, directory: &Path) -> Result<Arc<ClientConfig>, String> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots);
    let certificate =
        content(user.client_certificate_data.as_deref(), user.client_certificate.as_deref(), directory)?;
    let key = content(user.client_key_data.as_deref(), user.client_key.as_deref(), directory)?;
    let mut config = match (certificate, key) {
        (None, None) => builder.with_no_client_auth(),
        (Some(certificate), Some(key)) => {
            let chain: Vec<CertificateDer<'_>> = CertificateDer::pem_slice_iter(&certificate)
                .map(|one| one.map(CertificateDer::into_owned))
                .collect::<Result<_, _>>()
                .map_err(|error| format!("client certificate: {error}"))?;
            let key = PrivateKeyDer::from_pem_slice(&key).map_err(|error| format!("client key: {error}"))?;
            builder.with_client_auth_cert(chain, key).map_err(|error| error.to_string())?
        }
        _ => return Err("a client certificate and its key are needed together".to_owned()),
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn credentials(user: &User, directory: &Path) -> Result<Credentials, String> {
    if user.exec.is_some() || user.auth_provider.is_some() {
        return Err("credential plug-ins (exec, auth-provider) are not supported".to_owned());
    }
    if let Some(file) = &user.token_file {
        return Ok(Credentials::TokenFile(directory.join(file)));
    }
    if let Some(token) = &user.token {
        return bearer(token).map(Credentials::Fixed);
    }
    if let Some(name) = &user.username {
        let pair = format!("{name}:{}", user.password.as_deref().unwrap_or_default());
        return secret(&format!("Basic {}", STANDARD.encode(pair))).map(Credentials::Fixed);
    }
    Ok(Credentials::None)
}
