//! The headers by which an extension server knows the user of a forwarded request.
//!
//! Those of the client itself are removed before.
//!
//! Kubernetes concept: `SetAuthProxyHeaders` in `k8s.io/client-go/transport`.

use clients::escaped_header_key;
use http::{HeaderMap, HeaderName, HeaderValue};
use registry_core::context::UserInfo;

use super::error::RemoteError;

const USER: HeaderName = HeaderName::from_static("x-remote-user");
const UID: HeaderName = HeaderName::from_static("x-remote-uid");
const GROUP: HeaderName = HeaderName::from_static("x-remote-group");
const EXTRA_PREFIX: &str = "x-remote-extra-";

/// Sets the headers of this user.
///
/// # Errors
/// Fails with a reason if a name has characters that no header can have: without them the request would have another user.
pub(super) fn set(headers: &mut HeaderMap, user: &UserInfo) -> Result<(), RemoteError> {
    let value = |text: &str| {
        HeaderValue::from_bytes(text.as_bytes()).map_err(|_| RemoteError::UserAttribute(text.to_owned()))
    };
    headers.insert(USER, value(&user.name)?);
    if !user.uid.is_empty() {
        headers.insert(UID, value(&user.uid)?);
    }
    for group in &user.groups {
        headers.append(GROUP, value(group)?);
    }
    for (key, values) in &user.extra {
        let name = HeaderName::try_from(format!("{EXTRA_PREFIX}{}", escaped_header_key(key)))
            .map_err(|_| RemoteError::UserKey(key.clone()))?;
        for text in values {
            headers.append(&name, value(text)?);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_described_whole() {
        let mut headers = HeaderMap::new();
        let user = UserInfo {
            name: "jane".to_owned(),
            uid: "u-1".to_owned(),
            groups: vec!["a".to_owned(), "b".to_owned()],
            extra: vec![("example.org/Scopes".to_owned(), vec!["x".to_owned(), "y".to_owned()])],
        };
        set(&mut headers, &user).unwrap();
        let all = |name: &str| -> Vec<&str> {
            headers.get_all(name).iter().map(|value| value.to_str().unwrap()).collect()
        };
        assert_eq!(all("x-remote-user"), ["jane"]);
        assert_eq!(all("x-remote-uid"), ["u-1"]);
        assert_eq!(all("x-remote-group"), ["a", "b"]);
        assert_eq!(all("x-remote-extra-example.org%2fscopes"), ["x", "y"]);
    }

    #[test]
    fn a_name_that_is_no_header_is_refused() {
        for name in ["a\nX-Remote-Group: system:masters", "a\r", "a\0"] {
            let user = UserInfo { name: name.to_owned(), ..UserInfo::default() };
            assert!(set(&mut HeaderMap::new(), &user).is_err(), "{name:?}");
        }
    }
}
