//! A real etcd for a test binary, on free loopback ports, with its data in a temporary directory.

use std::fs::File;
use std::io;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use etcd_client::{AlarmAction, AlarmType};

use crate::etcd3::{Etcd3, Etcd3Options};

/// Environment variable with the path of the etcd to run instead of the one on the PATH.
pub const ETCD_VARIABLE: &str = "ORLOP_ETCD";

/// Maximum number of attempts to start: another process may take a free port before etcd does.
const STARTS: usize = 5;

/// A running etcd. Dropping it stops it and removes its data.
pub struct Etcd {
    directory: PathBuf,
    client_url: String,
    peer_url: String,
    tls: Option<TlsFiles>,
    process: Option<Child>,
}

/// PEM files for mutual TLS. One certificate serves for both sides.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The certificate authority that signed the certificate.
    pub ca_file: PathBuf,
    /// The certificate, for 127.0.0.1.
    pub cert_file: PathBuf,
    /// Its key.
    pub key_file: PathBuf,
}

/// etcd could not be started.
#[derive(Debug, thiserror::Error)]
pub enum EtcdError {
    /// No etcd program was found.
    #[error(
        "no etcd at `{program}`: `cargo xtask test` installs it, or set {ETCD_VARIABLE} to an etcd binary ({source})"
    )]
    Missing {
        /// The program tried.
        program: String,
        /// The reason.
        source: io::Error,
    },
    /// Its directory or files cannot be created.
    #[error("cannot prepare etcd's directory: {0}")]
    Directory(#[from] io::Error),
    /// It started but does not respond.
    #[error("etcd does not answer; its log ends with:\n{0}")]
    Silent(String),
}

// === impl Etcd ===

impl Etcd {
    /// Starts an empty etcd and waits until it responds.
    pub async fn start() -> Result<Self, EtcdError> {
        Self::start_on("http", None).await
    }

    /// Starts an etcd that uses TLS and requires client certificates.
    pub async fn start_with_tls(files: TlsFiles) -> Result<Self, EtcdError> {
        Self::start_on("https", Some(files)).await
    }

    async fn start_on(scheme: &str, tls: Option<TlsFiles>) -> Result<Self, EtcdError> {
        let mut failure = String::new();
        for _ in 0..STARTS {
            let directory = std::env::temp_dir().join(format!("orlop-etcd-{}", uuid::Uuid::new_v4()));
            std::fs::create_dir_all(&directory)?;
            let client_url = free_url(scheme)?;
            let peer_url = free_url("http")?;
            let tls = tls.clone();
            let mut etcd = Self { directory, client_url, peer_url, tls, process: None };
            match etcd.restart().await {
                Err(EtcdError::Silent(log)) => failure = log,
                Err(error) => return Err(error),
                Ok(()) => return Ok(etcd),
            }
        }
        Err(EtcdError::Silent(failure))
    }

    /// Kills it (SIGKILL), keeping its data.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            // The process may have ended already.
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// Sends it a signal by name, for example `STOP`.
    pub fn signal(&self, name: &str) -> io::Result<()> {
        let process = self.process.as_ref().map_or(0, Child::id);
        let status = Command::new("kill").args(["-s", name, &process.to_string()]).status()?;
        if status.success() { Ok(()) } else { Err(io::Error::other(format!("kill ended with {status}"))) }
    }

    /// Starts it again with the same data and ports, and waits until it responds.
    pub async fn restart(&mut self) -> Result<(), EtcdError> {
        self.kill();
        self.process = Some(self.spawn()?);
        for _ in 0..100 {
            if Etcd3::connect(Etcd3Options { connect_timeout_seconds: 1, ..self.options() }).await.is_ok() {
                return Ok(());
            }
            let gone = self.process.as_mut().is_none_or(|process| matches!(process.try_wait(), Ok(Some(_))));
            if gone {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Err(EtcdError::Silent(self.log_tail()))
    }

    /// Raises or lifts the alarm of a database that has reached its quota.
    pub async fn set_no_space(&self, is_raised: bool) -> Result<(), etcd_client::Error> {
        let client = etcd_client::Client::connect([&self.client_url], None).await?;
        let action = if is_raised { AlarmAction::Activate } else { AlarmAction::Deactivate };
        client.maintenance_client().alarm(action, AlarmType::Nospace, None).await?;
        Ok(())
    }

    /// Returns the options to connect to it, without automatic compaction.
    pub fn options(&self) -> Etcd3Options {
        Etcd3Options {
            endpoints: vec![self.client_url.clone()],
            ca_file: self.tls.as_ref().map(|files| files.ca_file.clone()),
            cert_file: self.tls.as_ref().map(|files| files.cert_file.clone()),
            key_file: self.tls.as_ref().map(|files| files.key_file.clone()),
            compaction_interval: Duration::ZERO,
            request_timeout_seconds: 10,
            ..Etcd3Options::default()
        }
    }

    /// Connects to it.
    ///
    /// # Panics
    /// Panics if it does not respond.
    pub async fn connect(&self) -> Arc<Etcd3> {
        Etcd3::connect(self.options()).await.expect("etcd answers")
    }

    fn spawn(&self) -> Result<Child, EtcdError> {
        let program = std::env::var(ETCD_VARIABLE).unwrap_or_else(|_| "etcd".to_owned());
        let log = File::options().create(true).append(true).open(self.directory.join("log"))?;
        let client = &self.client_url;
        let peer = &self.peer_url;
        let mut command = Command::new(&program);
        if let Some(files) = &self.tls {
            command.arg("--client-cert-auth").arg("--trusted-ca-file").arg(&files.ca_file);
            command.arg("--cert-file").arg(&files.cert_file).arg("--key-file").arg(&files.key_file);
        }
        command
            .arg("--data-dir")
            .arg(self.directory.join("data"))
            .args(["--name", "test", "--listen-client-urls", client, "--advertise-client-urls", client])
            .args(["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer])
            .args(["--initial-cluster", &format!("test={peer}")])
            .args(["--heartbeat-interval", "20", "--election-timeout", "200"])
            .args(["--experimental-watch-progress-notify-interval", "1s"])
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .map_err(|source| EtcdError::Missing { program, source })
    }

    fn log_tail(&self) -> String {
        let log = std::fs::read_to_string(self.directory.join("log")).unwrap_or_default();
        let lines: Vec<_> = log.lines().collect();
        lines[lines.len().saturating_sub(10)..].join("\n")
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        self.kill();
        // The system eventually removes what remains in a temporary directory.
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Returns a loopback URL with a currently unused port.
fn free_url(scheme: &str) -> io::Result<String> {
    Ok(format!("{scheme}://{}", TcpListener::bind("127.0.0.1:0")?.local_addr()?))
}
