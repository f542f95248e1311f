//! The kubeconfig that names a webhook.
//!
//! Kubernetes concept: [kubeconfig](https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/).

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use registry_core::codec::{Limits, yaml};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The webhook that a kubeconfig names, and the credentials for it.
#[derive(Debug, Default)]
pub(super) struct WebhookConfig {
    /// The URL.
    pub(super) server: String,
    /// The authorities of the webhook's certificate (PEM); empty for those of the system.
    pub(super) authorities: Vec<u8>,
    /// Whether the webhook's certificate is not verified.
    pub(super) is_insecure: bool,
    /// The name in the certificate, if it is not the URL's.
    pub(super) server_name: Option<String>,
    /// The certificate (PEM) and key that are presented to the webhook.
    pub(super) identity: Option<(Vec<u8>, Vec<u8>)>,
    /// The credentials in requests.
    pub(super) credentials: Credentials,
}

/// Credentials in the header of a request.
#[derive(Debug, Default)]
pub(super) enum Credentials {
    /// None.
    #[default]
    None,
    /// A bearer token.
    Token(String),
    /// A file with a bearer token, which is read for each request, because it may be renewed.
    TokenFile(PathBuf),
    /// A user's name and password.
    Basic(String, String),
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Kubeconfig {
    #[serde(default)]
    current_context: String,
    #[serde(default)]
    clusters: Vec<Named>,
    #[serde(default)]
    contexts: Vec<Named>,
    #[serde(default)]
    users: Vec<Named>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
    #[serde(flatten)]
    content: serde_json::Map<String, Value>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Context {
    cluster: String,
    user: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct Cluster {
    server: String,
    certificate_authority: Option<PathBuf>,
    certificate_authority_data: Option<String>,
    insecure_skip_tls_verify: bool,
    tls_server_name: Option<String>,
    proxy_url: Option<String>,
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
    exec: Option<Value>,
    auth_provider: Option<Value>,
}

/// Reads a kubeconfig. Relative paths in it are below its directory.
///
/// # Errors
/// Fails with a reason if it cannot be read, or needs something that this server does not have.
pub(super) fn read(path: &Path) -> Result<WebhookConfig, String> {
    let failed = |reason: String| format!("{}: {reason}", path.display());
    let bytes = std::fs::read(path).map_err(|error| failed(error.to_string()))?;
    let directory = path.parent().unwrap_or_else(|| Path::new(""));
    parse(&bytes, directory).map_err(failed)
}

fn parse(bytes: &[u8], directory: &Path) -> Result<WebhookConfig, String> {
    let decoded = yaml::decode(bytes, &Limits::default()).map_err(|error| error.0)?;
    let config: Kubeconfig = serde_json::from_value(decoded.value).map_err(|error| error.to_string())?;
    if config.current_context.is_empty() {
        return Err("invalid configuration: no current-context is set".to_owned());
    }
    let context: Context = named(&config.contexts, &config.current_context, "context")?;
    let cluster: Cluster = named(&config.clusters, &context.cluster, "cluster")?;
    let user =
        if context.user.is_empty() { User::default() } else { named(&config.users, &context.user, "user")? };
    let unsupported = [
        ("proxy-url", cluster.proxy_url.is_some()),
        ("exec", user.exec.is_some()),
        ("auth-provider", user.auth_provider.is_some()),
    ];
    if let Some((name, _)) = unsupported.into_iter().find(|(_, is_set)| *is_set) {
        return Err(format!("invalid configuration: {name} is not supported for webhooks of this server"));
    }
    let files = Files { directory };
    let authorities = files
        .content(cluster.certificate_authority.as_deref(), cluster.certificate_authority_data.as_deref())?;
    let certificate =
        files.content(user.client_certificate.as_deref(), user.client_certificate_data.as_deref())?;
    let key = files.content(user.client_key.as_deref(), user.client_key_data.as_deref())?;
    let identity = match (certificate, key) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (None, None) => None,
        _ => {
            return Err(
                "invalid configuration: client-certificate and client-key must be set together".to_owned()
            );
        }
    };
    if cluster.insecure_skip_tls_verify && authorities.is_some() {
        return Err("specifying a root certificates file with the insecure flag is not allowed".to_owned());
    }
    Ok(WebhookConfig {
        server: cluster.server,
        authorities: authorities.unwrap_or_default(),
        is_insecure: cluster.insecure_skip_tls_verify,
        server_name: cluster.tls_server_name.filter(|name| !name.is_empty()),
        identity,
        credentials: match (user.token, user.token_file, user.username) {
            (_, Some(file), _) => Credentials::TokenFile(directory.join(file)),
            (Some(token), _, _) => Credentials::Token(token),
            (_, _, Some(name)) => Credentials::Basic(name, user.password.unwrap_or_default()),
            _ => Credentials::None,
        },
    })
}

/// Returns the content of the entry with this name, in the field that is called as its kind.
fn named<T: DeserializeOwned>(entries: &[Named], name: &str, kind: &str) -> Result<T, String> {
    let entry = entries.iter().find(|entry| entry.name == name);
    let content = entry.and_then(|entry| entry.content.get(kind));
    let content = content.ok_or_else(|| format!("invalid configuration: {kind} {name:?} does not exist"))?;
    serde_json::from_value(content.clone()).map_err(|error| format!("{kind} {name:?}: {error}"))
}

/// The directory of relative paths.
struct Files<'p> {
    directory: &'p Path,
}

// === impl Files ===

impl Files<'_> {
    /// Returns the decoded data, or else the content of the file.
    fn content(&self, file: Option<&Path>, data: Option<&str>) -> Result<Option<Vec<u8>>, String> {
        if let Some(data) = data.filter(|data| !data.is_empty()) {
            return STANDARD.decode(data).map(Some).map_err(|error| error.to_string());
        }
        let Some(file) = file.filter(|file| !file.as_os_str().is_empty()) else { return Ok(None) };
        let path = self.directory.join(file);
        let read = std::fs::read(&path);
        read.map(Some).map_err(|error| format!("unable to read {}: {error}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "\
apiVersion: v1
kind: Config
clusters:
- name: audit
  cluster: {server: 'https://audit.example.com/events', certificate-authority-data: Q0E=, tls-server-name: other}
users:
- name: server
  user: {token: t}
contexts:
- name: here
  context: {cluster: audit, user: server}
current-context: here
";

    #[test]
    fn the_current_context_names_webhook_and_credentials() {
        let config = parse(CONFIG.as_bytes(), Path::new("")).unwrap();
        assert_eq!(config.server, "https://audit.example.com/events");
        assert_eq!(
            (config.authorities.as_slice(), config.server_name.as_deref()),
            (&b"CA"[..], Some("other"))
        );
        assert!(matches!(config.credentials, Credentials::Token(token) if token == "t"));
    }

    #[test]
    fn what_cannot_be_used_is_refused() {
        for (from, to, reason) in [
            ("current-context: here", "", "no current-context"),
            ("current-context: here", "current-context: there", "context \"there\" does not exist"),
            ("cluster: audit", "cluster: zork", "cluster \"zork\" does not exist"),
            ("{token: t}", "{exec: {command: x}}", "exec is not supported"),
            ("{token: t}", "{client-certificate-data: Q0E=}", "must be set together"),
            ("Q0E=", "'?'", "Invalid symbol"),
            ("tls-server-name: other", "insecure-skip-tls-verify: true", "insecure flag"),
        ] {
            let changed = CONFIG.replace(from, to);
            let failure = parse(changed.as_bytes(), Path::new("")).unwrap_err();
            assert!(failure.contains(reason), "{failure}");
        }
        assert!(read(Path::new("/nowhere")).unwrap_err().contains("/nowhere"));
    }
}
