//! The controllers that run in the server: namespaces end, objects without owners are collected, and namespaces have what pods
//! need.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    unreachable_pub,
    reason = "what is missing fails the test"
)]

mod defaults;
mod garbage;
mod handover;
mod hostile;
mod jobs;
mod namespaces;
mod owner_graphs;
mod quotas;
mod world;
