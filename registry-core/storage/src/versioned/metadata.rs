//! The metadata fields that the store itself needs, located without building a tree.

use std::borrow::Cow;

use bytes::{BufMut, Bytes, BytesMut};
use serde::Deserialize;

use crate::Revision;
use registry_schema::codec::DecodeError;

#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow, default)]
    metadata: Metadata<'a>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    #[serde(borrow, default)]
    uid: Cow<'a, str>,
    /// Borrowed, so that its offset in the bytes is known. A revision never needs escaping.
    #[serde(borrow, default)]
    resource_version: Option<&'a str>,
}

/// Returns `metadata.uid`; empty if absent.
pub(crate) fn uid(json: &[u8]) -> Result<Cow<'_, str>, DecodeError> {
    Ok(head(json)?.metadata.uid)
}

/// Replaces `metadata.resourceVersion`; all other bytes, and every offset before it, are unchanged.
pub(crate) fn replace_resource_version(json: &Bytes, revision: Revision) -> Result<Bytes, DecodeError> {
    let text = head(json)?.metadata.resource_version.ok_or(DecodeError::NoResourceVersion)?;
    // The text is a slice of `json`: its offset is the difference of the start addresses.
    let start = text.as_ptr() as usize - json.as_ptr() as usize;
    let mut replaced = BytesMut::with_capacity(json.len() + 4);
    replaced.put(json.slice(..start));
    replaced.put(revision.to_string().as_bytes());
    replaced.put(json.slice(start + text.len()..));
    Ok(replaced.freeze())
}

fn head(json: &[u8]) -> Result<Head<'_>, DecodeError> {
    serde_json::from_slice(json).map_err(DecodeError::Metadata)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_objects_own_resource_version_is_replaced() {
        let json = Bytes::from_static(
            br#"{"kind":"W","metadata":{"annotations":{"resourceVersion":"7"},"resourceVersion":"7","uid":"u"},"resourceVersion":"7"}"#,
        );
        let replaced = replace_resource_version(&json, 12).unwrap();
        assert_eq!(
            &replaced[..],
            br#"{"kind":"W","metadata":{"annotations":{"resourceVersion":"7"},"resourceVersion":"12","uid":"u"},"resourceVersion":"7"}"#
        );
        assert_eq!(uid(&replaced).unwrap(), "u");
    }

    #[test]
    fn values_without_an_object_are_refused() {
        assert!(uid(b"1").is_err());
        assert!(replace_resource_version(&Bytes::from_static(b"{}"), 1).is_err());
        assert_eq!(uid(br#"{"metadata":{"uid":"\u00e9"}}"#).unwrap(), "é");
    }
}
