//! Connections to the target of an object: a pod's log or shell, a service's backends, a node's kubelet.
//!
//! A storage determines the target and the kind of a connection; the server transfers the data.
//!
//! Kubernetes concept: `rest.Connecter`, `rest.Redirector` and the `Pod*Options` kinds.

use std::borrow::Cow;
use std::fmt::Write as _;

use async_trait::async_trait;
use serde_json::{Map, Value};

use crate::api::{GroupResource, GroupVersionKind, Object, StatusError, go_text};
use crate::context::RequestContext;
use crate::schema::{Schema, canonical_time};

use super::Storage;

/// The zero `metav1.Time`.
const ZERO_TIME: &str = "0001-01-01T00:00:00Z";

/// Connects clients to the target of an object.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not serve the verb `connect`",
    label = "needs `impl Connecter`"
)]
#[async_trait]
pub trait Connecter: Storage {
    /// Returns the options that the path accepts.
    fn connect_spec(&self) -> &'static ConnectSpec;

    /// Returns the target of the connection.
    async fn connect(
        &self,
        context: &RequestContext,
        name: &str,
        request: &ConnectRequest<'_>,
    ) -> Result<Connection, StatusError>;
}

/// The specification of a connect path.
#[derive(Debug)]
pub struct ConnectSpec {
    /// The verbs, sorted; each corresponds to an HTTP method.
    pub verbs: &'static [&'static str],
    /// The kind of the options.
    pub options_kind: GroupVersionKind,
    /// Returns the schema of that kind.
    pub schema_of: fn(GroupVersionKind) -> Schema,
    /// For a path that is read rather than connected to (a log): the resource named in errors. Such a path reports its
    /// parent's kind, and admission is not called. `None` for a connection, which reports the kind of its options.
    pub read_as: Option<GroupResource>,
    /// The options, which are query parameters.
    pub options: &'static [(&'static str, OptionType)],
    /// Whether the URL may have a path below it.
    pub has_path: bool,
}

/// The type of an option, which decides how query parameters are parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionType {
    /// The first value, as a string.
    Text,
    /// All values, as strings.
    Texts,
    /// A boolean: present, and neither `0` nor `false`.
    Switch,
    /// An integer.
    Integer,
    /// All values, as integers.
    Integers,
    /// A `metav1.Time`. An empty value, and `null`, which old clients send, are the zero time.
    Time,
}

/// A connect request.
#[derive(Debug)]
pub struct ConnectRequest<'a> {
    /// The options, as an object of the options' kind.
    pub options: &'a Object,
    /// The rest of the URL's path, as received: empty, or starting with a slash.
    pub path: &'a str,
}

/// The result of a connect request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Connection {
    /// There is no target yet, which is not an error: the response is empty.
    Nobody,
    /// The target of the connection.
    To(Destination),
}

/// The target of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// Whether TLS is used.
    pub scheme: Scheme,
    /// The address or name.
    pub host: String,
    /// The port; `None` means the scheme's default.
    pub port: Option<u16>,
    /// The path, percent-encoded; empty, or starting with a slash.
    pub path: String,
    /// The query, percent-encoded; `None` means the request's own.
    pub query: Option<String>,
    /// Expected peer.
    pub peer: Peer,
    /// The kind of data exchanged.
    pub exchange: Exchange,
}

/// Whether TLS is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheme {
    /// Plain HTTP.
    #[default]
    Http,
    /// HTTP with TLS.
    Https,
}

/// Expected peer of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// A node's kubelet: the server presents its client certificate, and any address is allowed.
    Kubelet,
    /// A node's kubelet, for a request that a user has written: the server presents its client certificate, and only
    /// addresses that a node can have are allowed.
    ProxiedKubelet,
    /// Like [`Kubelet`](Self::Kubelet), but accepts any certificate of the peer.
    UnverifiedKubelet,
    /// A user workload: the server presents no credentials, and only addresses that a pod or node can have are allowed.
    Workload,
}

/// The kind of data exchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exchange {
    /// The request unchanged and its response, including upgrades.
    Any,
    /// An upgrade to another protocol, and nothing else.
    Upgrade,
    /// A GET request, whose response text is streamed.
    Text,
}

// === impl Scheme ===

impl Scheme {
    /// Returns the scheme's default port.
    pub const fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }

    /// Returns the scheme's name in URLs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

// === impl ConnectSpec ===

impl ConnectSpec {
    /// Parses the options from query parameters; ignores unknown ones, which the target handles.
    ///
    /// # Errors
    /// 400, with Go's message, if a number or a time is malformed.
    pub fn options<'q>(
        &self,
        pairs: impl Iterator<Item = (Cow<'q, str>, Cow<'q, str>)>,
    ) -> Result<Object, StatusError> {
        let mut fields = Map::new();
        for (key, value) in pairs {
            let Some((name, kind)) = self.options.iter().find(|(name, _)| *name == key) else { continue };
            let known = fields.contains_key(*name);
            match kind {
                OptionType::Texts => push(&mut fields, name, value.into_owned().into()),
                OptionType::Integers => {
                    for part in value.split(',') {
                        push(&mut fields, name, integer(part)?);
                    }
                }
                _ if known => {}
                OptionType::Text => {
                    fields.insert((*name).to_owned(), value.into_owned().into());
                }
                OptionType::Switch => {
                    let is_on = value != "0" && !value.eq_ignore_ascii_case("false");
                    fields.insert((*name).to_owned(), is_on.into());
                }
                OptionType::Integer => {
                    fields.insert((*name).to_owned(), integer(&value)?);
                }
                OptionType::Time => {
                    fields.insert((*name).to_owned(), time(&value)?);
                }
            }
        }
        let mut options = Object(fields);
        options.set_type(&self.options_kind.group_version().api_version(), self.options_kind.kind);
        Ok(options)
    }
}

fn push(fields: &mut Map<String, Value>, name: &str, value: Value) {
    let list = fields.entry(name).or_insert_with(|| Value::Array(Vec::new()));
    if let Value::Array(list) = list {
        list.push(value);
    }
}

fn integer(text: &str) -> Result<Value, StatusError> {
    match go_text::parse_int(text) {
        Ok(number) => Ok(number.into()),
        Err(error) => Err(StatusError::bad_request(error.to_string())),
    }
}

fn time(text: &str) -> Result<Value, StatusError> {
    if matches!(text, "" | "null") {
        return Ok(ZERO_TIME.into());
    }
    let canonical = canonical_time(text).map_err(|error| StatusError::bad_request(error.to_string()))?;
    Ok(canonical.unwrap_or_else(|| text.to_owned()).into())
}

/// Encodes a query with percent-encoding.
pub fn encode_query<'a>(parameters: impl IntoIterator<Item = (&'a str, Cow<'a, str>)>) -> String {
    let mut query = String::new();
    for (name, value) in parameters {
        if !query.is_empty() {
            query.push('&');
        }
        encode_component(&mut query, name, false);
        query.push('=');
        encode_component(&mut query, &value, false);
    }
    query
}

/// Encodes a path with percent-encoding, starting with a slash; an empty path remains empty.
pub fn encode_path(path: &str) -> String {
    let mut encoded = String::new();
    if !path.is_empty() && !path.starts_with('/') {
        encoded.push('/');
    }
    encode_component(&mut encoded, path, true);
    encoded
}

fn encode_component(encoded: &mut String, text: &str, keeps_slashes: bool) {
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push(byte.into()),
            b'/' if keeps_slashes => encoded.push('/'),
            // Writing to a string cannot fail.
            _ => {
                let _ = write!(encoded, "%{byte:02X}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXEC: ConnectSpec = ConnectSpec {
        verbs: &["create", "get"],
        options_kind: GroupVersionKind { group: "", version: "v1", kind: "PodExecOptions" },
        schema_of: |kind| unreachable!("nobody asks for the schema of {kind:?}"),
        read_as: None,
        options: &[
            ("command", OptionType::Texts),
            ("container", OptionType::Text),
            ("tty", OptionType::Switch),
            ("tailLines", OptionType::Integer),
            ("sinceTime", OptionType::Time),
        ],
        has_path: false,
    };

    fn options(pairs: &[(&'static str, &'static str)]) -> Result<Object, StatusError> {
        EXEC.options(pairs.iter().map(|(name, value)| (Cow::Borrowed(*name), Cow::Borrowed(*value))))
    }

    #[test]
    fn options_are_read_as_their_types_say() {
        let read =
            options(&[("command", "ls"), ("tty", ""), ("command", "-l"), ("tailLines", "3"), ("x", "y")]);
        let expected = serde_json::json!({
            "apiVersion": "v1", "kind": "PodExecOptions", "command": ["ls", "-l"], "tty": true, "tailLines": 3,
        });
        assert_eq!(read.map(Object::into_value), Ok(expected));
        let refused = options(&[("tailLines", "many")]).err().map(|failure| failure.message);
        assert_eq!(refused.as_deref(), Some("strconv.ParseInt: parsing \"many\": invalid syntax"));
        for (given, read) in [
            ("2026-01-02T05:04:05.6+02:00", "2026-01-02T03:04:05Z"),
            ("", "0001-01-01T00:00:00Z"),
            ("null", "0001-01-01T00:00:00Z"),
        ] {
            assert_eq!(options(&[("sinceTime", given)]).unwrap().get_str(&["sinceTime"]), Some(read));
        }
        let refused = options(&[("sinceTime", "x")]).err().map(|failure| failure.message);
        let reason = "parsing time \"x\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"x\" as \"2006\"";
        assert_eq!(refused.as_deref(), Some(reason));
    }

    #[test]
    fn queries_and_paths_are_encoded() {
        let query = encode_query([("command", "a b&c".into()), ("tty", "1".into())]);
        assert_eq!(query, "command=a%20b%26c&tty=1");
        assert_eq!(encode_path("a b/c?d"), "/a%20b/c%3Fd");
        assert_eq!(encode_path(""), "");
    }
}
