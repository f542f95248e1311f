//! Continue tokens of paged lists, in kube-apiserver's format: each server accepts the other's tokens.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use registry_meta::go_text::quote_byte;
use serde::Deserialize;
use serde_json::Value;

use super::Revision;
use super::error::{InvalidRequest, StorageError};

const API_VERSION: &str = "meta.k8s.io/v1";

/// Content of a token.
#[derive(Debug, Deserialize)]
struct Token {
    #[serde(rename = "v", default)]
    api_version: String,
    #[serde(rename = "rv", default)]
    revision: i64,
    #[serde(rename = "start", default)]
    start: String,
}

/// The position at which a list continues.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Position {
    /// The first key of the page.
    pub(crate) start: String,
    /// The revision that all pages show; `None`: the newest (after the original one was compacted).
    pub(crate) revision: Option<Revision>,
}

/// Returns the token for a page that begins at `start`, a key below `prefix`.
pub(crate) fn encode(start: &str, prefix: &str, revision: Option<Revision>) -> Result<String, StorageError> {
    let suffix = start.strip_prefix(prefix).ok_or_else(|| {
        StorageError::InvalidRequest(InvalidRequest::OutsidePrefix {
            prefix: prefix.to_owned(),
            start: start.to_owned(),
        })
    })?;
    let revision = match revision {
        None => -1,
        Some(revision) => i64::try_from(revision).unwrap_or(i64::MAX),
    };
    let suffix = Value::from(suffix);
    Ok(URL_SAFE_NO_PAD.encode(format!(r#"{{"v":"{API_VERSION}","rv":{revision},"start":{suffix}}}"#)))
}

/// Decodes a token. Errors use kube-apiserver's wording.
pub(crate) fn decode(token: &str, prefix: &str) -> Result<Position, StorageError> {
    let json = URL_SAFE_NO_PAD.decode(token).map_err(|error| not_valid(base64_text(&error)))?;
    let token: Token = serde_json::from_slice(&json).map_err(|error| not_valid(json_text(&json, &error)))?;
    if token.api_version != API_VERSION {
        let version = token.api_version;
        return Err(not_valid(format!("server does not recognize this encoded version {version}")));
    }
    let revision = match token.revision {
        0 => return Err(not_valid("incorrect encoded start resourceVersion (version meta.k8s.io/v1)")),
        revision => Revision::try_from(revision).ok(),
    };
    if token.start.is_empty() {
        return Err(not_valid("encoded start key empty (version meta.k8s.io/v1)"));
    }
    // A start like `../secrets/` would escape the prefix that the caller may read.
    let start = token.start.strip_prefix('/').unwrap_or(&token.start);
    if !is_clean(start) {
        return Err(not_valid(token.start));
    }
    Ok(Position { start: format!("{prefix}{start}"), revision })
}

/// Returns the refusal of a resource version beside a token. The token is read first, as by kube-apiserver.
pub fn with_resource_version(token: &str) -> StorageError {
    match decode(token, "") {
        Ok(_) => StorageError::InvalidRequest(InvalidRequest::RevisionWithToken),
        Err(error) => error,
    }
}

/// Whether a relative path has no empty, `.` or `..` segment, and so stays below its parent.
fn is_clean(path: &str) -> bool {
    !path.is_empty() && path.split('/').all(|step| !matches!(step, "" | "." | ".."))
}

fn not_valid(why: impl Into<String>) -> StorageError {
    StorageError::InvalidRequest(InvalidRequest::ContinueToken(why.into()))
}

fn base64_text(error: &base64::DecodeError) -> String {
    match error {
        base64::DecodeError::InvalidByte(at, _) | base64::DecodeError::InvalidLastSymbol(at, _) => {
            format!("illegal base64 data at input byte {at}")
        }
        base64::DecodeError::InvalidLength(length) => format!("illegal base64 data at input byte {length}"),
        base64::DecodeError::InvalidPadding => "illegal base64 data".to_owned(),
    }
}

/// Returns the error of Go's decoder for bytes that do not begin as JSON (each byte read as a character).
fn json_text(json: &[u8], error: &serde_json::Error) -> String {
    match json.first() {
        None => "unexpected end of JSON input".to_owned(),
        Some(first) if !matches!(first, b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n') => {
            format!("invalid character {} looking for beginning of value", quote_byte(*first))
        }
        Some(_) if error.is_eof() => "unexpected end of JSON input".to_owned(),
        Some(_) => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_kube_apiservers() {
        let token = encode("/registry/pods/default/a\0", "/registry/pods/", Some(42)).unwrap();
        let json = URL_SAFE_NO_PAD.decode(&token).unwrap();
        assert_eq!(
            String::from_utf8(json).unwrap(),
            r#"{"v":"meta.k8s.io/v1","rv":42,"start":"default/a\u0000"}"#
        );
        let position = decode(&token, "/registry/pods/").unwrap();
        assert_eq!(position, Position { start: "/registry/pods/default/a\0".to_owned(), revision: Some(42) });
        let newest = encode("/registry/pods/b\0", "/registry/pods/", None).unwrap();
        assert_eq!(decode(&newest, "/registry/pods/").unwrap().revision, None);
    }

    #[test]
    fn refusals_are_in_kube_apiservers_words() {
        let refusal = |token: &str| decode(token, "/registry/pods/").unwrap_err().to_string();
        let encoded = |json: &str| URL_SAFE_NO_PAD.encode(json);
        assert_eq!(
            refusal("zork"),
            "invalid continue token: continue key is not valid: invalid character 'Î' looking for beginning \
             of value"
        );
        assert_eq!(
            refusal("!!!"),
            "invalid continue token: continue key is not valid: illegal base64 data at input byte 0"
        );
        for (json, why) in [
            (r#"{"v":"meta.k8s.io/v1","rv":1"#, "unexpected end of JSON input"),
            ("", "unexpected end of JSON input"),
            ("\u{1}", r"invalid character '\x01' looking for beginning of value"),
        ] {
            let expected = format!("invalid continue token: continue key is not valid: {why}");
            assert_eq!(refusal(&encoded(json)), expected);
        }
        for start in ["../secrets/a", "a/../../b", "a//b", "./a"] {
            let token = encoded(&format!(r#"{{"v":"meta.k8s.io/v1","rv":1,"start":"{start}"}}"#));
            assert_eq!(
                refusal(&token),
                format!("invalid continue token: continue key is not valid: {start}")
            );
        }
        assert!(
            refusal(&encoded(r#"{"v":"meta.k8s.io/v1","rv":0,"start":"a"}"#)).contains("resourceVersion")
        );
        assert!(refusal(&encoded(r#"{"v":"meta.k8s.io/v1","rv":1,"start":""}"#)).contains("empty"));
        assert!(refusal(&encoded(r#"{"v":"v9","rv":1,"start":"a"}"#)).contains("does not recognize"));
    }
}
