//! Asking as somebody else: the `Impersonate-*` headers.
//!
//! Kubernetes concept: [user impersonation](https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use http::{HeaderMap, HeaderName};
use registry_core::api::StatusError;
use registry_core::context::UserInfo;

use super::{ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED};
use crate::request_info::{ResourceRequest, decode_component};

const PREFIX: &str = "impersonate-";
const EXTRA_PREFIX: &str = "impersonate-extra-";

/// Somebody else to ask as.
#[derive(Debug)]
pub(crate) struct Impersonation {
    /// Whom.
    pub(crate) user: UserInfo,
    /// Everything one must be allowed to `impersonate` for it.
    pub(crate) needs: Vec<ResourceRequest>,
}

/// Whom the headers ask to act as; `None` when they do not.
///
/// # Errors
/// 400: something but no user to impersonate.
pub(crate) fn requested_impersonation(headers: &HeaderMap) -> Result<Option<Impersonation>, StatusError> {
    let asked = |name: &HeaderName| name.as_str().starts_with(PREFIX);
    if !headers.keys().any(asked) {
        return Ok(None);
    }
    let name = text(headers, "impersonate-user");
    let uid = text(headers, "impersonate-uid");
    let groups: Vec<String> = headers
        .get_all("impersonate-group")
        .iter()
        .filter_map(|value| value.to_str().ok())
        .map(str::to_owned)
        .collect();
    let extra = extra(headers);
    if name.is_empty() {
        if uid.is_empty() && groups.is_empty() && extra.is_empty() {
            return Ok(None);
        }
        let wanted = go_syntax(&uid, &groups, &extra);
        return Err(StatusError::bad_request(format!(
            "requested {wanted} without impersonating a user name"
        )));
    }
    let needs = needs(&name, &uid, &groups, &extra);
    let groups = all_groups(&name, groups);
    Ok(Some(Impersonation {
        user: UserInfo { name, uid, groups, extra: extra.into_iter().collect() },
        needs,
    }))
}

fn text(headers: &HeaderMap, name: &str) -> String {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
}

fn extra(headers: &HeaderMap) -> BTreeMap<String, Vec<String>> {
    let mut extra = BTreeMap::<String, Vec<String>>::new();
    for (name, value) in headers {
        let Some(key) = name.as_str().strip_prefix(EXTRA_PREFIX) else { continue };
        let values = extra.entry(decode_component(key).into_owned()).or_default();
        values.extend(value.to_str().map(str::to_owned));
    }
    extra
}

/// The groups asked for, and those that go with the user whether asked for or not.
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

/// The namespace and name in a service account's user name.
fn service_account(user: &str) -> Option<(&str, &str)> {
    user.strip_prefix("system:serviceaccount:")?.split_once(':')
}

/// What was asked for, as Go prints it; clients know this text.
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
