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
pub fn with_resource_version(_value: &Bytes, _revision: u64) -> Result<(Bytes, u32), DecodeError> {
    todo!("codec helper")
}
