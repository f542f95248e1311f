//! The API from request to stored object and back, without a network: two built-in kinds and a custom one,
//! over the embedded engine and its watch cache.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "what is missing fails the test"
)]

mod cbor;
mod custom;
mod discovery;
mod errors;
mod fixture;
mod nesting;
mod order;
mod patches;
mod protobuf;
mod verbs;
mod watches;
