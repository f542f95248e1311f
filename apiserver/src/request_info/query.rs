//! Query strings and percent-encoding.

use std::borrow::Cow;

/// What of a collection's query says what the request is about.
#[derive(Debug, Default)]
pub(super) struct CollectionQuery<'a> {
    /// `watch` is given and neither `0` nor `false`.
    pub(super) watch: bool,
    /// The one name that `fieldSelector` selects.
    pub(super) name: Option<Cow<'a, str>>,
}

/// The decoded `key=value` pairs of a query, in order.
pub fn query_pairs(query: &str) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
    query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decode_form(key), decode_form(value))
    })
}

/// Decodes the percent-encoding of a path. What is no such encoding stays as it is; bytes that are no UTF-8
/// become replacement characters.
pub fn decode_component(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
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
    Cow::Owned(match String::from_utf8(decoded) {
        Ok(text) => text,
        Err(invalid) => String::from_utf8_lossy(invalid.as_bytes()).into_owned(),
    })
}

/// Reads what of a collection's query matters here. Only the first `watch` and `fieldSelector` count.
pub(super) fn collection_query(query: &str) -> CollectionQuery<'_> {
    let mut options = CollectionQuery::default();
    let (mut watch_seen, mut selector_seen) = (false, false);
    for (key, value) in query_pairs(query) {
        match &*key {
            "watch" if !watch_seen => {
                watch_seen = true;
                options.watch = !(value == "0" || value.eq_ignore_ascii_case("false"));
            }
            "fieldSelector" if !selector_seen => {
                selector_seen = true;
                options.name = selected_name(&value).map(Cow::Owned);
            }
            _ => {}
        }
    }
    options
}

/// The name that a field selector requires, if it requires one that can be in a path.
fn selected_name(selector: &str) -> Option<String> {
    let term = selector.split(',').find_map(|term| term.strip_prefix("metadata.name="))?;
    let name = term.strip_prefix('=').unwrap_or(term);
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
