//! Filters the headers of proxied requests and responses.

use std::net::IpAddr;

use http::header::{CONNECTION, CONTENT_LENGTH, HOST, HeaderName, LOCATION, TRANSFER_ENCODING, UPGRADE};
use http::{HeaderMap, HeaderValue, Uri};
use registry_core::rest::connect::Destination;

/// Headers that apply to one connection and not to the request. (RFC 9110, 7.6.1)
const HOP_BY_HOP: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Prefixes of headers that assert the user of a request: clients' own, and those of authenticating proxies,
/// which a backend could take for this server's.
const IDENTITY: [&str; 2] = ["impersonate-", "x-remote-"];

/// Removes headers that apply between the client and this server only: the connection's own, and those that
/// assert the user. Credentials are removed by the filters.
pub(crate) fn clean_request(headers: &mut HeaderMap) {
    remove_hop_by_hop(headers);
    let is_identity = |name: &&HeaderName| IDENTITY.iter().any(|prefix| name.as_str().starts_with(prefix));
    let ours: Vec<HeaderName> = headers.keys().filter(is_identity).cloned().collect();
    for name in ours {
        headers.remove(name);
    }
}

/// Removes headers that apply between this server and its peer only, and those that would relax browsers'
/// rules for this server's own pages.
pub(crate) fn clean_response(headers: &mut HeaderMap) {
    // The length counts for nothing beside another encoding (RFC 9112, 6.3); clients would take the response for broken.
    if headers.contains_key(TRANSFER_ENCODING) {
        headers.remove(CONTENT_LENGTH);
    }
    remove_hop_by_hop(headers);
    let loosening: Vec<HeaderName> =
        headers.keys().filter(|name| name.as_str().starts_with("access-control-")).cloned().collect();
    for name in loosening {
        headers.remove(name);
    }
}

fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<String> = headers
        .get_all(CONNECTION)
        .iter()
        .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
        // An invalid header name removes none.
        .filter_map(|name| std::str::from_utf8(name.trim_ascii()).ok())
        .map(str::to_ascii_lowercase)
        .collect();
    for name in named.iter().map(String::as_str).chain(HOP_BY_HOP) {
        headers.remove(name);
    }
}

/// Returns the protocol that a client asks to upgrade to.
pub(crate) fn wanted_upgrade(headers: &HeaderMap) -> Option<HeaderValue> {
    let connection = headers.get_all(CONNECTION).iter().map(HeaderValue::as_bytes);
    let asks = connection
        .flat_map(|value| value.split(|byte| *byte == b','))
        .any(|option| option.trim_ascii().eq_ignore_ascii_case(b"upgrade"));
    headers.get(UPGRADE).filter(|_| asks).cloned()
}

/// Sets the headers of an upgrade.
pub(crate) fn set_upgrade(headers: &mut HeaderMap, protocol: HeaderValue) {
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, protocol);
}

/// Sets the `Host` header, which HTTP/1.1 requires.
pub(super) fn set_host(headers: &mut HeaderMap, to: &Destination) {
    let host = if to.host.contains(':') { format!("[{}]", to.host) } else { to.host.clone() };
    let host = match to.port {
        Some(port) => format!("{host}:{port}"),
        None => host,
    };
    if let Ok(host) = HeaderValue::from_str(&host) {
        headers.insert(HOST, host);
    }
}

/// Adds the address of the client to those that proxies before this server have declared.
///
/// Kubernetes concept: `AppendForwardedForHeader` of `k8s.io/apimachinery/pkg/util/net`.
pub(crate) fn append_forwarded_for(headers: &mut HeaderMap, client: Option<IpAddr>) {
    let Some(client) = client else { return };
    let name = HeaderName::from_static("x-forwarded-for");
    let declared: Vec<&[u8]> = headers.get_all(&name).iter().map(HeaderValue::as_bytes).collect();
    let mut all = declared.join(&b", "[..]);
    if !all.is_empty() {
        all.extend_from_slice(b", ");
    }
    all.extend_from_slice(client.to_canonical().to_string().as_bytes());
    // Parts of header values, with commas and spaces between them, are a header value.
    if let Ok(all) = HeaderValue::from_bytes(&all) {
        headers.insert(name, all);
    }
}

/// Sets the headers that report the original address, as proxies do.
pub(super) fn set_forwarded(headers: &mut HeaderMap, uri: &Uri, host: Option<&HeaderValue>) {
    if let Ok(path) = HeaderValue::from_str(uri.path()) {
        headers.insert(HeaderName::from_static("x-forwarded-uri"), path);
    }
    if let Some(host) = host {
        headers.insert(HeaderName::from_static("x-forwarded-host"), host.clone());
    }
    headers.insert(HeaderName::from_static("x-forwarded-proto"), HeaderValue::from_static("https"));
}

/// Rewrites a redirect to the backend itself so that it leads through the proxy; others are unchanged. The
/// client decides whether to follow it.
pub(super) fn rewrite_location(headers: &mut HeaderMap, to: &Destination, prefix: &str) {
    let Some(location) = headers.get(LOCATION).and_then(|value| value.to_str().ok()) else { return };
    let Ok(uri) = location.parse::<Uri>() else { return };
    let is_own = uri.host().is_none_or(|host| host.trim_matches(['[', ']']) == to.host);
    if !is_own || !uri.path().starts_with('/') || uri.path().starts_with(prefix) {
        return;
    }
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    if let Ok(through) = HeaderValue::from_str(&format!("{prefix}{}{query}", uri.path())) {
        headers.insert(LOCATION, through);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_the_client_follows_those_that_were_declared() {
        let name = "x-forwarded-for";
        let client = Some("::ffff:192.0.2.1".parse().unwrap());
        for (declared, expected) in [
            (&[][..], "192.0.2.1"),
            (&["203.0.113.7"], "203.0.113.7, 192.0.2.1"),
            (&["203.0.113.7, 203.0.113.8", "x"], "203.0.113.7, 203.0.113.8, x, 192.0.2.1"),
        ] {
            let mut headers = HeaderMap::new();
            for value in declared {
                headers.append(name, value.parse().unwrap());
            }
            append_forwarded_for(&mut headers, client);
            let all: Vec<&HeaderValue> = headers.get_all(name).iter().collect();
            assert_eq!(all, [expected]);
        }
    }
}
