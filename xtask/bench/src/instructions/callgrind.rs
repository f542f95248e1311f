//! A server under valgrind's callgrind, whose counting is switched on for the measured requests only.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::profile::Profile;
use crate::Failure;
use crate::client::Client;
use crate::process::{Directory, Launch, ServerProcess};

/// Maximum time until a server under callgrind is ready, which takes some fifty times as long as without it.
const PATIENCE: Duration = Duration::from_mins(10);

/// The server is quiet once it uses less of a processor than this, so that the work of its start is not counted.
const QUIET_PROCESSORS: f64 = 0.1;
/// Duration of each look at that.
const LOOK: Duration = Duration::from_secs(2);

/// Flags of a server whose requests cost least: objects in memory, and everybody may do everything.
const FLAGS: [&str; 2] = ["--storage-backend=memory", "--authorization-mode=AlwaysAllow"];

/// A server under callgrind.
pub(super) struct Callgrind {
    server: ServerProcess,
    /// The path of the profiles, without their numbers.
    profiles: PathBuf,
}

/// Checks that valgrind is installed.
///
/// # Errors
/// Names the package.
pub(super) fn find() -> Result<(), Failure> {
    for program in ["valgrind", "vgdb"] {
        let found =
            Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        found.map_err(|error| {
            format!(
                "cannot run {program}: {error}; --instructions needs valgrind (Debian: apt install valgrind)"
            )
        })?;
    }
    Ok(())
}

// === impl Callgrind ===

impl Callgrind {
    /// Starts a program, and waits until it is ready and the work of its start has ended.
    pub(super) async fn start(binary: &Path, directory: &Directory) -> Result<Self, Failure> {
        println!("starting it under callgrind …");
        let profiles = directory.join("profile");
        let mut command = Command::new("valgrind");
        command.args(["--tool=callgrind", "--instr-atstart=no", "--quiet"]);
        command.arg(format!("--callgrind-out-file={}", profiles.display()));
        command.arg(binary);
        let flags = FLAGS.map(str::to_owned);
        let launch = Launch { data: &directory.join("data"), etcd: None, main: None, flags: &flags };
        let server = ServerProcess::start_as(command, launch, PATIENCE).await?;
        let own = Self { server, profiles };
        own.await_quiet().await?;
        Ok(own)
    }

    /// Waits until the server does nothing.
    async fn await_quiet(&self) -> Result<(), Failure> {
        println!("waiting until it is quiet …");
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            let before = self.server.cpu_seconds()?;
            tokio::time::sleep(LOOK).await;
            if self.server.cpu_seconds()? - before < QUIET_PROCESSORS * LOOK.as_secs_f64() {
                return Ok(());
            }
        }
        Err(format!("the server was not quiet after {PATIENCE:?}").into())
    }

    /// Returns a client of the server.
    pub(super) fn client(&self) -> Result<Client, Failure> {
        self.server.client()
    }

    /// Begins to count.
    pub(super) fn begin(&self) -> Result<(), Failure> {
        self.tell(&["instrumentation", "on"])?;
        self.tell(&["zero"])
    }

    /// Ends counting. Returns the instructions of each of these operations.
    pub(super) fn end(&self, operations: u32) -> Result<Profile, Failure> {
        self.tell(&["dump"])?;
        self.tell(&["instrumentation", "off"])?;
        let (path, text) = self.take_dump()?;
        Profile::parse(&text, operations).map_err(|error| format!("{}: {error}", path.display()).into())
    }

    /// Stops the server.
    pub(super) async fn stop(self) {
        self.server.stop().await;
    }

    /// Returns the only profile that there is, and removes it.
    fn take_dump(&self) -> Result<(PathBuf, String), Failure> {
        let number = (1..1_000).find(|number| self.dump(*number).exists());
        let path = number.map(|number| self.dump(number)).ok_or("callgrind wrote no profile")?;
        let failed = |error| format!("cannot read {}: {error}", path.display());
        let text = std::fs::read_to_string(&path).map_err(failed)?;
        std::fs::remove_file(&path).map_err(failed)?;
        Ok((path, text))
    }

    fn dump(&self, number: u32) -> PathBuf {
        self.profiles.with_extension(number.to_string())
    }

    /// Sends a command to callgrind, and waits until it is carried out.
    fn tell(&self, words: &[&str]) -> Result<(), Failure> {
        let mut command = Command::new("vgdb");
        command.arg(format!("--pid={}", self.server.pid())).args(words);
        let output = command.output().map_err(|error| format!("cannot run vgdb: {error}"))?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!("vgdb {}: {}", words.join(" "), String::from_utf8_lossy(&output.stderr)).into())
    }
}
