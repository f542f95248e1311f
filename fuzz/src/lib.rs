//! The invariants of `registry-core`'s decoder test, for libFuzzer.

#[path = "../../registry-core/tests/decoder_fuzz/invariants.rs"]
mod invariants;

pub use invariants::*;
