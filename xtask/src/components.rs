//! `cargo xtask components`: the tests with Kubernetes' own controllers, scheduler and kubelets.

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use crate::{Failure, provision};

/// The programs, and the environment variables in which the tests look for their paths.
const PROGRAMS: [(&str, &str); 3] = [
    ("kube-controller-manager", "ORLOP_KUBE_CONTROLLER_MANAGER"),
    ("kube-scheduler", "ORLOP_KUBE_SCHEDULER"),
    ("kubemark", "ORLOP_KUBEMARK"),
];

/// Run the tests with Kubernetes' own controllers, scheduler and kubelets.
///
/// No package contains the programs. To build them (Go, about ten minutes), in a checkout of
/// <https://github.com/kubernetes/kubernetes> at v1.36:
///
///     go build -o DIRECTORY ./cmd/kube-controller-manager ./cmd/kube-scheduler ./cmd/kubemark
///
/// kubemark is a kubelet without containers.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Options {
    /// The directory with kube-controller-manager, kube-scheduler and kubemark.
    #[arg(long, value_name = "DIRECTORY", env = "ORLOP_COMPONENTS")]
    programs: PathBuf,
    /// Only tests whose name contains one of these.
    filters: Vec<String>,
}

/// Checks that the programs are there, and runs the tests.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let mut tests = Command::new("cargo");
    tests.args(["test", "--package", "apiserver", "--test", "components", "--"]);
    tests.args(["--ignored", "--test-threads=1", "--nocapture"]);
    tests.args(&options.filters);
    for (name, variable) in PROGRAMS {
        tests.env(variable, usable(&options.programs.join(name))?);
    }
    tests.env("ORLOP_KUBECTL", provision::kubectl()?);
    let status = tests.status().map_err(|error| format!("cannot run the tests: {error}"))?;
    if status.success() { Ok(()) } else { Err("the tests failed".into()) }
}

/// Returns the absolute path of a program that runs.
fn usable(path: &Path) -> Result<PathBuf, Failure> {
    let runs = Command::new(path).arg("--version").output().is_ok_and(|output| output.status.success());
    if !runs {
        return Err(format!(
            "{}: does not run; `cargo xtask components --help` says how to build it",
            path.display()
        )
        .into());
    }
    std::path::absolute(path).map_err(|error| format!("{}: {error}", path.display()).into())
}
