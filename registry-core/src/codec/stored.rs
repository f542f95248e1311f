//! The encoding at rest, and how a stored value becomes what clients get.
//!
//! Canonical: `apiVersion`, `kind`, `metadata` first, everything below in key order, no white space, neither
//! `metadata.resourceVersion` nor `metadata.selfLink`.

use bytes::Bytes;

use crate::api::Object;

use super::DecodeError;

/// The canonical encoding of an object.
pub fn encode(_object: &Object) -> Bytes {
    todo!("codec helper")
}

/// Reads a stored value back: canonical JSON, or JSON as kube-apiserver writes it.
pub fn decode(_value: &[u8]) -> Result<Object, DecodeError> {
    todo!("codec helper")
}

/// The bytes a client gets: the stored value with `metadata.resourceVersion` spliced in, without parsing it
/// when it is canonical; and where in them the fields after `apiVersion` and `kind` begin.
pub fn with_resource_version(value: &Bytes, revision: u64) -> Result<(Bytes, u32), DecodeError> {
    let mut tree: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(value).map_err(|error| DecodeError(error.to_string()))?;
    let mut text = String::from("{");
    for key in ["apiVersion", "kind"] {
        if let Some(value) = tree.remove(key) {
            text.push_str(&format!("\"{key}\":{value},"));
        }
    }
    let offset = u32::try_from(text.len()).unwrap_or_default();
    let mut metadata = tree.remove("metadata").unwrap_or_else(|| serde_json::json!({}));
    let Some(fields) = metadata.as_object_mut() else {
        return Err(DecodeError("metadata is no object".to_owned()));
    };
    fields.remove("selfLink");
    fields.insert("resourceVersion".to_owned(), revision.to_string().into());
    text.push_str(&format!("\"metadata\":{metadata}"));
    for (key, value) in tree {
        text.push_str(&format!(",\"{key}\":{value}"));
    }
    text.push('}');
    Ok((Bytes::from(text), offset))
}
