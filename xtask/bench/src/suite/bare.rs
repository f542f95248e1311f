//! The stores without a server: the throughput that their engines have alone.

use std::path::Path;
use std::process::Command;

use crate::Failure;

/// Cargo's arguments for the program, and the path of its binary.
const BUILD: [&str; 6] = ["build", "--release", "--package", "registry-storage", "--example", "bare_writes"];
const PROGRAM: &str = "target/release/examples/bare_writes";

/// Builds the program.
pub(super) fn build() -> Result<(), Failure> {
    println!("building the bare writer in release mode …");
    let built = Command::new("cargo").args(BUILD).status();
    if built.is_ok_and(|status| status.success()) {
        Ok(())
    } else {
        Err(format!("cargo {} failed", BUILD.join(" ")).into())
    }
}

/// Returns the durable creations per second of the embedded engine in a new directory.
pub(super) async fn embedded(directory: &Path, clients: usize, seconds: u64) -> Result<f64, Failure> {
    writes("embedded", &directory.display().to_string(), clients, seconds).await
}

/// Returns the durable creations per second of an etcd.
pub(super) async fn etcd(url: &str, clients: usize, seconds: u64) -> Result<f64, Failure> {
    writes("etcd", url, clients, seconds).await
}

async fn writes(engine: &str, place: &str, clients: usize, seconds: u64) -> Result<f64, Failure> {
    let mut command = Command::new(PROGRAM);
    command.args([engine, place, &clients.to_string(), &seconds.to_string()]);
    let output = tokio::task::spawn_blocking(move || command.output()).await?;
    let output = output.map_err(|error| format!("cannot start {PROGRAM}: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().map_err(|_| {
        format!("{PROGRAM} {engine} {place}: {}{}", text, String::from_utf8_lossy(&output.stderr)).into()
    })
}
