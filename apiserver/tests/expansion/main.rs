//! Bodies whose output is larger than their input: the memory of a whole server, and the time of work that nobody waits for.
//!
//! Bodies are generated from schemas. Memory is counted by the allocator, so that the tests do not depend on the machine.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    unreachable_pub,
    dead_code,
    reason = "helpers of tests fail as tests do, and not every test uses all of a shared client"
)]

/// Counts what is allocated, and its maximum.
#[global_allocator]
static ALLOCATOR: peak_alloc::PeakAlloc = peak_alloc::PeakAlloc;

#[path = "../costs/bodies.rs"]
mod bodies;
mod builtin;
#[path = "../server/client.rs"]
mod client;
#[path = "../costs/cost.rs"]
mod cost;
mod custom;
#[path = "../costs/fixture.rs"]
mod fixture;
mod honest;
mod left;
mod recorded;
mod world;
