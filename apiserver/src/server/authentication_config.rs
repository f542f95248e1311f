//! The ConfigMap in which a main server publishes whose client certificates it accepts, and how it names users to the
//! servers behind it. It is read before the start, and followed from then on.
//!
//! Kubernetes concept: `ConfigMapCAController` and `RequestHeaderAuthRequestController` of `k8s.io/apiserver`.

use std::sync::Arc;
use std::time::Duration;

use clients::Client;
use registry_core::api::Object;
use registry_core::backoff::Backoff;
use registry_core::reflector::{Change, Ended, Sink};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::{self, PemObject as _};
use tokio::time::Instant;

use crate::authentication::{AuthorityError, AuthoritySet, ClientTrust, FrontProxyNames, HeaderNamesError};
use crate::options::{AuthenticationOptions, FrontProxyOptions};

use crate::api_server::follow::follow;
use crate::api_server::{self, ApiServerError};

/// The list that has only the ConfigMap.
const PATH: &str = "/api/v1/namespaces/kube-system/configmaps\
                    ?fieldSelector=metadata.name%3Dextension-apiserver-authentication&";
/// The ConfigMap, as messages name it.
pub(super) const NAME: &str = "kube-system/extension-apiserver-authentication";
/// Maximum time to wait for the ConfigMap at the start: a main server that starts at the same time has to write it first.
const START_TIMEOUT: Duration = Duration::from_mins(1);
/// The times before further attempts at the start.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(5));

/// The authorities that are taken from the ConfigMap because the flags do not give them.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    clients: bool,
    proxies: bool,
}

/// The parts of the authentication that follow the ConfigMap.
#[derive(Clone)]
pub(crate) struct FollowedAuthentication {
    /// The authorities of clients and front proxies.
    pub(crate) trust: Arc<ClientTrust>,
    /// The names of front proxies and of their headers.
    pub(crate) proxy_names: FrontProxyNames,
}

/// Follows the ConfigMap.
pub(crate) struct AuthenticationConfig {
    client: Client,
    applied: Applied,
}

/// Applies each state of the ConfigMap.
struct Applied {
    wanted: Wanted,
    followed: FollowedAuthentication,
}

/// Error of a ConfigMap that cannot be used. Not retryable before it changes.
#[derive(Debug, thiserror::Error)]
enum MapError {
    #[error("{key}: {error}")]
    Certificates { key: &'static str, error: pem::Error },
    #[error("{key}: {source}")]
    Names { key: &'static str, source: serde_json::Error },
    #[error(transparent)]
    HeaderNames(#[from] HeaderNamesError),
    #[error(transparent)]
    Authorities(#[from] AuthorityError),
}

// === impl AuthenticationConfig ===

impl AuthenticationConfig {
    /// Creates a follower; `None` if the flags say everything.
    pub(crate) fn new(
        client: Client,
        options: &AuthenticationOptions,
        followed: FollowedAuthentication,
    ) -> Option<Self> {
        let wanted = Wanted {
            clients: options.client_ca_file.is_none(),
            proxies: options.front_proxy.requestheader_client_ca_file.is_none(),
        };
        (wanted.clients || wanted.proxies).then_some(Self { client, applied: Applied { wanted, followed } })
    }

    /// Reads the ConfigMap once. Tries again for some time, unless failures are tolerated.
    ///
    /// # Errors
    /// Fails with the last reason.
    pub(crate) async fn read(&self, tolerates_failure: bool) -> Result<(), ApiServerError> {
        let begun = Instant::now();
        let mut backoff = BACKOFF;
        loop {
            let Err(failure) = self.list().await else { return Ok(()) };
            let text = format!("cannot read the ConfigMap {NAME} of the main server: {failure}");
            if tolerates_failure {
                tracing::warn!(
                    "{text}; until it can be read, nobody is known by a client certificate or a front proxy"
                );
                return Ok(());
            }
            if begun.elapsed() > START_TIMEOUT {
                return Err(failure);
            }
            tracing::info!("{text}; trying again");
            tokio::time::sleep(backoff.next_pause()).await;
        }
    }

    /// Follows the ConfigMap until it is dropped.
    pub(crate) async fn run(self) {
        follow(&self.client, PATH, self.applied).await;
    }

    /// Reads and applies the ConfigMap.
    async fn list(&self) -> Result<(), ApiServerError> {
        let page = api_server::page(&self.client, PATH, None).await?;
        let Some(map) = page.items.first() else { return Err(ApiServerError::NotFound(absent())) };
        self.applied.apply(map);
        Ok(())
    }
}

// === impl Applied ===

impl Applied {
    /// Trusts what the ConfigMap says. What cannot be read changes nothing.
    fn apply(&self, map: &Object) {
        if let Err(error) = self.try_apply(map) {
            tracing::error!(
                "the ConfigMap {NAME} of the main server cannot be used, and changes nothing: {error}"
            );
        }
    }

    fn try_apply(&self, map: &Object) -> Result<(), MapError> {
        let authorities = authorities(map, self.wanted)?;
        if self.wanted.proxies {
            self.followed.proxy_names.replace(&proxy_names(map)?)?;
        }
        Ok(self.followed.trust.replace_followed(authorities)?)
    }
}

impl Sink<Object, ApiServerError> for Applied {
    async fn replaced(&mut self, objects: Vec<Object>) {
        if let Some(map) = objects.first() {
            self.apply(map);
        } else {
            tracing::warn!("{}", absent());
        }
    }

    fn changed(&mut self, change: Change<Object>) {
        match change {
            Change::Added(map) | Change::Modified(map) => self.apply(&map),
            // What was trusted stays trusted: the main server writes the ConfigMap again.
            Change::Deleted(_) => {}
        }
    }

    fn failed(&mut self, ended: &Ended<ApiServerError>, _: u32) {
        if let Ended::Failed(failure) = ended {
            tracing::warn!("cannot follow the ConfigMap {NAME} of the main server, trying again: {failure}");
        }
    }
}

fn absent() -> String {
    format!("there is no ConfigMap {NAME}")
}

/// Returns the authorities in the ConfigMap.
fn authorities(map: &Object, wanted: Wanted) -> Result<AuthoritySet, MapError> {
    let of = |key: &'static str, is_wanted: bool| {
        let pem = map.get_str(&["data", key]).filter(|_| is_wanted).unwrap_or_default();
        let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
        read.map_err(|error| MapError::Certificates { key, error })
    };
    Ok(AuthoritySet {
        clients: of("client-ca-file", wanted.clients)?,
        proxies: of("requestheader-client-ca-file", wanted.proxies)?,
    })
}

/// Returns the names in the ConfigMap: lists in JSON.
fn proxy_names(map: &Object) -> Result<FrontProxyOptions, MapError> {
    let of = |key: &'static str| {
        let text = map.get_str(&["data", key]).filter(|text| !text.is_empty());
        let read: Result<Vec<String>, _> = text.map_or(Ok(Vec::new()), serde_json::from_str);
        read.map_err(|source| MapError::Names { key, source })
    };
    Ok(FrontProxyOptions {
        requestheader_client_ca_file: None,
        requestheader_allowed_names: of("requestheader-allowed-names")?,
        requestheader_username_headers: of("requestheader-username-headers")?,
        requestheader_uid_headers: of("requestheader-uid-headers")?,
        requestheader_group_headers: of("requestheader-group-headers")?,
        requestheader_extra_headers_prefix: of("requestheader-extra-headers-prefix")?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(data: &serde_json::Value) -> Object {
        Object::from_value(json!({ "data": data })).unwrap()
    }

    #[test]
    fn authorities_that_the_flags_give_are_not_taken_from_the_config_map() {
        let pem = rcgen::generate_simple_self_signed(["a".to_owned()]).unwrap().cert.pem();
        let both =
            map(&json!({ "client-ca-file": pem, "requestheader-client-ca-file": format!("{pem}{pem}") }));
        let found = |clients, proxies| {
            let set = authorities(&both, Wanted { clients, proxies }).unwrap();
            (set.clients.len(), set.proxies.len())
        };
        assert_eq!(found(true, true), (1, 2));
        assert_eq!(found(false, true), (0, 2));
        assert_eq!(found(true, false), (1, 0));
        let broken =
            map(&json!({ "client-ca-file": "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----" }));
        assert!(authorities(&broken, Wanted { clients: true, proxies: true }).is_err());
    }

    #[test]
    fn names_are_lists_in_json() {
        let names = proxy_names(&map(&json!({
            "requestheader-allowed-names": r#"["front-proxy"]"#,
            "requestheader-username-headers": r#"["X-Remote-User"]"#,
            "requestheader-group-headers": "",
        })));
        let names = names.unwrap();
        assert_eq!(names.requestheader_allowed_names, ["front-proxy"]);
        assert_eq!(names.requestheader_username_headers, ["X-Remote-User"]);
        assert!(names.requestheader_group_headers.is_empty());
        assert!(proxy_names(&map(&json!({ "requestheader-allowed-names": "front-proxy" }))).is_err());
    }
}
