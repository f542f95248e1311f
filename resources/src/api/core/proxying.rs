//! Functions shared by the proxies to pods, services and nodes.

use registry_core::api::go_text::quote;
use registry_core::api::{GroupVersionKind, Object, StatusError};
use registry_core::rest::connect::{
    ConnectRequest, ConnectSpec, Destination, Exchange, OptionType, Peer, Scheme, encode_path,
};

use crate::schema;

/// The target of a proxy request: `name`, `name:port` or `scheme:name:port`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target<'a> {
    /// The scheme; HTTP by default.
    pub(super) scheme: Scheme,
    /// The object's name.
    pub(super) name: &'a str,
    /// The port, by number or name; empty if unspecified.
    pub(super) port: &'a str,
}

// === impl Target ===

impl<'a> Target<'a> {
    /// Parses a name in a URL; `None` if it is invalid.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let parts: Vec<&str> = text.split(':').collect();
        let (scheme, name, port) = match parts.as_slice() {
            [name] => ("", *name, ""),
            [name, port] => ("", *name, *port),
            [scheme, name, port] => (*scheme, *name, *port),
            _ => return None,
        };
        let scheme = match scheme {
            "" | "http" => Scheme::Http,
            "https" => Scheme::Https,
            _ => return None,
        };
        (!name.is_empty()).then_some(Self { scheme, name, port })
    }

    /// Returns a connection to this address, for the unchanged request.
    pub(super) fn destination(
        &self,
        host: &str,
        port: Option<u16>,
        request: &ConnectRequest<'_>,
    ) -> Destination {
        Destination {
            scheme: self.scheme,
            host: host.to_owned(),
            port,
            path: path_of(request),
            query: None,
            peer: Peer::Workload,
            exchange: Exchange::Any,
        }
    }
}

/// Returns the spec of proxies: every method that has a verb, and a trailing path.
pub(super) const fn connect_spec(options_kind: GroupVersionKind) -> ConnectSpec {
    ConnectSpec {
        verbs: &["create", "delete", "get", "patch", "update"],
        options_kind,
        schema_of: schema::built_in_kind,
        read_as: None,
        options: &[("path", OptionType::Text)],
        has_path: true,
    }
}

/// Parses a port number.
///
/// # Errors
/// 400: the port is invalid.
pub(super) fn port_number(port: &str) -> Result<u16, StatusError> {
    let number = port.parse().ok().filter(|number| *number != 0);
    number.ok_or_else(|| StatusError::bad_request(format!("invalid port {}", quote(port))))
}

/// Returns the path of the proxied request: that of the URL, or else of the options.
pub(super) fn path_of(request: &ConnectRequest<'_>) -> String {
    let option = |options: &Object| options.get_str(&["path"]).map(encode_path).unwrap_or_default();
    if request.path.is_empty() { option(request.options) } else { request.path.to_owned() }
}

/// Returns 400: a workload cannot have this address.
pub(super) fn not_allowed() -> StatusError {
    StatusError::bad_request("address not allowed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_told_apart() {
        let target =
            |text| Target::parse(text).map(|parsed| (parsed.scheme.as_str(), parsed.name, parsed.port));
        assert_eq!(target("web"), Some(("http", "web", "")));
        assert_eq!(target("web:metrics"), Some(("http", "web", "metrics")));
        assert_eq!(target("https:web:"), Some(("https", "web", "")));
        assert_eq!(target("https:web:443"), Some(("https", "web", "443")));
        for wrong in ["", ":80", "ftp:web:21", "a:b:c:d"] {
            assert_eq!(target(wrong), None, "{wrong}");
        }
    }
}
