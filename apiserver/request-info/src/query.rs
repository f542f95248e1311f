//! Query strings and percent-encoding, parsed in place.

use std::borrow::Cow;

use registry_core::api::selector::{FieldSelector, LabelSelector};
use registry_core::api::{ErrorList, FieldError, FieldPath, StatusError, go_text};
use registry_core::rest::access::AccessSelectors;

/// The query string of a request. Look-ups decode on the fly: a request without options costs nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Query<'a>(&'a str);

/// The parameters of a collection's query that determine the verb, the name, and what authorization knows of the selectors.
#[derive(Debug, Default)]
pub(super) struct CollectionQuery {
    /// `watch` is given and neither `0` nor `false`.
    pub(super) watch: bool,
    /// The name that `fieldSelector` requires.
    pub(super) name: Option<String>,
    /// The requirements of the selectors that can be parsed.
    pub(super) selectors: AccessSelectors,
}

// === impl Query ===

impl<'a> Query<'a> {
    /// Returns the query of this URI.
    pub fn from_uri(uri: &'a http::Uri) -> Self {
        Self(uri.query().unwrap_or_default())
    }

    /// Returns this query.
    pub const fn new(query: &'a str) -> Self {
        Self(query)
    }

    /// Returns whether there are no parameters.
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Returns the first value of a parameter.
    pub fn first(self, name: &str) -> Option<Cow<'a, str>> {
        self.all(name).next()
    }

    /// Returns all values of a parameter.
    pub fn all(self, name: &str) -> impl Iterator<Item = Cow<'a, str>> {
        query_pairs(self.0).filter_map(move |(key, value)| (key == name).then_some(value))
    }

    /// Returns the first value of a parameter, or an empty text.
    pub fn text(self, name: &str) -> Cow<'a, str> {
        self.first(name).unwrap_or_default()
    }

    /// Returns a boolean, as Kubernetes reads it: given and neither `0` nor `false`.
    pub fn switch(self, name: &str) -> Option<bool> {
        let value = self.first(name)?;
        Some(is_on(&value))
    }

    /// Returns an integer, or an error with Go's message.
    pub fn integer(self, name: &str) -> Result<Option<i64>, StatusError> {
        self.first(name).map(|value| parse_integer(&value)).transpose()
    }

    /// Returns a resource version; `None` if it is absent or empty. A text that is not a number is returned
    /// as an error list, which callers convert differently (`get` and `list` to 400, `watch` to 500).
    pub fn resource_version(self) -> Result<Option<u64>, ErrorList> {
        let value = self.text("resourceVersion");
        if value.is_empty() {
            return Ok(None);
        }
        go_text::parse_uint(&value).map(Some).map_err(|error| {
            FieldError::invalid(FieldPath::new("resourceVersion"), value.as_ref(), error.to_string()).into()
        })
    }
}

/// Returns the decoded `key=value` pairs of a query, in order, but those that kube-apiserver leaves out: pairs with a `;` or an
/// invalid percent-encoding.
pub fn query_pairs(query: &str) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
    query.split('&').filter(|pair| !pair.is_empty() && is_read(pair)).map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decode_form(key), decode_form(value))
    })
}

/// Returns a query as it is written, without the pairs that [`query_pairs`] leaves out: another server, which may read them,
/// must not receive what was not authorized.
pub fn read_query(query: &str) -> Cow<'_, str> {
    if is_read(query) {
        return Cow::Borrowed(query);
    }
    let pairs: Vec<&str> = query.split('&').filter(|pair| is_read(pair)).collect();
    Cow::Owned(pairs.join("&"))
}

/// Whether a pair, or all pairs of a query, are read.
fn is_read(pair: &str) -> bool {
    let is_encoding = |rest: &str| rest.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2;
    !pair.contains(';') && pair.split('%').skip(1).all(is_encoding)
}

/// Decodes the percent-encoding of a path. Invalid encodings are unchanged; invalid UTF-8 becomes replacement
/// characters.
pub fn decode_component(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    Cow::Owned(match String::from_utf8(decode_bytes(text)) {
        Ok(text) => text,
        Err(invalid) => String::from_utf8_lossy(invalid.as_bytes()).into_owned(),
    })
}

/// Decodes the percent-encoding of a path, which may be no UTF-8. Invalid encodings are unchanged.
pub fn decode_bytes(text: &str) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let mut ahead = bytes.clone();
        match (byte, ahead.next().and_then(hex), ahead.next().and_then(hex)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push(high << 4 | low);
                bytes = ahead;
            }
            _ => decoded.push(byte),
        }
    }
    decoded
}

/// Parses a collection's query. Only the first `watch`, `fieldSelector` and `labelSelector` count, as for the handlers.
pub(super) fn collection_query(query: &str) -> CollectionQuery {
    let mut options = CollectionQuery::default();
    let [mut watch_seen, mut field_seen, mut label_seen] = [false; 3];
    for (key, value) in query_pairs(query) {
        match &*key {
            "watch" if !watch_seen => {
                watch_seen = true;
                options.watch = is_on(&value);
            }
            "fieldSelector" if !field_seen => {
                field_seen = true;
                // With the parser of the handlers: a name that they would not see must not be authorized.
                let selector = FieldSelector::parse(&value).unwrap_or_default();
                options.name = selected_name(&selector);
                options.selectors.fields = selector.requirements;
            }
            "labelSelector" if !label_seen => {
                label_seen = true;
                options.selectors.labels = LabelSelector::parse(&value).unwrap_or_default().requirements;
            }
            _ => {}
        }
    }
    options
}

/// Returns a boolean parameter's value, as Kubernetes reads it.
fn is_on(value: &str) -> bool {
    !(value == "0" || value.eq_ignore_ascii_case("false"))
}

/// Returns the name that a field selector requires, if it is one that can be part of a path.
fn selected_name(selector: &FieldSelector) -> Option<String> {
    let name = selector.required_value("metadata.name")?;
    let fits_path = !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '%', '\\']);
    fits_path.then(|| name.to_owned())
}

/// Decodes `application/x-www-form-urlencoded`: `+` is a space.
fn decode_form(text: &str) -> Cow<'_, str> {
    if text.contains('+') {
        return Cow::Owned(decode_component(&text.replace('+', " ")).into_owned());
    }
    decode_component(text)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

fn parse_integer(value: &str) -> Result<i64, StatusError> {
    go_text::parse_int(value).map_err(|error| StatusError::bad_request(error.to_string()))
}
