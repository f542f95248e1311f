//! Tells the crate the commit that it is built from.

use std::path::Path;
use std::process::Command;

/// The name under which a packager gives the commit of sources without a repository.
const GIVEN: &str = "ORLOP_COMMIT";
/// The Kubernetes version in `apiserver --version`.
const KUBERNETES: &str = "Kubernetes 1.36.2";
/// Digits of a commit in `apiserver --version`.
const SHORT_DIGITS: usize = 12;

fn main() {
    // A commit on the same branch does not change this file: only what is built from scratch, or from a commit that was
    // checked out, is sure to have the right one. Building anew after each commit would cost more than that is worth.
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.git");
    println!("cargo:rerun-if-changed=build.rs");
    let head_file = repository.join("HEAD");
    // A file that does not exist counts as changed.
    if head_file.exists() {
        println!("cargo:rerun-if-changed={}", head_file.display());
    }
    println!("cargo:rerun-if-env-changed={GIVEN}");
    let commit = std::env::var(GIVEN).ok().or_else(|| head(&repository)).unwrap_or_default();
    let commit = if commit.bytes().all(|byte| byte.is_ascii_hexdigit()) { commit } else { String::new() };
    let built = match commit.get(..SHORT_DIGITS).unwrap_or(&commit) {
        "" => String::new(),
        short => format!("commit {short}, "),
    };
    println!("cargo:rustc-env={GIVEN}={commit}");
    println!("cargo:rustc-env=ORLOP_LONG_VERSION={} ({built}{KUBERNETES})", env!("CARGO_PKG_VERSION"));
}

/// Returns the commit that is checked out.
fn head(repository: &Path) -> Option<String> {
    let output =
        Command::new("git").arg("--git-dir").arg(repository).args(["rev-parse", "HEAD"]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
