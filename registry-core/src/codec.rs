//! Bytes to objects and back.

pub mod cbor;
mod duplicates;
pub mod json;
pub mod protobuf;
pub mod stored;
pub mod yaml;

use serde_json::Value;

/// A decoded body.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    /// The value.
    pub value: Value,
    /// What there is to say of fields that came more than once, in Kubernetes' words: `duplicate field "data.k"` for
    /// each of them, of YAML one text for all. The last one counts, objects of JSON grow together, as in Go. At most
    /// 100 are told.
    pub duplicates: Vec<String>,
}

/// How much a decoder takes before it refuses.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How deep lists and objects may nest.
    pub depth: usize,
    /// How many values YAML aliases may expand to in all.
    pub alias_expansions: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { depth: 128, alias_expansions: 100_000 }
    }
}

/// A body that cannot be decoded: 400 at the edge. The text says where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DecodeError(pub String);
