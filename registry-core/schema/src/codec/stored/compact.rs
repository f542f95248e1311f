//! Finds parts of objects in JSON without white space, without parsing it.

use crate::codec::json::words::quote_or_backslash;

pub(super) const METADATA: &[u8] = b"\"metadata\":{";
/// The key of the metadata.
pub const METADATA_KEY: &[u8] = b"\"metadata\":";
const API_VERSION: &[u8] = b"\"apiVersion\":\"";
const KIND: &[u8] = b"\"kind\":\"";

/// Returns the position after `"metadata":{` of an object that starts with its kind and its version, in either order,
/// and its metadata.
pub(super) fn metadata_after_type(value: &[u8]) -> Option<usize> {
    let rest = value.strip_prefix(b"{")?;
    let (first, second) = if rest.starts_with(KIND) { (KIND, API_VERSION) } else { (API_VERSION, KIND) };
    let rest = after_string(rest.strip_prefix(first)?)?.strip_prefix(b",")?;
    let rest = after_string(rest.strip_prefix(second)?)?.strip_prefix(b",")?;
    rest.starts_with(METADATA).then(|| value.len() - rest.len() + METADATA.len())
}

/// Returns the position after `"metadata":{` of an object, whatever precedes it.
pub fn metadata_opening(value: &[u8]) -> Option<usize> {
    let mut rest = value.strip_prefix(b"{")?;
    while !rest.starts_with(METADATA) {
        let content = after_string(rest.strip_prefix(b"\"")?)?.strip_prefix(b":")?;
        rest = content.get(value_len(content)?..)?.strip_prefix(b",")?;
    }
    Some(value.len() - rest.len() + METADATA.len())
}

/// Returns the `apiVersion` of an object that starts with it, or with it after the kind. `None` if it does not, or if
/// one of them has an escape.
pub fn api_version(value: &[u8]) -> Option<&str> {
    let mut rest = value.strip_prefix(b"{")?;
    if let Some(kind) = rest.strip_prefix(KIND) {
        rest = after_string(kind)?.strip_prefix(b",")?;
    }
    let text = rest.strip_prefix(API_VERSION)?;
    let end = text.len() - after_string(text)?.len() - 1;
    std::str::from_utf8(text.get(..end)?).ok()
}

/// Returns the bytes after a string's closing quote; `None` if the string has an escape.
fn after_string(text: &[u8]) -> Option<&[u8]> {
    let end = text.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
    text.get(end..)?.strip_prefix(b"\"")
}

/// Returns the length of the JSON value at the start of the bytes.
pub fn value_len(bytes: &[u8]) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = 0;
    loop {
        match bytes.get(at)? {
            b'"' => {
                at = string_end(bytes, at)?;
                if depth == 0 {
                    return Some(at);
                }
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth > 1 => depth -= 1,
            b'}' | b']' if depth == 1 => return Some(at + 1),
            // The end of a number or literal.
            b'}' | b']' | b',' if depth == 0 => return (at > 0).then_some(at),
            _ => {}
        }
        at += 1;
    }
}

/// Returns the place after the string that begins at this one.
fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        at += quote_or_backslash(bytes.get(at..)?)?;
        if bytes.get(at)? == &b'"' {
            return Some(at + 1);
        }
        // The character behind a backslash ends no string.
        at += 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_end_where_they_end() {
        for (text, expected) in [
            (r#"{"a":"}","b":[{}]},1"#, Some(18)),
            ("[],", Some(2)),
            (r#""a\"b",1"#, Some(6)),
            (r#""","#, Some(2)),
            ("12,", Some(2)),
            ("null}", Some(4)),
            ("12", None),
            ("", None),
            (",", None),
            (r#"{"a":1"#, None),
            (r#""a"#, None),
        ] {
            assert_eq!(value_len(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn the_version_is_read_from_either_order() {
        for (text, expected) in [
            (r#"{"kind":"A","apiVersion":"v1","metadata":{}}"#, Some("v1")),
            (r#"{"apiVersion":"a.b/v1beta1","kind":"A"}"#, Some("a.b/v1beta1")),
            (r#"{"apiVersion":""}"#, Some("")),
            (r#"{"apiVersion":"v\u0031"}"#, None),
            (r#"{"kind":"\u0041","apiVersion":"v1"}"#, None),
            (r#"{"metadata":{},"apiVersion":"v1"}"#, None),
            (r#"{"apiVersion":"v1"#, None),
            (r#"{ "apiVersion":"v1"}"#, None),
        ] {
            assert_eq!(api_version(text.as_bytes()), expected, "{text}");
        }
    }
}
