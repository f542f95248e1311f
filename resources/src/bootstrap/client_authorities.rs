//! The ConfigMap by which extension API servers verify the clients of this one, and its front proxies.
//!
//! Kubernetes concept: `pkg/controlplane/controller/clusterauthenticationtrust`.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::RwLock;
use registry_core::api::{Object, StatusError};
use registry_core::registry::InstalledApi;
use serde_json::{Map, Value, json};

use super::{PostStartHook, ServerFacts};
use crate::api::core::configmaps::ConfigMaps;
use crate::support::system_writer::SystemWriter;

const NAME: &str = "extension-apiserver-authentication";
const NAMESPACE: &str = "kube-system";
const CLIENT_CA: &str = "client-ca-file";
const PROXY_CA: &str = "requestheader-client-ca-file";
const END_OF_CERTIFICATE: &str = "-----END CERTIFICATE-----";

/// The settings of this server's authentication that extension API servers read. The certificates may change while the
/// server runs; clones see the change.
#[derive(Clone, Debug, Default)]
pub struct PublishedAuthentication {
    proxy_names: Arc<FrontProxyNames>,
    authorities: Arc<RwLock<Authorities>>,
}

/// The names of front proxies, and of the headers in which they name the user.
#[derive(Clone, Debug, Default)]
pub struct FrontProxyNames {
    /// Common names of accepted proxies; empty for all.
    pub allowed_names: Vec<String>,
    /// Headers that name the user.
    pub username_headers: Vec<String>,
    /// Headers that give the user's uid.
    pub uid_headers: Vec<String>,
    /// Headers that name the user's groups.
    pub group_headers: Vec<String>,
    /// Prefixes of headers with further attributes.
    pub extra_headers_prefix: Vec<String>,
}

/// Certificate authorities (PEM).
#[derive(Clone, Debug, Default)]
struct Authorities {
    clients: String,
    proxies: String,
}

/// Time between two looks: the authorities are published soon after they change.
const PERIOD: Duration = Duration::from_secs(15);

/// The hook.
pub(super) struct ClientAuthorities {
    config_maps: SystemWriter,
    published: PublishedAuthentication,
}

// === impl PublishedAuthentication ===

impl PublishedAuthentication {
    /// Creates the data about these proxies, still without certificates.
    pub fn new(proxy_names: FrontProxyNames) -> Self {
        Self { proxy_names: Arc::new(proxy_names), authorities: Arc::default() }
    }

    /// Sets the authorities (PEM) of clients and of front proxies; an empty text is none.
    pub fn set(&self, clients: &str, proxies: &str) {
        let authorities = Authorities { clients: clients.to_owned(), proxies: proxies.to_owned() };
        *self.authorities.write() = authorities;
    }

    /// Returns the data that also has what other servers of the cluster have written, who may trust other authorities
    /// and proxies.
    fn combined_with(&self, present: &Map<String, Value>) -> Map<String, Value> {
        let own = self.authorities.read().clone();
        let mut data = present.clone();
        let before = |key: &str| present.get(key).and_then(Value::as_str).unwrap_or_default();
        let clients = all_certificates(before(CLIENT_CA), &own.clients);
        data.insert(CLIENT_CA.to_owned(), clients.into());
        if own.proxies.is_empty() {
            return data;
        }
        let proxies = all_certificates(before(PROXY_CA), &own.proxies);
        data.insert(PROXY_CA.to_owned(), proxies.into());
        let names = &*self.proxy_names;
        for (key, own, is_optional) in [
            ("requestheader-allowed-names", &names.allowed_names, false),
            ("requestheader-username-headers", &names.username_headers, false),
            ("requestheader-uid-headers", &names.uid_headers, true),
            ("requestheader-group-headers", &names.group_headers, false),
            ("requestheader-extra-headers-prefix", &names.extra_headers_prefix, false),
        ] {
            let mut all: Vec<String> = serde_json::from_str(before(key)).unwrap_or_default();
            let missing: Vec<&String> = own.iter().filter(|name| !all.contains(name)).collect();
            all.extend(missing.into_iter().cloned().collect::<Vec<_>>());
            if !(is_optional && all.is_empty()) {
                data.insert(key.to_owned(), json!(all).to_string().into());
            }
        }
        data
    }
}

// === impl ClientAuthorities ===

impl ClientAuthorities {
    pub(super) fn new(installed: &InstalledApi, server: &ServerFacts) -> Option<Self> {
        let config_maps = SystemWriter::for_resource::<ConfigMaps>(installed)?;
        Some(Self { config_maps, published: server.authentication.clone() })
    }
}

#[async_trait]
impl PostStartHook for ClientAuthorities {
    fn name(&self) -> &'static str {
        "start-cluster-authentication-info-controller"
    }

    fn period(&self) -> Option<Duration> {
        Some(PERIOD)
    }

    async fn run(&self) -> Result<(), StatusError> {
        let wanted = json!({
            "metadata": { "name": NAME, "namespace": NAMESPACE },
            "data": self.published.combined_with(&Map::new()),
        });
        let wanted = Object::from_value(wanted).unwrap_or_default();
        self.config_maps
            .ensure_one(wanted, |present, _| {
                let none = Map::new();
                let before = present.get(&["data"]).and_then(Value::as_object).unwrap_or(&none);
                let all = self.published.combined_with(before);
                (all != *before).then(|| {
                    let mut object = present.clone();
                    object.set(&["data"], all.into());
                    object
                })
            })
            .await
    }
}

/// Returns the certificates of a bundle, followed by the certificates of another bundle that the first does not have.
fn all_certificates(before: &str, own: &str) -> String {
    if before.is_empty() {
        return own.to_owned();
    }
    let missing = certificates(own).filter(|certificate| !before.contains(*certificate));
    missing.fold(before.to_owned(), |all, certificate| all + certificate + "\n")
}

/// Returns the certificates in a PEM text, without surrounding white space.
fn certificates(pem: &str) -> impl Iterator<Item = &str> {
    pem.split_inclusive(END_OF_CERTIFICATE)
        .map(str::trim)
        .filter(|certificate| certificate.ends_with(END_OF_CERTIFICATE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate(letter: &str) -> String {
        format!("-----BEGIN CERTIFICATE-----\n{letter}\n{END_OF_CERTIFICATE}\n")
    }

    #[test]
    fn entries_that_other_servers_wrote_stay() {
        let names = FrontProxyNames {
            allowed_names: vec!["front-proxy-client".to_owned()],
            username_headers: vec!["X-Remote-User".to_owned()],
            ..FrontProxyNames::default()
        };
        let published = PublishedAuthentication::new(names);
        published.set(&certificate("a"), &certificate("p"));
        let first = published.combined_with(&Map::new());
        assert_eq!(first["requestheader-allowed-names"], r#"["front-proxy-client"]"#);
        assert_eq!(first["requestheader-group-headers"], "[]");
        assert_eq!(first["requestheader-client-ca-file"], certificate("p"));
        assert!(!first.contains_key("requestheader-uid-headers"));

        let other = PublishedAuthentication::new(FrontProxyNames {
            allowed_names: vec!["other".to_owned(), "front-proxy-client".to_owned()],
            ..FrontProxyNames::default()
        });
        other.set(&certificate("b"), &certificate("p"));
        let both = other.combined_with(&first);
        assert_eq!(both["requestheader-allowed-names"], r#"["front-proxy-client","other"]"#);
        assert_eq!(both["client-ca-file"], certificate("a") + &certificate("b"));
        assert_eq!(both["requestheader-client-ca-file"], certificate("p"));
        assert_eq!(other.combined_with(&both), both);

        let without_proxies = PublishedAuthentication::default();
        without_proxies.set(&certificate("a"), "");
        assert_eq!(without_proxies.combined_with(&Map::new()).len(), 1);
        assert_eq!(without_proxies.combined_with(&both), both);
    }
}
