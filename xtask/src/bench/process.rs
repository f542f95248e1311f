//! The server under measurement: its address, and its CPU time and memory as the kernel counts them.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Ticks per second of the times in `/proc/<pid>/stat`: fixed at 100 on Linux (`USER_HZ`).
const TICKS_PER_SECOND: f64 = 100.0;

/// The token the own server is started with.
const TOKEN: &str = "bench-token";

/// A running server.
pub(crate) struct ServerProcess {
    url: String,
    token: String,
    pid: u32,
    own: Option<OwnServer>,
}

/// A server started for the measurement; stopped and removed with it.
struct OwnServer {
    child: Child,
    directory: PathBuf,
    ready_after: Duration,
}

impl ServerProcess {
    /// A server somebody else started.
    pub(crate) fn attach(url: &str, token: &str, pid: u32) -> Self {
        Self { url: url.to_owned(), token: token.to_owned(), pid, own: None }
    }

    /// Builds this project's server in release mode and starts it on a temporary directory and a free port.
    pub(crate) async fn start(etcd_servers: Option<&str>) -> Result<Self, String> {
        println!("building the server in release mode …");
        let built = Command::new("cargo").args(["build", "--release", "--package", "apiserver"]).status();
        if !built.is_ok_and(|status| status.success()) {
            return Err("cargo build --release --package apiserver failed".to_owned());
        }
        let directory = std::env::temp_dir().join(format!("orlop-bench-{}", std::process::id()));
        std::fs::create_dir_all(&directory).map_err(|error| error.to_string())?;
        let tokens = directory.join("tokens.csv");
        std::fs::write(&tokens, format!("{TOKEN},admin,1,\"system:masters\"\n"))
            .map_err(|error| error.to_string())?;
        let port = free_port()?;
        let mut command = Command::new("target/release/apiserver");
        command.arg("--data-dir").arg(directory.join("data"));
        command.arg("--token-auth-file").arg(&tokens);
        command.arg("--secure-port").arg(port.to_string());
        if let Some(servers) = etcd_servers {
            command.arg("--etcd-servers").arg(servers).arg("--etcd-prefix").arg(format!("/bench-{port}"));
        }
        let started = Instant::now();
        let child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("cannot start target/release/apiserver: {error}"))?;
        let mut server = Self {
            url: format!("https://127.0.0.1:{port}"),
            token: TOKEN.to_owned(),
            pid: child.id(),
            own: Some(OwnServer { child, directory, ready_after: Duration::ZERO }),
        };
        server.await_ready(started).await?;
        Ok(server)
    }

    /// The server's URL.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// A bearer token that may do everything.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// How long the own server took from its start to ready.
    pub(crate) fn ready_after(&self) -> Option<Duration> {
        self.own.as_ref().map(|own| own.ready_after)
    }

    /// CPU time used so far, user and system, in seconds.
    pub(crate) fn cpu_seconds(&self) -> Result<f64, String> {
        let path = format!("/proc/{}/stat", self.pid);
        let stat = std::fs::read_to_string(&path).map_err(|error| format!("cannot read {path}: {error}"))?;
        // The command's name, in parentheses, may hold spaces: count the fields after it.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks = |at: usize| fields.get(at).and_then(|text| text.parse::<f64>().ok()).unwrap_or_default();
        Ok((ticks(11) + ticks(12)) / TICKS_PER_SECOND)
    }

    /// Resident memory, in mebibytes.
    pub(crate) fn resident_mebibytes(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid)).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
        line.split_whitespace().next().and_then(|text| text.parse::<f64>().ok()).unwrap_or_default() / 1024.0
    }

    async fn await_ready(&mut self, started: Instant) -> Result<(), String> {
        let client = super::client::Client::new(&self.url, &self.token)?;
        while started.elapsed() < Duration::from_secs(20) {
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
        Err("the server was not ready after 20 s; start it by hand to see why".to_owned())
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        // Nothing is left to do about a server that is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(Path::new(&self.directory));
    }
}

fn free_port() -> Result<u16, String> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    Ok(listener.local_addr().map_err(|error| error.to_string())?.port())
}
