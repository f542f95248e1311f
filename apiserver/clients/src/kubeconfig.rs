//! The reader of kubeconfigs.
//!
//! Kubernetes concept: [kubeconfig](https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/), `clientcmd`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use registry_core::codec::{Limits, yaml};
use registry_core::context::UserInfo;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::egress::Route;
use super::error::SettingsError;
use super::settings::{Authorization, ClientSettings, Content, Credentials, TrustSource};
use super::{headers, tls};

/// A kubeconfig.
pub struct Kubeconfig {
    current_context: String,
    clusters: BTreeMap<String, Cluster>,
    contexts: BTreeMap<String, Context>,
    users: BTreeMap<String, User>,
    /// The directory of relative paths.
    directory: PathBuf,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case", default, expecting = "a kubeconfig")]
struct File {
    #[serde(rename = "apiVersion")]
    api_version: Option<String>,
    kind: Option<String>,
    current_context: Option<String>,
    clusters: Option<Vec<Named>>,
    contexts: Option<Vec<Named>>,
    users: Option<Vec<Named>>,
}

/// An entry of one of the lists, whose content is in a field that is called as its kind.
#[derive(Deserialize)]
struct Named {
    name: String,
    #[serde(flatten)]
    content: Map<String, Value>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Context {
    cluster: Option<String>,
    user: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct Cluster {
    server: Option<String>,
    certificate_authority: Option<PathBuf>,
    certificate_authority_data: Option<String>,
    insecure_skip_tls_verify: Option<bool>,
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
    #[serde(rename = "as")]
    impersonated: Option<String>,
    as_uid: Option<String>,
    as_groups: Option<Vec<String>>,
    as_user_extra: Option<BTreeMap<String, Vec<String>>>,
    exec: Option<Value>,
    auth_provider: Option<Value>,
}

// === impl Kubeconfig ===

impl Kubeconfig {
    /// Reads a kubeconfig. Relative paths in it are below its directory.
    ///
    /// # Errors
    /// Fails with a reason that names the file.
    pub fn read(path: &Path) -> Result<Self, SettingsError> {
        let directory = path.parent().unwrap_or_else(|| Path::new(""));
        let read = std::fs::read(path).map_err(SettingsError::from);
        read.and_then(|bytes| Self::parse(&bytes, directory)).map_err(|error| error.in_kubeconfig(path))
    }

    fn parse(bytes: &[u8], directory: &Path) -> Result<Self, SettingsError> {
        let decoded = yaml::decode(bytes, &Limits::default())?;
        let file: File = serde_json::from_value(decoded.value)?;
        let is_other = |given: &Option<String>, known: &str| given.as_ref().is_some_and(|it| it != known);
        if is_other(&file.kind, "Config") || is_other(&file.api_version, "v1") {
            return Err(SettingsError::OtherKind);
        }
        Ok(Self {
            current_context: file.current_context.unwrap_or_default(),
            clusters: by_name(file.clusters, "cluster")?,
            contexts: by_name(file.contexts, "context")?,
            users: by_name(file.users, "user")?,
            directory: directory.to_owned(),
        })
    }

    /// Returns the settings of a client of the current context's cluster, with the credentials of its user.
    ///
    /// # Errors
    /// Fails if there is no such context, cluster or user, or if one has a field that this server does not have.
    pub fn settings(&self) -> Result<ClientSettings, SettingsError> {
        if self.current_context.is_empty() {
            return Err(SettingsError::NoCurrentContext);
        }
        let context = self.contexts.get(&self.current_context);
        let context = context.ok_or_else(|| SettingsError::ContextNotFound(self.current_context.clone()))?;
        let cluster_name = context.cluster.as_deref().unwrap_or_default();
        let cluster = self.clusters.get(cluster_name);
        let cluster = cluster.ok_or_else(|| SettingsError::ClusterNotFound(cluster_name.to_owned()))?;
        let server = cluster.server.clone().filter(|server| !server.is_empty());
        let server = server.ok_or_else(|| SettingsError::ServerNotFound(cluster_name.to_owned()))?;
        let trust =
            cluster.trust(&self.directory).map_err(|error| invalid("cluster", cluster_name, error))?;
        let mut credentials = match context.user.as_deref().filter(|user| !user.is_empty()) {
            Some(user) => {
                self.credentials(user)?.ok_or_else(|| SettingsError::UserNotFound(user.to_owned()))?
            }
            None => Credentials::default(),
        };
        let has_tls_settings = !matches!(trust, TrustSource::System) || credentials.certificate.is_some();
        let server = with_scheme(&server, has_tls_settings);
        if server.starts_with("http://") {
            // As in client-go.
            tracing::warn!("no credentials are sent to {server:?}, because the connection is not encrypted");
            credentials = Credentials { impersonation: credentials.impersonation, ..Credentials::default() };
        }
        let server_name = cluster.tls_server_name.clone().filter(|name| !name.is_empty());
        Ok(ClientSettings { server, trust, server_name, credentials, route: Route::default() })
    }

    /// Returns the credentials of a user of the file; `None` if it has no such user.
    ///
    /// # Errors
    /// Fails if they cannot be used.
    pub fn credentials(&self, user: &str) -> Result<Option<Credentials>, SettingsError> {
        let Some(found) = self.users.get(user) else { return Ok(None) };
        found.credentials(&self.directory).map(Some).map_err(|error| invalid("user", user, error))
    }

    /// Returns the credentials for a host and port: those of the user that is named after them, with a star for the first
    /// parts of a host, and without the port 443. Otherwise those of the user `*`, or of the current context.
    ///
    /// Kubernetes concept: `NewDefaultAuthenticationInfoResolver`.
    ///
    /// # Errors
    /// Fails if they cannot be used.
    pub fn credentials_for(&self, target: &str) -> Result<Option<Credentials>, SettingsError> {
        let without_port = target.strip_suffix(":443");
        let targets = [Some(target), without_port].into_iter().flatten();
        let named = targets.flat_map(names_of).find(|name| self.users.contains_key(name));
        match named {
            Some(user) => self.credentials(&user),
            None => Ok(None),
        }
    }

    /// Returns the credentials for hosts that no user is named after.
    ///
    /// # Errors
    /// Fails if they cannot be used.
    pub fn default_credentials(&self) -> Result<Option<Credentials>, SettingsError> {
        if self.users.contains_key("*") {
            return self.credentials("*");
        }
        let context = self.contexts.get(&self.current_context);
        match context.and_then(|context| context.user.as_deref()) {
            Some(user) => self.credentials(user),
            None => Ok(None),
        }
    }

    /// Checks the credentials of all users.
    ///
    /// # Errors
    /// Fails if those of one cannot be used.
    pub fn check_users(&self) -> Result<(), SettingsError> {
        self.users.keys().try_for_each(|user| self.credentials(user).map(drop))
    }
}

impl ClientSettings {
    /// Returns the settings of the current context of a kubeconfig.
    ///
    /// # Errors
    /// Fails with a reason that names the file.
    pub fn from_kubeconfig(path: &Path) -> Result<Self, SettingsError> {
        let settings = Kubeconfig::read(path)?.settings();
        settings.map_err(|error| error.in_kubeconfig(path))
    }
}

/// Returns the names of users that are for a host: the host itself, then with a star for more and more of its first parts.
fn names_of(host: &str) -> impl Iterator<Item = String> {
    let suffixes = host.match_indices('.').filter_map(|(at, _)| host.get(at..));
    std::iter::once(host.to_owned()).chain(suffixes.map(|suffix| format!("*{suffix}")))
}

fn invalid(kind: &'static str, name: &str, error: SettingsError) -> SettingsError {
    SettingsError::Entry { kind, name: name.to_owned(), source: Box::new(error) }
}

/// Returns the URL of a server that may be given without a scheme.
fn with_scheme(server: &str, has_tls_settings: bool) -> String {
    match (server.contains("://"), has_tls_settings) {
        (true, _) => server.to_owned(),
        (false, true) => format!("https://{server}"),
        (false, false) => format!("http://{server}"),
    }
}

fn by_name<T: DeserializeOwned>(
    entries: Option<Vec<Named>>,
    kind: &'static str,
) -> Result<BTreeMap<String, T>, SettingsError> {
    let mut found = BTreeMap::new();
    for mut entry in entries.unwrap_or_default() {
        let content = entry.content.remove(kind).filter(|content| !content.is_null());
        let content = serde_json::from_value(content.unwrap_or_else(|| Map::new().into()));
        let content = content.map_err(|error| invalid(kind, &entry.name, error.into()))?;
        if found.contains_key(&entry.name) {
            return Err(SettingsError::Duplicate { kind, name: entry.name });
        }
        found.insert(entry.name, content);
    }
    Ok(found)
}

/// Returns the data, or else the file. `None` if there is neither.
fn content(
    field: &'static str,
    data: Option<&str>,
    file: Option<&Path>,
    directory: &Path,
) -> Result<Option<Content>, SettingsError> {
    if let Some(data) = data.filter(|data| !data.is_empty()) {
        let data: String = data.chars().filter(|character| !matches!(character, '\r' | '\n')).collect();
        let decoded = STANDARD.decode(data).map_err(|source| SettingsError::Base64 { field, source })?;
        return Ok(Some(Content::Inline(decoded)));
    }
    let Some(file) = file.filter(|file| !file.as_os_str().is_empty()) else { return Ok(None) };
    let content = Content::File(directory.join(file));
    content.read().map_err(|error| SettingsError::Field { field, source: Box::new(error) })?;
    Ok(Some(content))
}

// === impl Cluster ===

impl Cluster {
    fn trust(&self, directory: &Path) -> Result<TrustSource, SettingsError> {
        if self.proxy_url.as_ref().is_some_and(|url| !url.is_empty()) {
            return Err(SettingsError::ProxyUrl);
        }
        let data = self.certificate_authority_data.as_deref();
        let authorities =
            content("certificate-authority", data, self.certificate_authority.as_deref(), directory)?;
        match (authorities, self.insecure_skip_tls_verify.unwrap_or_default()) {
            (Some(_), true) => Err(SettingsError::AuthoritiesOfInsecureServer),
            (Some(authorities), false) => Ok(TrustSource::Authorities(authorities)),
            (None, true) => {
                tls::warn_unverified(self.server.as_deref().unwrap_or("the server"));
                Ok(TrustSource::Any)
            }
            (None, false) => Ok(TrustSource::System),
        }
    }
}

// === impl User ===

impl User {
    fn credentials(&self, directory: &Path) -> Result<Credentials, SettingsError> {
        for (field, is_set) in
            [("exec", self.exec.is_some()), ("auth-provider", self.auth_provider.is_some())]
        {
            if is_set {
                return Err(SettingsError::CredentialPlugin(field));
            }
        }
        Ok(Credentials {
            certificate: self.certificate(directory)?,
            authorization: self.authorization(directory)?,
            impersonation: self.impersonation()?,
        })
    }

    fn certificate(&self, directory: &Path) -> Result<Option<(Content, Content)>, SettingsError> {
        let (data, file) = (self.client_certificate_data.as_deref(), self.client_certificate.as_deref());
        let certificate = content("client-certificate", data, file, directory)?;
        let (data, file) = (self.client_key_data.as_deref(), self.client_key.as_deref());
        let key = content("client-key", data, file, directory)?;
        match (certificate, key) {
            (Some(certificate), Some(key)) => Ok(Some((certificate, key))),
            (None, None) => Ok(None),
            _ => Err(SettingsError::CertificateOrKeyAlone),
        }
    }

    fn authorization(&self, directory: &Path) -> Result<Authorization, SettingsError> {
        fn text(text: Option<&String>) -> Option<String> {
            text.filter(|text| !text.is_empty()).cloned()
        }
        let file = self.token_file.as_ref().filter(|file| !file.as_os_str().is_empty());
        let (token, name, password) =
            (text(self.token.as_ref()), text(self.username.as_ref()), text(self.password.as_ref()));
        let has_password = name.is_some() || password.is_some();
        if token.is_some() && has_password {
            return Err(SettingsError::SeveralMethods);
        }
        // As in client-go, the file takes precedence over a token beside it.
        Ok(match (file, token) {
            (Some(file), _) => Authorization::TokenFile(directory.join(file)),
            (None, Some(token)) => Authorization::Token(token),
            (None, None) if has_password => {
                Authorization::Basic(name.unwrap_or_default(), password.unwrap_or_default())
            }
            (None, None) => Authorization::None,
        })
    }

    /// Returns the headers by which this user acts as another one.
    fn impersonation(&self) -> Result<HeaderMap, SettingsError> {
        let user = UserInfo {
            name: self.impersonated.clone().unwrap_or_default(),
            uid: self.as_uid.clone().unwrap_or_default(),
            groups: self.as_groups.clone().unwrap_or_default(),
            extra: self.as_user_extra.clone().unwrap_or_default().into_iter().collect(),
        };
        if !user.name.is_empty() {
            return headers::impersonation(&user);
        }
        if user == UserInfo::default() {
            return Ok(HeaderMap::new());
        }
        Err(SettingsError::ImpersonatedWithoutName)
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

    fn settings(config: &str) -> Result<ClientSettings, SettingsError> {
        Kubeconfig::parse(config.as_bytes(), Path::new("/nowhere"))?.settings()
    }

    fn authorization(config: &str) -> String {
        let settings = settings(config).unwrap();
        let headers = settings.headers(&settings.contents().unwrap()).unwrap();
        headers.get("authorization").map_or_else(String::new, |value| value.to_str().unwrap().to_owned())
    }

    #[test]
    fn the_current_context_says_where_and_who() {
        let read = settings(CONFIG).unwrap();
        assert_eq!(read.server, "https://audit.example.com/events");
        assert_eq!(read.server_name.as_deref(), Some("other"));
        assert!(matches!(read.trust, TrustSource::Authorities(Content::Inline(bundle)) if bundle == b"CA"));
        assert_eq!(authorization(CONFIG), "Bearer t");
        assert_eq!(authorization(&CONFIG.replace("token: t", "username: a, password: b")), "Basic YTpi");
        let data_and_file = CONFIG.replace("tls-server", "certificate-authority: missing, tls-server");
        assert!(settings(&data_and_file).is_ok(), "data takes precedence over a file");
        let acting = settings(&CONFIG.replace("token: t", "token: t, as: jane, as-groups: [a, b]")).unwrap();
        assert_eq!(acting.credentials.impersonation["impersonate-user"], "jane");
        assert_eq!(acting.credentials.impersonation.get_all("impersonate-group").iter().count(), 2);
        let nobody = settings(&CONFIG.replace(", user: server", "")).unwrap();
        assert!(matches!(nobody.credentials.authorization, Authorization::None));
    }

    #[test]
    fn credentials_are_sent_over_encrypted_connections_only() {
        assert_eq!(authorization(&CONFIG.replace("https:", "http:")), "");
        let with_authority = CONFIG.replace("https://audit.example.com/events", "audit.example.com");
        assert_eq!(settings(&with_authority).unwrap().server, "https://audit.example.com");
        let without = with_authority.replace("certificate-authority-data: Q0E=, ", "");
        assert_eq!(settings(&without).unwrap().server, "http://audit.example.com");
    }

    #[test]
    fn unusable_configurations_are_refused() {
        for (from, to, reason) in [
            ("kind: Config", "kind: Pod", "not a Config of version v1"),
            ("current-context: here", "", "no current-context"),
            (
                "current-context: here",
                "current-context: there",
                "context was not found for specified context: there",
            ),
            ("cluster: audit", "cluster: zork", "cluster \"zork\" does not exist"),
            ("user: server", "user: zork", "auth info \"zork\" does not exist"),
            ("server: 'https://audit.example.com/events', ", "", "no server found for cluster \"audit\""),
            ("tls-server-name", "proxy-url: 'http://x', tls-server-name", "proxy-url is not supported"),
            ("{token: t}", "{exec: {command: x}}", "exec is not supported: give a tokenFile"),
            ("{token: t}", "{auth-provider: {name: x}}", "auth-provider is not supported"),
            ("{token: t}", "{client-certificate-data: Q0E=}", "must be set together"),
            ("{token: t}", "{client-certificate: c.crt}", "unable to read /nowhere/c.crt"),
            ("{token: t}", "{token: t, username: u}", "only one is allowed"),
            ("{token: t}", "{as-uid: u}", "without impersonating a user"),
            ("{token: t}", "{token: [t]}", "user \"server\": invalid type"),
            ("- name: server\n", "- name: server\n- name: server\n", "duplicate name \"server\""),
            ("Q0E=", "'?'", "certificate-authority-data: Invalid symbol"),
            ("certificate-authority-data: Q0E=", "certificate-authority: ca.crt", "/nowhere/ca.crt"),
            ("tls-server-name: other", "insecure-skip-tls-verify: true", "insecure flag"),
        ] {
            let refused = settings(&CONFIG.replace(from, to)).err().expect(to).to_string();
            assert!(refused.contains(reason), "{refused}");
        }
        let missing = ClientSettings::from_kubeconfig(Path::new("/nowhere")).err().unwrap().to_string();
        assert!(missing.contains("/nowhere"), "{missing}");
    }

    #[test]
    fn users_are_found_by_host() {
        let file = "
current-context: c
contexts: [{name: c, context: {user: of-context}}]
users:
- {name: 'hook.example.com:8443', user: {token: exact}}
- {name: '*.example.com:8443', user: {token: star-with-port}}
- {name: hook.example.com, user: {token: without-port}}
- {name: '*.svc', user: {token: services}}
- {name: of-context, user: {token: of-context}}
";
        let token_for = |file: &str, target: &str| {
            let config = Kubeconfig::parse(file.as_bytes(), Path::new("")).unwrap();
            let found = config.credentials_for(target).unwrap();
            match found.or_else(|| config.default_credentials().unwrap())?.authorization {
                Authorization::Token(token) => Some(token),
                _ => None,
            }
        };
        for (target, token) in [
            ("hook.example.com:8443", "exact"),
            ("other.example.com:8443", "star-with-port"),
            ("a.b.example.com:8443", "star-with-port"),
            ("hook.example.com:443", "without-port"),
            ("hook.default.svc:443", "services"),
            ("hook.default.svc:444", "of-context"),
            ("127.0.0.1:443", "of-context"),
        ] {
            assert_eq!(token_for(file, target).as_deref(), Some(token), "{target}");
        }
        let with_star = format!("{file}- {{name: '*', user: {{token: all}}}}\n");
        assert_eq!(token_for(&with_star, "127.0.0.1:443").as_deref(), Some("all"));
        assert_eq!(token_for("users: []", "127.0.0.1:443"), None);
    }
}
