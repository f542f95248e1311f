//! `PartialObjectMetadata`: an object's metadata alone, cut out of its bytes.

use std::borrow::Cow;

use super::items::Item;
use super::negotiation::MetaVersion;

/// How canonical bytes go on after `apiVersion` and `kind`.
const METADATA_KEY: &[u8] = b"\"metadata\":";

/// Writes an object's metadata as a `PartialObjectMetadata`.
pub(super) fn write(buffer: &mut Vec<u8>, item: &Item<'_>, version: MetaVersion) {
    buffer.extend_from_slice(b"{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"");
    buffer.extend_from_slice(version.api_version().as_bytes());
    buffer.extend_from_slice(b"\",\"metadata\":");
    buffer.extend_from_slice(&metadata(item));
    buffer.push(b'}');
}

/// The bytes of an object's metadata. Canonical bytes are cut, all others are parsed.
fn metadata<'a>(item: &Item<'a>) -> Cow<'a, [u8]> {
    let cut = item.tail.strip_prefix(METADATA_KEY).and_then(|rest| rest.get(..object_len(rest)?));
    if let Some(cut) = cut {
        return Cow::Borrowed(cut);
    }
    let parsed: serde_json::Value = serde_json::from_slice(item.json).unwrap_or_default();
    let metadata = parsed.get("metadata").filter(|metadata| metadata.is_object());
    Cow::Owned(metadata.map_or_else(|| b"{}".to_vec(), |metadata| metadata.to_string().into_bytes()))
}

/// How long the JSON object at the beginning of these bytes is.
fn object_len(bytes: &[u8]) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (at, byte) in bytes.iter().enumerate() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            _ if depth == 0 => return None,
            _ => {}
        }
        if depth == 0 && !in_string {
            return Some(at + 1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_cut_out_of_canonical_bytes() {
        let json = br#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"annotations":{"a":"}\\\"{"},"name":"x"},"data":{}}"#;
        let tail = json.get(38..).unwrap();
        assert!(tail.starts_with(METADATA_KEY));
        let item = Item { json, tail, revision: Some(1) };
        let mut written = Vec::new();
        write(&mut written, &item, MetaVersion::V1);
        let expected = r#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"annotations":{"a":"}\\\"{"},"name":"x"}}"#;
        assert_eq!(String::from_utf8(written).unwrap(), expected);
        assert!(matches!(metadata(&item), Cow::Borrowed(_)));
    }

    #[test]
    fn metadata_is_found_in_any_bytes() {
        let json = br#"{ "metadata" : {"name" : "x"}, "kind":"ConfigMap"}"#;
        let item = Item { json, tail: b"", revision: None };
        assert_eq!(&*metadata(&item), br#"{"name":"x"}"#);
        let none = Item { json: b"{}", tail: b"", revision: None };
        assert_eq!(&*metadata(&none), b"{}");
        assert_eq!(object_len(b"\"text\""), None);
        assert_eq!(object_len(b"{\"broken\":"), None);
    }
}
