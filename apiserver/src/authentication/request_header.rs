//! Front proxies: a proxy with a certificate of `--requestheader-client-ca-file` authenticates the user, and names it
//! in headers.
//!
//! The headers of any other client mean nothing, and are removed before a request goes on. A header that names one
//! thing must not be repeated: a proxy that adds its header behind one of the client's would pass that one on.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/authentication/request/headerrequest`.

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use http::{HeaderMap, HeaderName};
use registry_core::api::StatusError;
use registry_core::context::UserInfo;

use crate::options::FrontProxyOptions;

use super::chain::{Refusal, RequestAuthenticator, Shown};
use super::headers::{extra_key, single, text};
use super::trust::ClientTrust;

/// The prefix of the standard headers, which are removed from every request.
const STANDARD_PREFIX: &str = "x-remote-";

/// The names of the headers in which proxies name the user.
#[derive(Debug, Default)]
struct ProxyHeaders {
    user: Vec<HeaderName>,
    uid: Vec<HeaderName>,
    group: Vec<HeaderName>,
    extra_prefixes: Vec<String>,
}

/// The names of front proxies and of their headers, which can be replaced while connections are open.
#[derive(Clone, Debug, Default)]
pub(crate) struct FrontProxyNames(Arc<ArcSwap<Names>>);

#[derive(Debug, Default)]
struct Names {
    headers: ProxyHeaders,
    /// Common names of accepted proxies; all are if it is empty.
    allowed: Vec<String>,
}

/// Authenticates users by the headers of front proxies.
pub(crate) struct FrontProxies {
    trust: Arc<ClientTrust>,
    names: FrontProxyNames,
}

/// Error of a flag with names of headers. Not retryable.
#[derive(Debug, thiserror::Error)]
pub enum HeaderNamesError {
    #[error("empty value in {:?}", .0.trim_start_matches('-'))]
    Empty(&'static str),
    #[error("{flag}: {name:?} cannot be the name of a header")]
    Name { flag: &'static str, name: String },
}

// === impl ProxyHeaders ===

impl ProxyHeaders {
    /// Reads the names.
    ///
    /// # Errors
    /// Fails if one cannot be the name of a header.
    fn new(options: &FrontProxyOptions) -> Result<Self, HeaderNamesError> {
        Ok(Self {
            user: names("--requestheader-username-headers", &options.requestheader_username_headers)?,
            uid: names("--requestheader-uid-headers", &options.requestheader_uid_headers)?,
            group: names("--requestheader-group-headers", &options.requestheader_group_headers)?,
            extra_prefixes: names(
                "--requestheader-extra-headers-prefix",
                &options.requestheader_extra_headers_prefix,
            )?
            .iter()
            .map(|prefix| prefix.as_str().to_owned())
            .collect(),
        })
    }

    /// Removes these headers and the standard ones.
    fn remove_from(&self, headers: &mut HeaderMap) {
        let is_meant = |name: &HeaderName| {
            name.as_str().starts_with(STANDARD_PREFIX)
                || [&self.user, &self.uid, &self.group].iter().any(|names| names.contains(name))
                || self.extra_prefixes.iter().any(|prefix| name.as_str().starts_with(prefix.as_str()))
        };
        let present: Vec<HeaderName> = headers.keys().filter(|name| is_meant(name)).cloned().collect();
        for name in present {
            headers.remove(name);
        }
    }

    /// Returns the first value that is not empty.
    fn first<'h>(headers: &'h HeaderMap, names: &[HeaderName]) -> Result<Option<&'h str>, StatusError> {
        for name in names {
            if let Some(value) = single(headers, name)?.filter(|value| !value.is_empty()) {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }

    /// Returns the user that the headers name.
    fn user(&self, headers: &HeaderMap) -> Result<Option<UserInfo>, StatusError> {
        let Some(name) = Self::first(headers, &self.user)? else { return Ok(None) };
        let uid = Self::first(headers, &self.uid)?.unwrap_or_default().to_owned();
        let mut groups = Vec::new();
        for header in &self.group {
            for value in headers.get_all(header) {
                let group = text(header, value)?;
                if !group.is_empty() {
                    groups.push(group.to_owned());
                }
            }
        }
        let mut extra = BTreeMap::<String, Vec<String>>::new();
        for prefix in &self.extra_prefixes {
            for (header, value) in headers {
                let Some(key) = header.as_str().strip_prefix(prefix.as_str()) else { continue };
                extra.entry(extra_key(header, key)?).or_default().push(text(header, value)?.to_owned());
            }
        }
        Ok(Some(UserInfo { name: name.to_owned(), uid, groups, extra: extra.into_iter().collect() }))
    }
}

/// Reads names of headers.
fn names(flag: &'static str, given: &[String]) -> Result<Vec<HeaderName>, HeaderNamesError> {
    let read = |name: &String| {
        let name = name.trim();
        if name.is_empty() {
            return Err(HeaderNamesError::Empty(flag));
        }
        name.parse().map_err(|_| HeaderNamesError::Name { flag, name: name.to_owned() })
    };
    given.iter().map(read).collect()
}

// === impl FrontProxyNames ===

impl FrontProxyNames {
    /// Reads the names.
    ///
    /// # Errors
    /// Fails if one cannot be the name of a header.
    pub(crate) fn new(options: &FrontProxyOptions) -> Result<Self, HeaderNamesError> {
        let names = Self::default();
        names.replace(options)?;
        Ok(names)
    }

    /// Replaces the names.
    ///
    /// # Errors
    /// As [`new`](Self::new); nothing is replaced then.
    pub(crate) fn replace(&self, options: &FrontProxyOptions) -> Result<(), HeaderNamesError> {
        let headers = ProxyHeaders::new(options)?;
        let allowed = options.requestheader_allowed_names.clone();
        self.0.store(Arc::new(Names { headers, allowed }));
        Ok(())
    }

    /// Removes the headers of proxies from a request.
    pub(super) fn remove_from(&self, headers: &mut HeaderMap) {
        self.0.load().headers.remove_from(headers);
    }
}

// === impl FrontProxies ===

impl FrontProxies {
    pub(super) fn new(trust: Arc<ClientTrust>, names: FrontProxyNames) -> Self {
        Self { trust, names }
    }
}

impl RequestAuthenticator for FrontProxies {
    fn authenticate(&self, shown: &Shown<'_>) -> Result<Option<UserInfo>, Refusal> {
        let names = self.names.0.load();
        let is_named = names.headers.user.iter().any(|name| shown.headers.contains_key(name));
        let (true, Some(certificates)) = (is_named, shown.certificates) else { return Ok(None) };
        let judged = certificates.as_proxy(&self.trust.proxies);
        let Some(proxy) = judged.certificate() else {
            return Err(Refusal::Invalid("the proxy's certificate has no common name".to_owned()));
        };
        let proxy = proxy.user().map_err(|reason| Refusal::Invalid(reason.into_owned()))?;
        if !names.allowed.is_empty() && !names.allowed.contains(&proxy.name) {
            let reason = format!("x509: subject with cn={} is not in the allowed list", proxy.name);
            return Err(Refusal::Invalid(reason));
        }
        names.headers.user(shown.headers).map_err(Refusal::Unreadable)
    }
}
