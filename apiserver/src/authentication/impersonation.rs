//! User impersonation: the `Impersonate-*` headers.
//!
//! Kubernetes concept:
//! [user impersonation](https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use http::{HeaderMap, HeaderName};
use registry_core::api::StatusError;
use registry_core::api::validation::names;
use registry_core::context::UserInfo;

use super::headers::{extra_key, single, text};
use super::{ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED};
use crate::request_info::ResourceRequest;

const USER: HeaderName = HeaderName::from_static("impersonate-user");
const UID: HeaderName = HeaderName::from_static("impersonate-uid");
const GROUP: HeaderName = HeaderName::from_static("impersonate-group");
const PREFIX: &str = "impersonate-";
const EXTRA_PREFIX: &str = "impersonate-extra-";

/// A requested impersonation.
#[derive(Debug)]
pub(crate) struct Impersonation {
    /// The user to act as.
    pub(crate) user: UserInfo,
    /// The resources that the requester must be allowed to `impersonate`.
    pub(crate) needs: Vec<ResourceRequest>,
}

/// Returns the user that the headers ask to act as, or `None` without such headers.
///
/// # Errors
/// 400 if a header cannot be read, if a header with one value is empty or repeated, or if the headers name no
/// user.
pub(crate) fn requested_impersonation(headers: &HeaderMap) -> Result<Option<Impersonation>, StatusError> {
    let asked = |name: &HeaderName| name.as_str().starts_with(PREFIX);
    if !headers.keys().any(asked) {
        return Ok(None);
    }
    let name = single(headers, &USER)?;
    let uid = single(headers, &UID)?.unwrap_or("").to_owned();
    let groups: Result<Vec<String>, StatusError> =
        headers.get_all(GROUP).iter().map(|value| text(&GROUP, value).map(str::to_owned)).collect();
    let groups = groups?;
    let extra = extra(headers)?;
    let Some(name) = name.filter(|name| !name.is_empty()) else {
        if name.is_none() && uid.is_empty() && groups.is_empty() && extra.is_empty() {
            return Ok(None);
        }
        let wanted = go_syntax(&uid, &groups, &extra);
        return Err(StatusError::bad_request(format!(
            "requested {wanted} without impersonating a user name"
        )));
    };
    let name = name.to_owned();
    let needs = needs(&name, &uid, &groups, &extra);
    let groups = all_groups(&name, groups);
    Ok(Some(Impersonation {
        user: UserInfo { name, uid, groups, extra: extra.into_iter().collect() },
        needs,
    }))
}

/// Removes the headers, so that nothing behind the filters acts on them again.
pub(crate) fn remove_impersonation(headers: &mut HeaderMap) {
    let names: Vec<HeaderName> =
        headers.keys().filter(|name| name.as_str().starts_with(PREFIX)).cloned().collect();
    for name in names {
        headers.remove(name);
    }
}

/// Returns the extra values by their keys. Every value is authorized separately, so values of headers that
/// decode to the same key are joined, as in Kubernetes.
fn extra(headers: &HeaderMap) -> Result<BTreeMap<String, Vec<String>>, StatusError> {
    let mut extra = BTreeMap::<String, Vec<String>>::new();
    for (name, value) in headers {
        let Some(key) = name.as_str().strip_prefix(EXTRA_PREFIX) else { continue };
        let key = extra_key(name, key)?;
        extra.entry(key).or_default().push(text(name, value)?.to_owned());
    }
    Ok(extra)
}

/// Returns the requested groups, and those that every such user has.
fn all_groups(name: &str, mut groups: Vec<String>) -> Vec<String> {
    if let (true, Some((namespace, _))) = (groups.is_empty(), service_account(name)) {
        groups = vec!["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")];
    }
    let own = if name == ANONYMOUS { UNAUTHENTICATED } else { AUTHENTICATED };
    if !groups.iter().any(|group| group == AUTHENTICATED || group == UNAUTHENTICATED) {
        groups.push(own.to_owned());
    }
    groups
}

fn needs(
    name: &str,
    uid: &str,
    groups: &[String],
    extra: &BTreeMap<String, Vec<String>>,
) -> Vec<ResourceRequest> {
    let authentication = |resource: &str, subresource: &str, name: &str| ResourceRequest {
        group: "authentication.k8s.io".to_owned(),
        version: "v1".to_owned(),
        resource: resource.to_owned(),
        subresource: subresource.to_owned(),
        name: name.to_owned(),
        ..ResourceRequest::default()
    };
    let core = |resource: &str, namespace: &str, name: &str| ResourceRequest {
        version: "v1".to_owned(),
        namespace: namespace.to_owned(),
        resource: resource.to_owned(),
        name: name.to_owned(),
        ..ResourceRequest::default()
    };
    let mut needs = vec![match service_account(name) {
        Some((namespace, account)) => core("serviceaccounts", namespace, account),
        None => core("users", "", name),
    }];
    needs.extend(groups.iter().map(|group| core("groups", "", group)));
    if !uid.is_empty() {
        needs.push(authentication("uids", "", uid));
    }
    for (key, values) in extra {
        needs.extend(values.iter().map(|value| authentication("userextras", key, value)));
    }
    needs
}

/// Returns the namespace and name in a service account's user name. A name that no service account can have
/// belongs to an ordinary user.
fn service_account(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix("system:serviceaccount:")?.split_once(':')?;
    let is_valid = names::dns_label(namespace).is_empty() && names::dns_subdomain(name).is_empty();
    is_valid.then_some((namespace, name))
}

/// Formats the request as Go prints it; clients know this text.
fn go_syntax(uid: &str, groups: &[String], extra: &BTreeMap<String, Vec<String>>) -> String {
    let list = |values: &[String]| match values {
        [] => "(nil)".to_owned(),
        values => {
            let quoted: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
            format!("{{{}}}", quoted.join(", "))
        }
    };
    let mut text = format!("&user.DefaultInfo{{Name:\"\", UID:{uid:?}, Groups:[]string{}", list(groups));
    text.push_str(", Extra:map[string][]string");
    if extra.is_empty() {
        text.push_str("(nil)");
    } else {
        let pairs: Vec<String> =
            extra.iter().map(|(key, values)| format!("{key:?}:[]string{}", list(values))).collect();
        let _ = write!(text, "{{{}}}", pairs.join(", "));
    }
    text.push('}');
    text
}
