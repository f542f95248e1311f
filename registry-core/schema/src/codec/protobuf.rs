//! Kubernetes' protobuf: converts JSON trees to bytes and back, with the field numbers of a kind's schema.
//!
//! An object is the four bytes `k8s\0` followed by a `runtime.Unknown`, which contains the type and the message. The
//! message is the same wherever the object appears (alone, as a list item, in a watch event), so an encoded message can
//! be reused in each of them ([`envelope`], [`ListFrame`], [`watch_frame`]).
//!
//! The encoding equals that of Go's generated code byte for byte: fields in the order of their numbers, non-pointer
//! fields always present, maps sorted by key.
//!
//! Kubernetes concept: `k8s.io/apimachinery/pkg/runtime/serializer/protobuf`.

use std::borrow::Borrow;

use bytes::Bytes;
use serde_json::{Map, Value};

use crate::Schema;

use super::{DecodeError, Limits};

mod decode;
mod encode;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

pub use encode::EncodeError;
use reader::{Reader, WireType};
use writer::{close, open, write_bytes, write_key, write_varint};

/// The prefix of every object in protobuf.
pub const MAGIC: &[u8; 4] = b"k8s\0";

/// The envelope's last fields, content encoding and content type: always present and empty.
const ENVELOPE_END: &[u8] = &[0x1a, 0, 0x22, 0];

/// Maximum nesting depth of stored messages, the same as for stored JSON.
pub const STORED_DEPTH: usize = 512;

/// A parsed envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope<'a> {
    /// The group and version; may be empty.
    pub api_version: &'a str,
    /// The kind; may be empty.
    pub kind: &'a str,
    /// The message.
    pub message: &'a [u8],
}

/// The bytes of a list around its items, computed from the items' sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListFrame {
    /// The bytes before the items.
    pub prefix: Vec<u8>,
    /// The bytes after the items.
    pub suffix: &'static [u8],
}

/// The metadata of a list (`meta/v1 ListMeta`).
#[derive(Clone, Copy, Debug, Default)]
pub struct ListMetadata<'a> {
    /// The revision of the list.
    pub resource_version: &'a str,
    /// The continue token of the next page; empty on the last one.
    pub continue_token: &'a str,
    /// Number of remaining objects, if known.
    pub remaining: Option<i64>,
    /// The selector of the shard that the list is of; empty if it is of none.
    pub shard: &'a str,
}

// === objects ===

/// Encodes an object with its envelope.
///
/// # Errors
/// Fails if a value does not have the type of the schema. The values of a conformed object have it.
pub fn encode(value: &Value, schema: &Schema, api_version: &str, kind: &str) -> Result<Bytes, EncodeError> {
    Ok(envelope(api_version, kind, &encode_message(value, schema)?))
}

/// Encodes an object's message without the envelope, as used for list items.
///
/// # Errors
/// Fails as [`encode`] does.
pub fn encode_message(value: &Value, schema: &Schema) -> Result<Bytes, EncodeError> {
    let mut out = Vec::with_capacity(1024);
    encode::root(&mut out, schema.root(), value)?;
    Ok(out.into())
}

/// Wraps a message in an envelope with its type.
pub fn envelope(api_version: &str, kind: &str, message: &[u8]) -> Bytes {
    let mut out = Vec::with_capacity(message.len() + api_version.len() + kind.len() + 32);
    begin_envelope(&mut out, api_version, kind, message.len());
    out.extend_from_slice(message);
    out.extend_from_slice(ENVELOPE_END);
    out.into()
}

/// Decodes an object of a kind that `resolve` knows. Returns its JSON tree, including `apiVersion` and `kind`.
///
/// # Errors
/// Fails if the bytes are not an object in protobuf, the kind is unknown, or the message is malformed.
pub fn decode<S: Borrow<Schema>>(
    bytes: &[u8],
    limits: &Limits<'_>,
    resolve: impl FnOnce(&str, &str) -> Option<S>,
) -> Result<Value, DecodeError> {
    let envelope = Envelope::parse(bytes)?;
    let api_version = envelope.api_version;
    let kind = envelope.kind;
    let schema = resolve(api_version, kind)
        .ok_or_else(|| DecodeError::UnknownKind(kind.to_owned(), api_version.to_owned()))?;
    let mut fields = decode_message(envelope.message, schema.borrow(), limits)?;
    fields.insert("apiVersion".to_owned(), api_version.into());
    fields.insert("kind".to_owned(), kind.into());
    Ok(Value::Object(fields))
}

/// Decodes a message of a kind: the object without `apiVersion` and `kind`, which messages do not have.
///
/// # Errors
/// Fails if the message is malformed, exceeds the depth limit, or contains values that JSON cannot represent.
pub fn decode_message(
    message: &[u8],
    schema: &Schema,
    limits: &Limits<'_>,
) -> Result<Map<String, Value>, DecodeError> {
    decode::root(schema.root(), message, limits)
}

// === impl Envelope ===

impl<'a> Envelope<'a> {
    /// Parses an envelope.
    ///
    /// # Errors
    /// Fails if the bytes are not an object in protobuf.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        if bytes.is_empty() || bytes == MAGIC {
            return Err(DecodeError::Empty(if bytes.is_empty() { "empty data" } else { "empty body" }));
        }
        let unknown = bytes.strip_prefix(MAGIC).ok_or(DecodeError::NoProtobuf)?;
        let mut envelope = Self { api_version: "", kind: "", message: &[] };
        let mut reader = Reader::new(unknown);
        while let Some(key) = reader.key()? {
            match (key.number, key.wire_type) {
                (1, WireType::Bytes) => envelope.type_meta(reader.bytes()?)?,
                (2, WireType::Bytes) => envelope.message = reader.bytes()?,
                _ => reader.skip(key)?,
            }
        }
        Ok(envelope)
    }

    fn type_meta(&mut self, message: &'a [u8]) -> Result<(), DecodeError> {
        let mut reader = Reader::new(message);
        while let Some(key) = reader.key()? {
            match (key.number, key.wire_type) {
                (1, WireType::Bytes) => self.api_version = text(reader.bytes()?)?,
                (2, WireType::Bytes) => self.kind = text(reader.bytes()?)?,
                _ => reader.skip(key)?,
            }
        }
        Ok(())
    }
}

fn text(bytes: &[u8]) -> Result<&str, DecodeError> {
    std::str::from_utf8(bytes).map_err(|_| DecodeError::TypeName)
}

/// Writes an envelope up to its message, given the message's length.
fn begin_envelope(out: &mut Vec<u8>, api_version: &str, kind: &str, message_len: usize) {
    out.extend_from_slice(MAGIC);
    let type_meta = open(out, 1);
    write_bytes(out, 1, api_version.as_bytes());
    write_bytes(out, 2, kind.as_bytes());
    close(out, type_meta);
    write_key(out, 2, WireType::Bytes);
    write_varint(out, message_len as u64);
}

// === lists ===

impl ListFrame {
    /// Creates the frame for items whose [`item_len`]s add up to `items_len`.
    pub fn new(api_version: &str, kind: &str, metadata: &ListMetadata<'_>, items_len: usize) -> Self {
        let mut list = Vec::with_capacity(64);
        let at = open(&mut list, 1);
        write_bytes(&mut list, 1, b"");
        write_bytes(&mut list, 2, metadata.resource_version.as_bytes());
        write_bytes(&mut list, 3, metadata.continue_token.as_bytes());
        if let Some(remaining) = metadata.remaining {
            write_key(&mut list, 4, WireType::Varint);
            write_varint(&mut list, remaining.cast_unsigned());
        }
        if !metadata.shard.is_empty() {
            let shard = open(&mut list, 5);
            write_bytes(&mut list, 1, metadata.shard.as_bytes());
            close(&mut list, shard);
        }
        close(&mut list, at);
        let mut prefix = Vec::with_capacity(list.len() + 64);
        begin_envelope(&mut prefix, api_version, kind, list.len() + items_len);
        prefix.extend_from_slice(&list);
        Self { prefix, suffix: ENVELOPE_END }
    }
}

/// Returns the number of bytes of an item in a list: its message and what [`begin_item`] writes.
pub fn item_len(message_len: usize) -> usize {
    field_len(message_len)
}

/// Writes the header of an item in a list.
pub fn begin_item(out: &mut Vec<u8>, message_len: usize) {
    write_key(out, 2, WireType::Bytes);
    write_varint(out, message_len as u64);
}

// === watches ===

/// Writes a frame of a watch: a four-byte length and a `meta/v1 WatchEvent` with the object in its envelope.
pub fn watch_frame(out: &mut Vec<u8>, event: &str, api_version: &str, kind: &str, message: &[u8]) {
    // All sizes are computed in advance, so the message is copied only once.
    let mut head = Vec::with_capacity(96);
    begin_envelope(&mut head, api_version, kind, message.len());
    let envelope_len = head.len() + message.len() + ENVELOPE_END.len();
    let extension_len = field_len(envelope_len);
    let len = u32::try_from(field_len(event.len()) + field_len(extension_len)).unwrap_or(u32::MAX);
    out.extend_from_slice(&len.to_be_bytes());
    write_bytes(out, 1, event.as_bytes());
    write_key(out, 2, WireType::Bytes);
    write_varint(out, extension_len as u64);
    write_key(out, 1, WireType::Bytes);
    write_varint(out, envelope_len as u64);
    out.extend_from_slice(&head);
    out.extend_from_slice(message);
    out.extend_from_slice(ENVELOPE_END);
}

/// Returns the size of a length-delimited field with a small number.
fn field_len(len: usize) -> usize {
    1 + writer::varint_len(len as u64) + len
}
