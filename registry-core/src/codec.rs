//! Encoding and decoding of objects.

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
    /// Warnings about duplicate fields, in Kubernetes' words: `duplicate field "data.k"` for each; for YAML one text
    /// for all. The last value wins, except that JSON objects are merged, as in Go. At most 100 are reported.
    pub duplicates: Vec<String>,
}

/// Limits of a decoder.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum nesting depth of lists and objects.
    pub depth: usize,
    /// Maximum number of values that YAML aliases expand to.
    pub alias_expansions: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { depth: 128, alias_expansions: 100_000 }
    }
}

/// Error of decoding a body, with the position: a 400 response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DecodeError(pub String);
