//! `PartialObjectMetadata`: an object's metadata alone, sliced from its bytes.

use registry_core::api::StatusError;

use crate::responses::negotiation::MetaVersion;

use super::item::Item;

/// Writes an object's metadata as a `PartialObjectMetadata`.
///
/// # Errors
/// 500 if the bytes are not an object.
pub(crate) fn write(buffer: &mut Vec<u8>, item: &Item<'_>, version: MetaVersion) -> Result<(), StatusError> {
    let metadata = item.metadata()?;
    buffer.extend_from_slice(b"{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"");
    buffer.extend_from_slice(version.api_version().as_bytes());
    buffer.extend_from_slice(b"\",\"metadata\":");
    buffer.extend_from_slice(&metadata);
    buffer.push(b'}');
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use registry_core::storage::{Attributes, Entry};

    use super::*;

    #[test]
    fn metadata_is_cut_out_of_canonical_bytes() {
        let json = br#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"annotations":{"a":"}\\\"{"},"name":"x"},"data":{}}"#;
        let entry = Entry::new("/x".into(), 1, json[..].into(), 38, Attributes::default());
        let expected = r#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"annotations":{"a":"}\\\"{"},"name":"x"}}"#;
        for _ in 0..2 {
            let item = Item::stored(&entry);
            let mut written = Vec::new();
            write(&mut written, &item, MetaVersion::V1).unwrap();
            assert_eq!(String::from_utf8(written).unwrap(), expected);
            assert!(matches!(item.metadata(), Ok(Cow::Borrowed(_))));
        }
    }

    #[test]
    fn metadata_is_found_in_any_bytes() {
        let item = Item::encoded(br#"{ "metadata" : {"name" : "x"}, "kind":"ConfigMap"}"#);
        assert_eq!(&*item.metadata().unwrap(), br#"{"name":"x"}"#);
        assert_eq!(&*Item::encoded(b"{}").metadata().unwrap(), b"{}");
        let broken = br#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"broken":"#;
        let entry = Entry::new("/x".into(), 1, broken[..].into(), 38, Attributes::default());
        let failure = Item::stored(&entry).metadata().unwrap_err();
        assert_eq!(failure.code, 500);
        assert!(failure.message.contains("the stored value of /x cannot be read"), "{failure}");
    }
}
