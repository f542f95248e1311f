//! Encoding and decoding of objects.

pub mod cbor;
pub mod configuration;
mod duplicates;
mod error;
pub mod json;
pub mod protobuf;
pub mod stored;
pub mod yaml;

use serde_json::Value;

use registry_meta::budget::Budget;

use crate::FieldIssue;

pub use error::{DecodeError, TagError};

/// A decoded body.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    /// The value.
    pub value: Value,
    /// The duplicate fields; for YAML one issue for all. The last value wins, except that JSON objects are merged, as in Go.
    /// At most 100 are reported.
    pub duplicates: Vec<FieldIssue>,
    /// Whether there may be whole floats, which [`Limits::keeps_floats`] asked for.
    pub has_floats: bool,
}

/// Limits of a decoder.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'b> {
    /// Maximum nesting depth of lists and objects.
    pub depth: usize,
    /// Maximum number of values that YAML aliases expand to.
    pub alias_expansions: usize,
    /// The budget from which the memory of the decoded values is taken; `None` if it is not limited.
    pub budget: Option<&'b Budget>,
    /// Whether JSON numbers with a point or an exponent are floats, even those without a fraction: Go reads no integer of a
    /// struct from them. Otherwise `3.0` is 3, as in a map of Go.
    pub keeps_floats: bool,
}

// === impl Limits ===

impl Default for Limits<'_> {
    fn default() -> Self {
        Self { depth: 128, alias_expansions: 100_000, budget: None, keeps_floats: false }
    }
}

impl<'b> Limits<'b> {
    /// Returns the limits of a client's body, whose values take from this budget.
    pub fn within(budget: &'b Budget) -> Self {
        Self { budget: Some(budget), ..Self::default() }
    }

    /// Takes the memory of what is about to be made.
    fn take(&self, bytes: usize) -> Result<(), DecodeError> {
        match self.budget {
            Some(budget) => Ok(budget.take_bytes(bytes)?),
            None => Ok(()),
        }
    }

    /// Takes the memory of a value that was read from a stream, and from time to time checks whether anybody waits for it.
    fn take_next(&self, bytes: usize) -> Result<(), DecodeError> {
        let Some(budget) = self.budget else { return Ok(()) };
        budget.take_steps(1)?;
        Ok(budget.take_bytes(bytes)?)
    }

    /// Whether the budget is exhausted.
    fn is_exhausted(&self) -> bool {
        self.budget.is_some_and(|budget| budget.exhausted().is_some())
    }
}
