//! The programs that Kubernetes' test environments start: this one in the place of kube-apiserver and of etcd, started as
//! controller-runtime's envtest starts them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    unreachable_pub,
    reason = "helpers of tests fail as tests do"
)]
#![allow(dead_code, reason = "the webhook is that of other tests, which use more of it")]

mod assets;
mod environment;
#[path = "../support/hook.rs"]
mod hook;
mod parent;
mod sequence;
mod store;
#[path = "../support/tls_server.rs"]
mod tls_server;

use std::path::Path;
use std::time::{Duration, Instant};

/// Maximum time for expected events on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// Waits until something is so.
async fn until(expected: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !is_so().await {
        assert!(begun.elapsed() < PATIENCE, "not within {PATIENCE:?}: {expected}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Returns the names in a directory, sorted.
fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
