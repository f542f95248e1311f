//! The headers by which a client acts as another user.
//!
//! Kubernetes concept: `NewImpersonatingRoundTripper` and `headerKeyEscape` in `k8s.io/client-go/transport`.

use std::fmt::Write as _;

use http::{HeaderMap, HeaderName, HeaderValue};
use registry_core::context::UserInfo;

use super::error::SettingsError;

/// Returns the headers by which a client acts as this user.
///
/// # Errors
/// Fails if an attribute of the user cannot be in a header.
pub(super) fn impersonation(user: &UserInfo) -> Result<HeaderMap, SettingsError> {
    let mut headers = HeaderMap::new();
    let value = |text: &str| {
        HeaderValue::from_bytes(text.as_bytes()).map_err(|_| SettingsError::HeaderValue(text.to_owned()))
    };
    headers.insert(HeaderName::from_static("impersonate-user"), value(&user.name)?);
    if !user.uid.is_empty() {
        headers.insert(HeaderName::from_static("impersonate-uid"), value(&user.uid)?);
    }
    for group in &user.groups {
        headers.append(HeaderName::from_static("impersonate-group"), value(group)?);
    }
    for (key, values) in &user.extra {
        let name = HeaderName::try_from(format!("impersonate-extra-{}", escaped_header_key(key)))
            .map_err(|_| SettingsError::HeaderName(key.clone()))?;
        for text in values {
            headers.append(&name, value(text)?);
        }
    }
    Ok(headers)
}

/// Returns a key with every character escaped that the name of a header cannot have. Letters become lower case on the way,
/// as in Kubernetes.
pub fn escaped_header_key(key: &str) -> String {
    let mut escaped = String::with_capacity(key.len());
    for byte in key.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => escaped.push(byte.into()),
            b'!' | b'#' | b'$' | b'&' | b'\'' | b'*' | b'+' | b'-' | b'.' | b'^' | b'_' | b'`' | b'|'
            | b'~' => {
                escaped.push(byte.into());
            }
            // Writing to a string cannot fail.
            _ => {
                let _ = write!(escaped, "%{byte:02X}");
            }
        }
    }
    escaped
}
