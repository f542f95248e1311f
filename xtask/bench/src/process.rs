//! The server under measurement: its address, and its CPU time and memory as the kernel counts them.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::client::Client;
use crate::Failure;

/// Ticks per second of the times in `/proc/<pid>/stat`: fixed at 100 on Linux (`USER_HZ`).
const TICKS_PER_SECOND: f64 = 100.0;

/// The token of the project's own server.
const TOKEN: &str = "bench-token";

/// The tokens of two tenants, users of the group `tenants`, which has no permissions by itself.
pub(crate) const TENANT_TOKENS: [&str; 2] = ["bench-quiet", "bench-flood"];

/// The path of the server's binary.
pub(crate) const BINARY: &str = "target/release/apiserver";

/// The path of the binary of the example's extension server.
const EXTENSION_BINARY: &str = "target/release/zoo";

/// Maximum time until a server is ready.
const PATIENCE: Duration = Duration::from_mins(1);

/// A running server.
pub(crate) struct ServerProcess {
    url: String,
    token: String,
    pid: u32,
    own: Option<OwnServer>,
}

/// A server started for the measurement; stopped when dropped.
struct OwnServer {
    child: Child,
    ready_after: Duration,
}

/// A directory that is removed when dropped.
pub(crate) struct Directory(PathBuf);

/// The configuration of a started server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Launch<'a> {
    /// Its data directory; the token file is beside it.
    pub(crate) data: &'a Path,
    /// The etcd and the key prefix; `None` for the embedded store.
    pub(crate) etcd: Option<(&'a str, &'a str)>,
    /// The kubeconfig of its main server, if it is an extension server.
    pub(crate) main: Option<&'a Path>,
    /// Further flags.
    pub(crate) flags: &'a [String],
}

/// Builds this project's server in release mode.
pub(crate) fn build() -> Result<(), Failure> {
    build_package("apiserver")
}

/// Builds the extension server of the example in release mode.
pub(crate) fn build_extension() -> Result<(), Failure> {
    build_package("zoo")
}

/// Builds a package by itself, so that its server has the features that it is delivered with.
fn build_package(package: &str) -> Result<(), Failure> {
    println!("building {package} in release mode …");
    let built = Command::new("cargo").args(["build", "--release", "--package", package]).status();
    if built.is_ok_and(|status| status.success()) {
        return Ok(());
    }
    Err(format!("cargo build --release --package {package} failed").into())
}

// === impl Launch ===

impl Launch<'_> {
    fn binary(&self) -> &'static str {
        if self.main.is_some() { EXTENSION_BINARY } else { BINARY }
    }

    /// Returns the content of the token file. An extension server has to ask its main server about the tenants.
    fn tokens(&self) -> String {
        let admin = format!("{TOKEN},admin,1,\"system:masters\"\n");
        if self.main.is_some() {
            return admin;
        }
        let [quiet, flood] = TENANT_TOKENS;
        format!("{admin}{quiet},quiet,2,\"tenants\"\n{flood},flood,3,\"tenants\"\n")
    }
}

// === impl ServerProcess ===

impl ServerProcess {
    /// Attaches to a running server.
    pub(crate) fn attach(url: &str, token: &str, pid: u32) -> Self {
        Self { url: url.to_owned(), token: token.to_owned(), pid, own: None }
    }

    /// Starts this project's server, which must be built, on a free port, and waits until it is ready.
    pub(crate) async fn start(launch: Launch<'_>) -> Result<Self, Failure> {
        Self::start_as(Command::new(launch.binary()), launch, PATIENCE).await
    }

    /// Starts a server by this command, to which the flags are added, and waits until it is ready.
    pub(crate) async fn start_as(
        mut command: Command,
        launch: Launch<'_>,
        patience: Duration,
    ) -> Result<Self, Failure> {
        let tokens = launch.data.with_extension("tokens.csv");
        std::fs::write(&tokens, launch.tokens())
            .map_err(|error| format!("cannot write {}: {error}", tokens.display()))?;
        let port = free_port()?;
        command.arg("--data-dir").arg(launch.data).arg("--token-auth-file").arg(&tokens);
        command.arg("--secure-port").arg(port.to_string());
        if let Some((servers, prefix)) = launch.etcd {
            command.arg("--etcd-servers").arg(servers).arg("--etcd-prefix").arg(prefix);
        }
        if let Some(kubeconfig) = launch.main {
            command.arg("--kubeconfig").arg(kubeconfig);
        }
        command.args(launch.flags);
        let started = Instant::now();
        let child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("cannot start {}: {error}", command.get_program().display()))?;
        let mut server = Self {
            url: format!("https://127.0.0.1:{port}"),
            token: TOKEN.to_owned(),
            pid: child.id(),
            own: Some(OwnServer { child, ready_after: Duration::ZERO }),
        };
        server.await_ready(started, patience).await?;
        Ok(server)
    }

    /// Terminates a started server, and waits until it has ended.
    pub(crate) async fn stop(mut self) {
        let Some(own) = &mut self.own else { return };
        // If this fails, dropping it kills the process.
        let _ = Command::new("kill").arg(self.pid.to_string()).status();
        let asked = Instant::now();
        while asked.elapsed() < PATIENCE && matches!(own.child.try_wait(), Ok(None)) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Returns a client of the server.
    pub(crate) fn client(&self) -> Result<Client, Failure> {
        Client::new(&self.url, &self.token)
    }

    /// Returns a client of the server with this token.
    pub(crate) fn client_of(&self, token: &str) -> Result<Client, Failure> {
        Client::new(&self.url, token)
    }

    /// Returns the server's process id.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Returns the server's URL.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Returns the time from the server's start until it was ready.
    pub(crate) fn ready_after(&self) -> Option<Duration> {
        self.own.as_ref().map(|own| own.ready_after)
    }

    /// Returns the CPU time used so far, user and system, in seconds.
    pub(crate) fn cpu_seconds(&self) -> Result<f64, Failure> {
        let path = format!("/proc/{}/stat", self.pid);
        let stat = std::fs::read_to_string(&path).map_err(|error| format!("cannot read {path}: {error}"))?;
        // The command's name, in parentheses, may contain spaces: count the fields after it.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks = |at: usize| fields.get(at).and_then(|text| text.parse::<f64>().ok()).unwrap_or_default();
        Ok((ticks(11) + ticks(12)) / TICKS_PER_SECOND)
    }

    /// Returns the resident memory, in mebibytes.
    pub(crate) fn resident_mebibytes(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid)).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
        line.split_whitespace().next().and_then(|text| text.parse::<f64>().ok()).unwrap_or_default() / 1024.0
    }

    async fn await_ready(&mut self, started: Instant, patience: Duration) -> Result<(), Failure> {
        let client = self.client()?;
        while started.elapsed() < patience {
            if let Ok(mut connection) = client.connect().await
                && connection.exchange(hyper::Method::GET, "/readyz", bytes::Bytes::new()).await.is_ok()
            {
                if let Some(own) = &mut self.own {
                    own.ready_after = started.elapsed();
                }
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        Err(format!("the server was not ready after {patience:?}; start it by hand to see why").into())
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        // Fails only if the server is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

// === impl Directory ===

impl Directory {
    /// Creates a directory for this run's files.
    pub(crate) fn temporary() -> Result<Self, Failure> {
        let path = std::env::temp_dir().join(format!("orlop-bench-{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|error| format!("cannot make {}: {error}", path.display()))?;
        Ok(Self(path))
    }

    /// Returns a path in it.
    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // The system removes what is left in a temporary directory.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Returns a port that is free at present.
pub(crate) fn free_port() -> Result<u16, Failure> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    Ok(listener.local_addr()?.port())
}
