//! Admission webhooks of a whole server, over TLS.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    unreachable_pub,
    reason = "helpers of tests fail as tests do"
)]
#![allow(dead_code, reason = "the client is that of other tests, which use more of it")]

#[path = "../server/client.rs"]
mod client;
mod credentials;
#[path = "../support/hook.rs"]
mod hook;
mod hostile;
mod manifests;
mod matching;
mod mutating;
#[path = "../support/tls_server.rs"]
mod tls_server;
mod validating;
mod world;
