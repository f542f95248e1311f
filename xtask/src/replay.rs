//! `cargo xtask replay`: recorded requests and a real kube-apiserver's answers, replayed against this server.
//!
//! The recordings are not part of this project. With them, the score of every area is printed and compared with the
//! floor in `docs/reference/golden-floor.json`, which never decreases; without them, the command only reports that.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use clap::Args;
use serde::{Deserialize, Serialize};

use crate::Failure;

/// The committed floor: the number of cases of each area that pass at level core.
const FLOOR: &str = "docs/reference/golden-floor.json";

/// Number of concurrent cases: a failing case spends most of its time waiting.
const PARALLEL: &str = "8";

/// Options of `cargo xtask replay`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The directory with `replay.py` and the recordings.
    #[arg(long, env = "ORLOP_GOLDEN", default_value = "../shared/golden")]
    golden: PathBuf,
    /// Only these areas.
    #[arg(long, value_delimiter = ',')]
    area: Vec<String>,
    /// Only cases whose id contains this.
    #[arg(long)]
    case: Option<String>,
    /// The level of differences that count: core or strict.
    #[arg(long, default_value = "core")]
    level: String,
    /// Write the scores as the new floor (it never decreases).
    #[arg(long)]
    raise_floor: bool,
    /// Print only the scores, not each failing case.
    #[arg(long)]
    quiet: bool,
    /// Also over a real etcd: the URL of one.
    #[arg(long)]
    etcd_servers: Option<String>,
}

/// The scores of a run, as the replayer writes them.
#[derive(Debug, Deserialize)]
struct Scores {
    areas: BTreeMap<String, AreaScore>,
}

/// One area's score.
#[derive(Debug, Deserialize, Serialize, Clone, Copy)]
struct AreaScore {
    core: u32,
    strict: u32,
    total: u32,
}

/// Builds and starts the server, replays, and compares the scores with the floor.
pub(crate) fn run(arguments: &Options) -> Result<(), Failure> {
    let script = arguments.golden.join("replay.py");
    if !script.exists() {
        println!(
            "replay: skipped, no recordings at {} (set ORLOP_GOLDEN to where they are)",
            arguments.golden.display()
        );
        return Ok(());
    }
    let server = Server::start(arguments.etcd_servers.as_deref())?;
    let results = server.directory.join("scores.json");
    let mut replayer = Command::new("python3");
    replayer.arg(&script).args(["--server", &server.url, "--insecure", "--parallel", PARALLEL]);
    replayer.args([
        "--token-admin",
        "admin-token",
        "--token-alice",
        "alice-token",
        "--level",
        &arguments.level,
    ]);
    replayer.arg("--json").arg(&results);
    for area in &arguments.area {
        replayer.args(["--area", area]);
    }
    if let Some(case) = &arguments.case {
        replayer.args(["--case", case]);
    }
    if arguments.quiet {
        replayer.arg("--quiet");
    }
    // Its exit code only indicates whether every case passed; the comparison with the floor decides.
    replayer.status().map_err(|error| format!("cannot run python3: {error}"))?;
    let text =
        std::fs::read_to_string(&results).map_err(|error| format!("the replayer left no scores: {error}"))?;
    let scores: Scores =
        serde_json::from_str(&text).map_err(|error| format!("cannot read the scores: {error}"))?;
    if arguments.case.is_some() {
        return Ok(());
    }
    hold_against_floor(&scores, arguments.raise_floor)
}

fn hold_against_floor(scores: &Scores, raise: bool) -> Result<(), Failure> {
    let floor_text = std::fs::read_to_string(FLOOR).unwrap_or_else(|_| "{}".to_owned());
    let mut floor: BTreeMap<String, AreaScore> =
        serde_json::from_str(&floor_text).map_err(|error| format!("{FLOOR}: {error}"))?;
    let mut sunk = Vec::new();
    for (area, score) in &scores.areas {
        let own = floor.entry(area.clone()).or_insert(AreaScore { core: 0, strict: 0, total: score.total });
        if score.core < own.core {
            sunk.push(format!("{area}: {} passed, the floor is {}", score.core, own.core));
        }
        own.core = own.core.max(score.core);
        own.strict = own.strict.max(score.strict);
        own.total = score.total;
    }
    if raise {
        let text = serde_json::to_string_pretty(&floor)?;
        std::fs::write(Path::new(FLOOR), text + "\n").map_err(|error| format!("{FLOOR}: {error}"))?;
    }
    if sunk.is_empty() { Ok(()) } else { Err(format!("below the floor:\n  {}", sunk.join("\n  ")).into()) }
}

/// A server of this project on a free port and a temporary directory.
struct Server {
    child: Child,
    directory: PathBuf,
    url: String,
}

impl Server {
    fn start(etcd_servers: Option<&str>) -> Result<Self, Failure> {
        let built = Command::new("cargo").args(["build", "--package", "apiserver"]).status();
        if !built.is_ok_and(|status| status.success()) {
            return Err("cargo build --package apiserver failed".into());
        }
        let failed = |error: std::io::Error| format!("cannot start the server: {error}");
        let directory = std::env::temp_dir().join(format!("orlop-replay-{}", std::process::id()));
        std::fs::create_dir_all(&directory).map_err(failed)?;
        let tokens = directory.join("tokens.csv");
        std::fs::write(&tokens, "admin-token,admin,admin,\"system:masters\"\nalice-token,alice,alice\n")
            .map_err(failed)?;
        let listener = std::net::TcpListener::bind("127.0.0.1:0").map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        drop(listener);
        let log = std::fs::File::create(directory.join("server.log")).map_err(failed)?;
        let mut command = Command::new("target/debug/apiserver");
        command.arg("--data-dir").arg(directory.join("data")).arg("--token-auth-file").arg(&tokens);
        // The recorded server had no controllers beside it.
        command.arg("--controllers=");
        // One case waits for a compaction of the history.
        command.args(["--secure-port", &port.to_string(), "--etcd-compaction-interval", "20s"]);
        if let Some(servers) = etcd_servers {
            command.args(["--etcd-servers", servers, "--etcd-prefix", &format!("/replay-{port}")]);
        }
        let child = command.stdout(Stdio::null()).stderr(log).spawn().map_err(failed)?;
        let server = Self { child, directory, url: format!("https://127.0.0.1:{port}") };
        server.await_port(port)?;
        Ok(server)
    }

    fn await_port(&self, port: u16) -> Result<(), Failure> {
        let started = Instant::now();
        while started.elapsed() < Duration::from_secs(20) {
            if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let log = std::fs::read_to_string(self.directory.join("server.log")).unwrap_or_default();
        Err(format!("the server did not come up within 20 s; it said:\n{log}").into())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Fails only if the server is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}
