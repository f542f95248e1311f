//! `cargo xtask integration`: Kubernetes' own integration tests against the built server.

mod expectations;
mod overlay;
mod results;
mod running;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::{Failure, provision};
use expectations::{Comparison, Expectations};
use results::{Outcome, Results, is_top};
use running::Runner;

/// The file with the expected results.
const EXPECTATIONS: &str = "xtask/src/integration/expectations.txt";

/// The directory for everything that is made.
const WORK: &str = "target/integration";

/// Run Kubernetes' own integration tests against the built server.
///
/// The tests start servers inside their own process. Go's compiler is given files in the place
/// of those that do (`-overlay`; see `xtask/src/integration/overlay.rs`), which start this server
/// instead, with every option that the test has changed as a flag. The tree is only read.
///
/// TREE is a checkout of <https://github.com/kubernetes/kubernetes> at v1.36 with its `vendor`
/// directory, DIR has the program `go` in a version that builds it, FILE is etcd. Without `--go`
/// and `--etcd`, both are found or else installed. The server is built first:
///
///     cargo build --release --package apiserver
///
/// A PACKAGE is a directory below `test/integration`, or `apiextensions-apiserver` or one below
/// that. Compiling the first takes some ten minutes, then each a minute. Each test runs in a
/// process of its own; its output and the logs of its servers are in
/// `target/integration/PACKAGE/TEST`.
///
/// The results are compared with `xtask/src/integration/expectations.txt`. The command fails if
/// something is worse than there; what is better is reported.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "EXAMPLES:\n  \
    cargo xtask integration --kubernetes ../kubernetes                       everything, some hours\n  \
    cargo xtask integration --kubernetes ../kubernetes apiserver/oidc auth   two packages\n  \
    cargo xtask integration --kubernetes ../kubernetes auth --test 'Node'    tests that match a pattern\n  \
    cargo xtask integration --kubernetes ../kubernetes auth --in-process     with kube-apiserver itself"
)]
pub(crate) struct Options {
    /// The checkout of Kubernetes.
    #[arg(long, value_name = "TREE", env = "ORLOP_KUBERNETES")]
    kubernetes: PathBuf,
    /// The directory with the program go.
    #[arg(long, value_name = "DIR")]
    go: Option<PathBuf>,
    /// The program etcd.
    #[arg(long, value_name = "FILE")]
    etcd: Option<PathBuf>,
    /// The server's program.
    #[arg(long, value_name = "FILE", default_value = "target/release/apiserver")]
    server: PathBuf,
    /// Only tests whose name matches this regular expression.
    #[arg(long, value_name = "PATTERN", default_value = "")]
    test: String,
    /// The time that a test may take.
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    limit_seconds: u32,
    /// Run the kube-apiserver inside the tests' process instead, to see whether a test judges at all.
    #[arg(long, conflicts_with = "write")]
    in_process: bool,
    /// Correct the file with the expectations: what changed has no reason yet, which is to be written there.
    #[arg(long)]
    write: bool,
    /// The packages; without any, all with expectations.
    #[arg(value_name = "PACKAGE")]
    packages: Vec<String>,
}

/// The numbers of one package's results.
#[derive(Debug, Default)]
struct Tally {
    /// Tests by the word of their outcome.
    tests: BTreeMap<&'static str, usize>,
    subtests_passed: usize,
    subtests_failed: usize,
}

/// Runs the command.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let runner = options.runner()?;
    let mut expectations: Expectations = std::fs::read_to_string(EXPECTATIONS)
        .map_err(|error| format!("{EXPECTATIONS}: {error}"))?
        .parse()
        .map_err(|error| format!("{EXPECTATIONS}: {error}"))?;
    let packages: Vec<String> = match options.packages.as_slice() {
        [] => expectations.packages.keys().cloned().collect(),
        chosen => chosen.iter().map(|name| name.trim_matches('/').to_owned()).collect(),
    };
    let mut tallies: Vec<(String, Tally)> = Vec::new();
    let mut worse = 0;
    for name in packages {
        println!("\n[{name}]");
        let results = match runner.run(&name, &options.test) {
            Ok(results) => results,
            Err(error) => {
                println!("  {error}");
                worse += 1;
                continue;
            }
        };
        let significant = results::significant(&results);
        let package = expectations.packages.entry(name.clone()).or_default();
        let comparison = package.compare(&results, &significant);
        if options.write {
            package.correct(&significant);
            std::fs::write(EXPECTATIONS, expectations.to_string())?;
        }
        worse += comparison.worse.len();
        comparison.print(options.write);
        tallies.push((name, Tally::count(&results)));
    }
    print_tallies(&tallies);
    match worse {
        0 => Ok(()),
        _ if options.write || options.in_process => Ok(()),
        _ => Err(format!(
            "{worse} results are worse than expected; `--write` accepts them, with their reasons to be written into \
             {EXPECTATIONS}"
        )
        .into()),
    }
}

/// Prints one line per package.
fn print_tallies(tallies: &[(String, Tally)]) {
    println!("\n{:40} passed failed refused cannot-judge skipped subtests passed/failed", "package");
    for (name, tally) in tallies {
        let count = |word| tally.tests.get(word).copied().unwrap_or_default();
        println!(
            "{name:40} {:6} {:6} {:7} {:12} {:7} {:8}/{}",
            count("passed"),
            count("failed"),
            count("refused"),
            count("cannot judge"),
            count("skipped"),
            tally.subtests_passed,
            tally.subtests_failed
        );
    }
}

// === impl Options ===

impl Options {
    /// Checks the paths, and makes what packages are run with.
    fn runner(&self) -> Result<Runner, Failure> {
        let tree = std::path::absolute(&self.kubernetes)?;
        if !tree.join("test/integration").is_dir() || !tree.join("vendor").is_dir() {
            return Err(format!(
                "{}: no test/integration and vendor below it; `cargo xtask integration --help` says what it has to be",
                tree.display()
            )
            .into());
        }
        let go = match &self.go {
            Some(directory) => directory.join("go"),
            None => provision::languages::go()?,
        };
        let etcd = match &self.etcd {
            Some(file) => file.clone(),
            None => provision::etcd()?,
        };
        let server = if self.in_process { None } else { Some(usable(&self.server)?) };
        let work = std::path::absolute(Path::new(WORK))?;
        let overlay = overlay::lay(&tree, &work.join("overlay"))?;
        let (go, etcd) = (usable(&go)?, usable(&etcd)?);
        Ok(Runner { tree, go, etcd, server, work, overlay, limit_seconds: self.limit_seconds })
    }
}

/// Returns the absolute path of a program that is there.
fn usable(path: &Path) -> Result<PathBuf, Failure> {
    if !path.is_file() {
        return Err(format!(
            "{}: no such program; `cargo xtask integration --help` says what is needed",
            path.display()
        )
        .into());
    }
    Ok(std::path::absolute(path)?)
}

// === impl Comparison ===

impl Comparison {
    fn print(&self, written: bool) {
        for (word, lines) in [("WORSE ", &self.worse), ("better", &self.better), ("new   ", &self.new)] {
            for line in lines {
                println!("  {word} {line}");
            }
        }
        let is_news = !self.better.is_empty() || !self.new.is_empty();
        if is_news && !written {
            println!("  `--write` notes what is better or new");
        }
    }
}

// === impl Tally ===

impl Tally {
    fn count(results: &Results) -> Self {
        let mut tally = Self::default();
        for (name, outcome) in results {
            if is_top(name) {
                *tally.tests.entry(outcome.word()).or_default() += 1;
            } else if *outcome == Outcome::Passed {
                tally.subtests_passed += 1;
            } else if *outcome == Outcome::Failed {
                tally.subtests_failed += 1;
            }
        }
        tally
    }
}
