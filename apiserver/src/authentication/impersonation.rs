//! User impersonation: the `Impersonate-*` headers.
//!
//! Kubernetes concept:
//! [user impersonation](https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use http::{HeaderMap, HeaderName};
use registry_core::api::StatusError;
use registry_core::context::UserInfo;

use super::headers::{extra_key, single, text};

const USER: HeaderName = HeaderName::from_static("impersonate-user");
const UID: HeaderName = HeaderName::from_static("impersonate-uid");
const GROUP: HeaderName = HeaderName::from_static("impersonate-group");
const PREFIX: &str = "impersonate-";
const EXTRA_PREFIX: &str = "impersonate-extra-";

/// Returns the user that the headers ask to act as, or `None` without such headers. Whether the requester may do so is
/// decided in [`authorization::impersonation`](crate::authorization).
///
/// # Errors
/// 400 if a header cannot be read, if a header with one value is empty or repeated, or if the headers name no
/// user.
pub(crate) fn requested_impersonation(headers: &HeaderMap) -> Result<Option<UserInfo>, StatusError> {
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
    Ok(Some(UserInfo { name: name.to_owned(), uid, groups, extra: extra.into_iter().collect() }))
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
