//! `cargo xtask clients`: the tests of the packages for tests in other languages.

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Args, ValueEnum};

use crate::Failure;
use crate::provision::languages;

/// The directory for the classes of the Java package.
const JAVA_CLASSES: &str = "target/tools/java";

/// Run the tests of the packages in clients/, with the tools of their languages.
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLES:\n  \
    cargo xtask clients          all packages\n  \
    cargo xtask clients python   one of them")]
pub(crate) struct Options {
    /// The packages; all unless given.
    packages: Vec<Package>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Package {
    Python,
    Javascript,
    Go,
    Java,
}

/// Builds the server, finds or installs the tools, and runs the tests.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let server = server()?;
    let given = options.packages.as_slice();
    let packages = if given.is_empty() { Package::value_variants() } else { given };
    for package in packages {
        println!("=== clients/{}", package.directory());
        let mut tests = package.tests()?;
        tests.env("ORLOP_BIN", &server).current_dir(Path::new("clients").join(package.directory()));
        let status = tests.status().map_err(|error| format!("the tests do not run: {error}"))?;
        if !status.success() {
            return Err(format!("the tests of clients/{} failed", package.directory()).into());
        }
    }
    Ok(())
}

/// Builds the server, and returns its path.
fn server() -> Result<PathBuf, Failure> {
    println!("building the server …");
    let built = Command::new("cargo").args(["build", "--quiet", "--package", "apiserver"]).status();
    if !built.is_ok_and(|status| status.success()) {
        return Err("the server cannot be built".into());
    }
    let directory =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let server = directory.join("debug/apiserver");
    std::path::absolute(&server).map_err(|error| format!("{}: {error}", server.display()).into())
}

// === impl Package ===

impl Package {
    fn directory(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Javascript => "javascript",
            Self::Go => "go",
            Self::Java => "java",
        }
    }

    /// Returns the command that runs the tests.
    fn tests(self) -> Result<Command, Failure> {
        let mut command;
        match self {
            Self::Python => {
                command = Command::new(languages::python()?);
                command.args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider", "tests"]);
            }
            Self::Javascript => {
                command = Command::new(languages::node()?);
                command.args(["--test", "test/server.test.js"]);
            }
            Self::Go => {
                command = Command::new(languages::go()?);
                command.args(["test", "-count=1", "./..."]);
                // The package needs nothing but this toolchain.
                command.envs([("GOTOOLCHAIN", "local"), ("GOPROXY", "off"), ("CGO_ENABLED", "0")]);
            }
            Self::Java => {
                let java = languages::java()?;
                let classes = compile(&java)?;
                command = Command::new(&java.runtime);
                command.arg("-cp").arg(std::env::join_paths([&java.junit, &classes])?);
                command.args([languages::JUNIT_LAUNCHER, "--fail-if-no-tests", "--disable-banner"]);
                command.args(["--details=summary", "--scan-class-path"]).arg(&classes);
            }
        }
        Ok(command)
    }
}

/// Compiles the Java package with its tests, and returns the directory of the classes.
fn compile(java: &languages::Java) -> Result<PathBuf, Failure> {
    let classes = std::path::absolute(JAVA_CLASSES)?;
    if classes.exists() {
        std::fs::remove_dir_all(&classes)?;
    }
    let mut compiler = Command::new(&java.compiler);
    compiler.args(["--release", &languages::JAVA_RELEASE.to_string(), "-Xlint:all", "-Werror"]);
    compiler.arg("-cp").arg(&java.junit).arg("-d").arg(&classes);
    for directory in ["main", "test"] {
        let sources = Path::new("clients/java/src").join(directory).join("java/dev/orlop/testing");
        for entry in sources.read_dir()? {
            compiler.arg(entry?.path());
        }
    }
    if compiler.status()?.success() { Ok(classes) } else { Err("clients/java does not compile".into()) }
}
