//! Bearer tokens of browsers, which cannot set headers of WebSocket requests: the token is one of the subprotocols.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/authentication/request/websocket`.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use http::header::{CONNECTION, SEC_WEBSOCKET_PROTOCOL, UPGRADE};
use http::{HeaderMap, HeaderValue};

/// The prefix of the encoded token.
const PREFIX: &str = "base64url.bearer.authorization.k8s.io.";

/// Returns the token among the subprotocols of a WebSocket request, if there is one.
///
/// # Errors
/// Fails if there are several, if it cannot be decoded, or if it is the only subprotocol.
pub(super) fn token(headers: &HeaderMap) -> Result<Option<String>, &'static str> {
    if !headers.contains_key(SEC_WEBSOCKET_PROTOCOL) || !is_websocket(headers) {
        return Ok(None);
    }
    let mut token = None;
    let mut has_other = false;
    for protocol in protocols(headers) {
        let Some(encoded) = protocol.strip_prefix(PREFIX) else {
            has_other = true;
            continue;
        };
        if token.is_some() {
            return Err("multiple base64.bearer.authorization tokens specified");
        }
        let decoded = BASE64_URL_SAFE_NO_PAD
            .decode(encoded)
            .map_err(|_| "invalid base64.bearer.authorization token encoding")?;
        token = Some(String::from_utf8(decoded).map_err(|_| "invalid base64.bearer.authorization token")?);
    }
    match token {
        Some(token) if token.is_empty() => Ok(None),
        Some(_) if !has_other => Err("missing additional subprotocol"),
        token => Ok(token),
    }
}

/// Removes tokens from the subprotocols: the backend that chooses one must not see them.
pub(super) fn remove_from(headers: &mut HeaderMap) {
    if !headers.contains_key(SEC_WEBSOCKET_PROTOCOL)
        || !protocols(headers).any(|protocol| protocol.starts_with(PREFIX))
    {
        return;
    }
    let others: Vec<&str> = protocols(headers).filter(|protocol| !protocol.starts_with(PREFIX)).collect();
    let others = HeaderValue::from_str(&others.join(","));
    headers.remove(SEC_WEBSOCKET_PROTOCOL);
    if let Ok(others) = others
        && !others.is_empty()
    {
        headers.insert(SEC_WEBSOCKET_PROTOCOL, others);
    }
}

/// Returns the subprotocols. Values that are not ASCII have none.
fn protocols(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(SEC_WEBSOCKET_PROTOCOL).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim).filter(|protocol| !protocol.is_empty())
}

/// Returns whether a request asks for WebSocket.
pub(crate) fn is_websocket(headers: &HeaderMap) -> bool {
    let has = |name, wanted: &str| {
        let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(',')).any(|value| value.trim().eq_ignore_ascii_case(wanted))
    };
    has(CONNECTION, "upgrade") && has(UPGRADE, "websocket")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(protocols: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(CONNECTION, "keep-alive, Upgrade".parse().unwrap());
        headers.insert(UPGRADE, "WebSocket".parse().unwrap());
        for protocol in protocols {
            headers.append(SEC_WEBSOCKET_PROTOCOL, protocol.parse().unwrap());
        }
        headers
    }

    fn encoded(token: &str) -> String {
        format!("{PREFIX}{}", BASE64_URL_SAFE_NO_PAD.encode(token))
    }

    #[test]
    fn the_token_is_found_and_removed() {
        let own = encoded("secret");
        let mut shown = headers(&[&format!("v5.channel.k8s.io, {own}"), "v4.channel.k8s.io"]);
        assert_eq!(token(&shown), Ok(Some("secret".to_owned())));
        remove_from(&mut shown);
        assert_eq!(shown[SEC_WEBSOCKET_PROTOCOL], "v5.channel.k8s.io,v4.channel.k8s.io");
        assert_eq!(token(&shown), Ok(None));
        shown.remove(UPGRADE);
        let mut no_websocket = headers(&["a", &own]);
        no_websocket.remove(UPGRADE);
        assert_eq!(token(&no_websocket), Ok(None));
        remove_from(&mut no_websocket);
        assert_eq!(no_websocket[SEC_WEBSOCKET_PROTOCOL], "a");
    }

    #[test]
    fn unclear_subprotocols_are_refused() {
        for protocols in [
            &[encoded("a").as_str()][..],
            &["v4", &encoded("a"), &encoded("b")],
            &["v4", &encoded("a"), &encoded("a")],
            &["v4", &format!("{PREFIX}%%%")],
            &["v4", &format!("{PREFIX}YQ==")],
            &["v4", &format!("{PREFIX}_w")],
        ] {
            assert!(token(&headers(protocols)).is_err(), "{protocols:?}");
        }
        assert_eq!(token(&headers(&["v4", PREFIX])), Ok(None));
    }
}
