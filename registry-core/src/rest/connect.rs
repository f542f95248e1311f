//! Connections to what an object stands for: a pod's log or shell, a service's backends, a node's kubelet.
//!
//! A storage says where a connection goes and how it is made; the bytes are the server's business.
//!
//! Kubernetes concept: `rest.Connecter`, `rest.Redirector` and the `Pod*Options` kinds.

use std::borrow::Cow;
use std::fmt::Write as _;

use async_trait::async_trait;
use serde_json::{Map, Value};

use crate::api::{GroupResource, GroupVersionKind, Object, StatusError};
use crate::context::RequestContext;
use crate::schema::Schema;

use super::Storage;

/// Connects clients to what an object stands for.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not serve the verb `connect`",
    label = "needs `impl Connecter`"
)]
#[async_trait]
pub trait Connecter: Storage {
    /// What the path takes.
    fn connect_spec(&self) -> &'static ConnectSpec;

    /// Where the connection goes.
    async fn connect(
        &self,
        context: &RequestContext,
        name: &str,
        request: &ConnectRequest<'_>,
    ) -> Result<Connection, StatusError>;
}

/// What a path that connects takes.
#[derive(Debug)]
pub struct ConnectSpec {
    /// The verbs, sorted: each stands for an HTTP method.
    pub verbs: &'static [&'static str],
    /// The kind of its options.
    pub options_kind: GroupVersionKind,
    /// Where the schema of that kind is found.
    pub schema_of: fn(GroupVersionKind) -> Schema,
    /// Of a path that is read rather than connected to (a log): what failures call it. It says to give its parent's
    /// kind, and admission is not asked. `None` for a connection, whose kind is that of its options.
    pub read_as: Option<GroupResource>,
    /// The options, which come as query parameters.
    pub options: &'static [(&'static str, OptionType)],
    /// Whether the URL may go on below it.
    pub has_path: bool,
}

/// How an option is read from query parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionType {
    /// The first value, as it is.
    Text,
    /// All values.
    Texts,
    /// Given, and neither `0` nor `false`.
    Switch,
    /// A whole number.
    Integer,
    /// Whole numbers.
    Integers,
}

/// One request to connect.
#[derive(Debug)]
pub struct ConnectRequest<'a> {
    /// The options, as an object of the options' kind.
    pub options: &'a Object,
    /// How the URL goes on below the path, as it was written: empty, or beginning with a slash.
    pub path: &'a str,
}

/// What becomes of a request to connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Connection {
    /// There is nobody to connect to yet, and that is no failure: an empty answer.
    Nobody,
    /// It goes there.
    To(Destination),
}

/// Where a connection goes, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// Whether it is encrypted.
    pub scheme: Scheme,
    /// An address or a name.
    pub host: String,
    /// The port; `None` is the scheme's own.
    pub port: Option<u16>,
    /// The path, percent-encoded; empty, or beginning with a slash.
    pub path: String,
    /// The query, percent-encoded; `None` is the request's own.
    pub query: Option<String>,
    /// Whom one expects there.
    pub peer: Peer,
    /// What is exchanged.
    pub exchange: Exchange,
}

/// Whether a connection is encrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheme {
    /// It is not.
    #[default]
    Http,
    /// By TLS.
    Https,
}

/// Whom one expects at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// A node's kubelet: the server shows its client certificate, and the address may be any.
    Kubelet,
    /// The same, whatever certificate it shows.
    UnverifiedKubelet,
    /// Anything users run: nothing is shown to it, and only addresses a pod or node can have are reached.
    Workload,
}

/// What is exchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exchange {
    /// The request as it is and its answer, an upgrade included.
    Any,
    /// An upgrade to another protocol, and nothing else.
    Upgrade,
    /// A GET, of which the text that comes back is passed on as it comes.
    Text,
}

// === impl Scheme ===

impl Scheme {
    /// The port when none is given.
    pub const fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }

    /// As URLs have it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

// === impl ConnectSpec ===

impl ConnectSpec {
    /// Reads the options out of query parameters; unknown ones are left to whom the connection goes to.
    ///
    /// # Errors
    /// 400, in Go's words: a number is none.
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
    text.parse::<i64>()
        .map(Value::from)
        .map_err(|_| StatusError::bad_request(format!("strconv.ParseInt: parsing {text:?}: invalid syntax")))
}

/// A query of these parameters, percent-encoded.
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

/// A path as URLs have it, beginning with a slash; empty stays empty.
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
    }

    #[test]
    fn queries_and_paths_are_encoded() {
        let query = encode_query([("command", "a b&c".into()), ("tty", "1".into())]);
        assert_eq!(query, "command=a%20b%26c&tty=1");
        assert_eq!(encode_path("a b/c?d"), "/a%20b/c%3Fd");
        assert_eq!(encode_path(""), "");
    }
}
