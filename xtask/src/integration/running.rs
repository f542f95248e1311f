//! Compiling the tests of a package, and running each in a process of its own.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use super::results::{self, Results, is_top};
use crate::Failure;

/// The version that the tests' binaries report, which is the one that the server reports.
const VERSION: &str = "v1.36.2";

/// The time in which etcd has to listen.
const ETCD_LIMIT: Duration = Duration::from_secs(30);

/// The directory of apiextensions-apiserver's own tests, which are named by their directories below it.
const EXTENSIONS: &str = "staging/src/k8s.io/apiextensions-apiserver/test/integration";

/// Everything that the tests of packages are run with; the paths are absolute.
pub(super) struct Runner {
    pub(super) tree: PathBuf,
    pub(super) go: PathBuf,
    pub(super) etcd: PathBuf,
    /// The server's program; the one inside the process if there is none.
    pub(super) server: Option<PathBuf>,
    pub(super) work: PathBuf,
    pub(super) overlay: PathBuf,
    pub(super) limit_seconds: u32,
}

/// A running etcd with a directory of its own, which ends and is removed with this.
struct Etcd {
    process: Child,
    directory: PathBuf,
    url: String,
}

// === impl Runner ===

impl Runner {
    /// Compiles the tests of a package, runs those that match the pattern, and prints a line for each.
    pub(super) fn run(&self, package: &str, pattern: &str) -> Result<Results, Failure> {
        let folder = folder(package);
        if !self.tree.join(&folder).is_dir() {
            return Err(format!("there is no {folder} in {}", self.tree.display()).into());
        }
        let work = self.work.join(package);
        std::fs::create_dir_all(&work)?;
        let program = work.join("tests");
        self.compile(&folder, &program)?;
        let pattern = if pattern.is_empty() { "." } else { pattern };
        let etcd = Etcd::start(&self.etcd)?;
        let mut list = Command::new(&program);
        self.surround(&mut list, &folder, &etcd)?;
        let listed = list.arg(format!("-test.list={pattern}")).output()?;
        let names = String::from_utf8_lossy(&listed.stdout).into_owned();
        let names: Vec<&str> = names.lines().filter(|name| name.starts_with("Test")).collect();
        if names.is_empty() {
            return Err(format!("no test matches {pattern}: {}", last_lines(&listed)).into());
        }
        let mut all = Results::new();
        for (position, name) in names.iter().enumerate() {
            let start = Instant::now();
            let results = self.run_test(&folder, &program, name, &work.join(name), &etcd)?;
            let word = results.get(*name).map_or("did not run", |outcome| outcome.word());
            let failed = results::significant(&results).keys().filter(|name| !is_top(name)).count();
            let mut note = format!("{:.1} s", start.elapsed().as_secs_f32());
            if failed > 0 {
                let _ = write!(note, ", {failed} subtests failed");
            }
            println!("  {}/{} {word:12} {name} ({note})", position + 1, names.len());
            all.extend(results);
        }
        Ok(all)
    }

    /// Compiles the tests of a package.
    fn compile(&self, folder: &str, program: &Path) -> Result<(), Failure> {
        let start = Instant::now();
        let (major, minor) = VERSION.trim_start_matches('v').split_once('.').unwrap_or((VERSION, ""));
        let minor = minor.split('.').next().unwrap_or_default();
        let module = "k8s.io/component-base/version";
        let link = format!(
            "-s -w -X {module}.gitVersion={VERSION} -X {module}.gitMajor={major} -X {module}.gitMinor={minor}"
        );
        let mut go = Command::new(&self.go);
        go.current_dir(&self.tree).args(["test", "-c", "-vet=off", "-ldflags", &link]);
        go.arg("-overlay").arg(&self.overlay).arg("-o").arg(program).arg(format!("./{folder}"));
        // Nothing is fetched: the tree has all its dependencies.
        go.envs([
            ("GOTOOLCHAIN", "local"),
            ("GOPROXY", "off"),
            ("GOFLAGS", "-mod=vendor"),
            ("CGO_ENABLED", "0"),
        ]);
        let output = go.output().map_err(|error| format!("{}: {error}", self.go.display()))?;
        if !output.status.success() {
            return Err(format!("the tests do not compile:\n{}", last_lines(&output)).into());
        }
        println!("  compiled ({:.1} s)", start.elapsed().as_secs_f32());
        Ok(())
    }

    /// Sets the directory and the environment that the tests of a package need.
    fn surround(&self, command: &mut Command, folder: &str, etcd: &Etcd) -> Result<(), Failure> {
        command.current_dir(self.tree.join(folder)).stdin(Stdio::null());
        command.env("KUBE_INTEGRATION_ETCD_URL", &etcd.url);
        // Some tests start an etcd of their own.
        let mut paths: Vec<PathBuf> = self.etcd.parent().map(Path::to_owned).into_iter().collect();
        paths.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        command.env("PATH", std::env::join_paths(paths)?);
        Ok(())
    }

    /// Runs one test.
    fn run_test(
        &self,
        folder: &str,
        program: &Path,
        name: &str,
        work: &Path,
        etcd: &Etcd,
    ) -> Result<Results, Failure> {
        let _ = std::fs::remove_dir_all(work);
        std::fs::create_dir_all(work)?;
        let temporary = etcd.directory.join("tmp");
        std::fs::create_dir_all(&temporary)?;
        let mut test = Command::new(&self.go);
        // timeout(1) ends the whole process group of a test that does not end itself.
        test.args(["tool", "test2json", "-t", "timeout", "--kill-after=5"]);
        test.arg((self.limit_seconds + 20).to_string()).arg(program);
        test.args(["-test.v=test2json".to_owned(), format!("-test.run=^{name}$")]);
        test.arg(format!("-test.timeout={}s", self.limit_seconds));
        self.surround(&mut test, folder, etcd)?;
        test.env("TMPDIR", &temporary).env("ORLOP_LOGS", work);
        test.envs([("GOTOOLCHAIN", "local"), ("GOPROXY", "off"), ("GOFLAGS", "")]);
        if let Some(server) = &self.server {
            test.env("ORLOP_SERVER", server);
        }
        let output = test.output().map_err(|error| format!("{}: {error}", self.go.display()))?;
        let (results, mut text) = results::read(&String::from_utf8_lossy(&output.stdout));
        text.push_str(&String::from_utf8_lossy(&output.stderr));
        std::fs::write(work.join("output.txt"), text)?;
        let _ = std::fs::remove_dir_all(&temporary);
        Ok(results)
    }
}

/// Returns the directory of a package in the tree.
fn folder(package: &str) -> String {
    match package.strip_prefix("apiextensions-apiserver") {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{EXTENSIONS}{rest}"),
        _ => format!("test/integration/{package}"),
    }
}

/// Returns the end of what a program printed.
fn last_lines(output: &Output) -> String {
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let lines: Vec<&str> = text.lines().collect();
    let skipped = lines.len().saturating_sub(20);
    lines.into_iter().skip(skipped).collect::<Vec<_>>().join("\n")
}

// === impl Etcd ===

impl Etcd {
    fn start(program: &Path) -> Result<Self, Failure> {
        // Short, because names of sockets below it are limited.
        let directory = std::env::temp_dir().join(format!("orlop-integration-{}", std::process::id()));
        std::fs::create_dir_all(&directory)?;
        let client = free_address()?;
        let url = format!("http://{client}");
        let peer = format!("http://{}", free_address()?);
        let log = std::fs::File::create(directory.join("etcd.log"))?;
        let process = Command::new(program)
            .arg("--data-dir")
            .arg(directory.join("etcd"))
            .args(["--listen-client-urls", &url, "--advertise-client-urls", &url])
            .args(["--listen-peer-urls", &peer, "--unsafe-no-fsync", "--log-level=error"])
            .args(["--quota-backend-bytes=8589934592"])
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .map_err(|error| format!("{}: {error}", program.display()))?;
        let etcd = Self { process, directory, url };
        let deadline = Instant::now() + ETCD_LIMIT;
        while TcpStream::connect(client).is_err() {
            if Instant::now() > deadline {
                let log = std::fs::read_to_string(etcd.directory.join("etcd.log"))?;
                return Err(format!("etcd does not listen after {ETCD_LIMIT:?}: {log}").into());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(etcd)
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Returns an address of the loopback interface at which nothing listens.
fn free_address() -> Result<SocketAddr, Failure> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_have_their_directories() {
        assert_eq!(folder("apiserver/oidc"), "test/integration/apiserver/oidc");
        assert_eq!(folder("apiextensions-apiserver"), EXTENSIONS);
        assert_eq!(folder("apiextensions-apiserver/conversion"), format!("{EXTENSIONS}/conversion"));
    }
}
