//! Servers as tests use them, by way of kube-rs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "test code")]

mod clock;
mod faults;
mod snapshots;
mod starting;
mod support;
mod users;
