//! The work of a request grows linearly with its body.
//!
//! Bodies are generated: for every list and map of every kind's schema one with as many minimal elements as
//! fit. Each is processed as in a server, at one size and at four times that size. Only the processor time of
//! the thread is compared, so that the load of the machine does not matter.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "what is missing fails the test"
)]

/// The server's own, so that the measured time is the server's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod bodies;
mod cost;
mod expressions;
mod fixture;
mod kinds;
mod requests;
