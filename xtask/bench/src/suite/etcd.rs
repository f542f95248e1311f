//! An etcd for the suite: one member on free loopback ports, with its own defaults.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::Failure;
use crate::process::free_port;

/// Maximum time until it responds.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running etcd; stopped when dropped.
pub(super) struct Etcd {
    child: Child,
    /// The URL.
    pub(super) url: String,
}

// === impl Etcd ===

impl Etcd {
    /// Starts an etcd on an empty directory, and waits until it responds.
    pub(super) async fn start(directory: &Path) -> Result<Self, Failure> {
        // `cargo xtask bench` finds or installs one.
        let program = std::env::var_os("ORLOP_ETCD").map_or_else(|| PathBuf::from("etcd"), PathBuf::from);
        let url = format!("http://127.0.0.1:{}", free_port()?);
        let peer = format!("http://127.0.0.1:{}", free_port()?);
        let child = Command::new(&program)
            .arg("--data-dir")
            .arg(directory)
            .args(["--name", "bench", "--listen-client-urls", &url, "--advertise-client-urls", &url])
            .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
            .args(["--initial-cluster", &format!("bench={peer}"), "--quota-backend-bytes", "8589934592"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("cannot start {}: {error}", program.display()))?;
        let etcd = Self { child, url };
        etcd.await_answer().await?;
        Ok(etcd)
    }

    async fn await_answer(&self) -> Result<(), Failure> {
        let address = self.url.trim_start_matches("http://");
        let started = Instant::now();
        while started.elapsed() < PATIENCE {
            if tokio::net::TcpStream::connect(address).await.is_ok() {
                // It listens shortly before it has elected itself.
                tokio::time::sleep(Duration::from_secs(2)).await;
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Err(format!("etcd at {} does not answer", self.url).into())
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        // Fails only if it is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
