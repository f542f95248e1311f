//! The work of a request grows linearly with its body.
//!
//! Bodies are generated: for every list and map of every kind's schema one that has as many minimal elements as fit. Each
//! goes through what a server does with it, once at one size and once at four times that size. What counts is the
//! processor time of the thread, so that a busy machine changes nothing.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "what is missing fails the test"
)]

mod bodies;
mod cost;
mod fixture;
mod kinds;
mod requests;
