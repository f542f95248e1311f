//! The addresses that a request came from.
//!
//! Kubernetes concept: `SourceIPs` in `k8s.io/apimachinery/pkg/util/net`.

use std::net::{IpAddr, SocketAddr};

use http::{HeaderMap, HeaderName};

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const REAL_IP: HeaderName = HeaderName::from_static("x-real-ip");

/// Returns the addresses that proxies declare, and last the address of the connection.
pub(super) fn addresses(headers: &HeaderMap, peer: Option<SocketAddr>) -> Vec<IpAddr> {
    let mut found = Vec::new();
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(forwarded) = text(FORWARDED_FOR) {
        found.extend(forwarded.split(',').filter_map(parse));
    }
    if let Some(real) = text(REAL_IP).and_then(parse)
        && !found.contains(&real)
    {
        found.push(real);
    }
    if let Some(peer) = peer {
        let own = peer.ip().to_canonical();
        if found.last() != Some(&own) {
            found.push(own);
        }
    }
    found
}

fn parse(text: &str) -> Option<IpAddr> {
    text.trim().parse::<IpAddr>().ok().map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_addresses_come_before_the_connections_own() {
        let peer = Some("192.0.2.1:1234".parse().unwrap());
        for (forwarded, real, expected) in [
            (None, None, "192.0.2.1"),
            (Some("203.0.113.7, zork, 198.51.100.2"), None, "203.0.113.7 198.51.100.2 192.0.2.1"),
            (Some("203.0.113.7"), Some("203.0.113.7"), "203.0.113.7 192.0.2.1"),
            (Some("203.0.113.7"), Some("203.0.113.9"), "203.0.113.7 203.0.113.9 192.0.2.1"),
            (None, Some("192.0.2.1"), "192.0.2.1"),
            (Some("::ffff:192.0.2.1"), None, "192.0.2.1"),
        ] {
            let mut headers = HeaderMap::new();
            let given = [(FORWARDED_FOR, forwarded), (REAL_IP, real)];
            for (name, value) in given.into_iter().filter_map(|(name, value)| Some((name, value?))) {
                headers.insert(name, value.parse().unwrap());
            }
            let found: Vec<String> = addresses(&headers, peer).iter().map(ToString::to_string).collect();
            assert_eq!(found.join(" "), expected);
        }
    }
}
