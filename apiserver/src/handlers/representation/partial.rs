//! `PartialObjectMetadata`: an object's metadata alone, sliced from its bytes.

use std::borrow::Cow;

use registry_core::api::StatusError;
use registry_core::codec::stored;
use registry_core::resource::ResourceType;
use responses::negotiation::MetaVersion;
use serde_json::Value;

use super::item::Item;

/// The form of objects of which only the metadata are returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Partial {
    /// The version of `meta.k8s.io`.
    pub(crate) version: MetaVersion,
    /// The annotations that are left out: those that the kind has in whole objects only.
    left_out: &'static [&'static str],
}

// === impl Partial ===

impl Partial {
    /// Returns the form of a resource's objects.
    pub(crate) fn for_resource(resource: &ResourceType, version: MetaVersion) -> Self {
        Self { version, left_out: resource.strategy.field_annotations() }
    }

    /// Writes an object's metadata as a `PartialObjectMetadata`.
    ///
    /// # Errors
    /// 500 if the bytes are not an object.
    pub(crate) fn write(self, buffer: &mut Vec<u8>, item: &Item<'_>) -> Result<(), StatusError> {
        let metadata = item.metadata()?;
        let metadata = if self.left_out.is_empty() { metadata } else { self.without(item, &metadata)? };
        buffer.extend_from_slice(b"{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"");
        buffer.extend_from_slice(self.version.api_version().as_bytes());
        buffer.extend_from_slice(b"\",\"metadata\":");
        buffer.extend_from_slice(&metadata);
        buffer.push(b'}');
        Ok(())
    }

    /// Returns metadata without the annotations that are left out.
    fn without(self, item: &Item<'_>, metadata: &[u8]) -> Result<Cow<'static, [u8]>, StatusError> {
        let mut metadata = stored::decode(metadata).map_err(|error| item.unreadable(&error))?;
        for annotation in self.left_out {
            metadata.remove(&["annotations", annotation]);
        }
        let annotations = metadata.get(&["annotations"]).and_then(Value::as_object);
        if annotations.is_some_and(serde_json::Map::is_empty) {
            metadata.remove(&["annotations"]);
        }
        Ok(Cow::Owned(metadata.into_value().to_string().into_bytes()))
    }
}

impl From<MetaVersion> for Partial {
    fn from(version: MetaVersion) -> Self {
        Self { version, left_out: &[] }
    }
}

#[cfg(test)]
mod tests {
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
            Partial::from(MetaVersion::V1).write(&mut written, &item).unwrap();
            assert_eq!(String::from_utf8(written).unwrap(), expected);
            assert!(matches!(item.metadata(), Ok(Cow::Borrowed(_))));
        }
    }

    #[test]
    fn annotations_that_represent_fields_are_left_out() {
        for (annotations, left) in
            [(r#""f":"1","a":"b""#, r#"{"annotations":{"a":"b"}}"#), (r#""f":"1""#, "{}")]
        {
            let json = format!(r#"{{"metadata":{{"annotations":{{{annotations}}}}}}}"#);
            let form = Partial { version: MetaVersion::V1, left_out: &["f"] };
            let mut written = Vec::new();
            form.write(&mut written, &Item::encoded(json.as_bytes())).unwrap();
            assert!(String::from_utf8(written).unwrap().ends_with(&format!(r#""metadata":{left}}}"#)));
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
