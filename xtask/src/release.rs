//! `cargo xtask release`: checks whether the present commit can be released, and makes the files of the release.

mod archive;
mod bill;
mod changelog;

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use crate::Failure;
use crate::workspace::Workspace;
use archive::Archive;
use bill::Bill;

/// The folder that the files are written to.
const FOLDER: &str = "target/release-files";

/// The package of the program.
const PROGRAM: &str = "apiserver";

/// Check whether the present commit can be released, and make the files of the release.
///
/// The version is that of the workspace. CHANGELOG.md must have a section for it, nothing may be changed beside the commit, the lock
/// file must fit, and the tag must be new. Then the program is built, and `target/release-files` gets an archive with the program,
/// its manual pages, completion scripts and the files for operators; a bill of materials (CycloneDX); the notes; and the checksums.
/// The commands for the tag are printed. Nothing is published.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Check only
    #[arg(long)]
    check: bool,
    /// Take this program instead of building one
    #[arg(long, value_name = "PROGRAM", conflicts_with = "target")]
    program: Option<PathBuf>,
    /// Build for this target of the compiler, for example x86_64-unknown-linux-musl
    #[arg(long, value_name = "TARGET")]
    target: Option<String>,
}

/// Runs the command.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let workspace = Workspace::load()?;
    let root = &workspace.root;
    let version = workspace.version(PROGRAM)?;
    let log = std::fs::read_to_string(root.join("CHANGELOG.md"))?;
    let notes = checked(root, version, &log)?;
    println!("{version} can be released");
    if options.check {
        return Ok(());
    }
    let program = match &options.program {
        Some(program) => program.clone(),
        None => build(root, options.target.as_deref())?,
    };
    let printed = printed_by(&program, &["--version"])?;
    let commit = output_of(Command::new("git").args(["rev-parse", "HEAD"]).current_dir(root))?;
    let short = commit.get(..12).unwrap_or(&commit);
    let expected = format!("orlop {version} (commit {short},");
    if !printed.starts_with(&expected) {
        return Err(format!("{} says {printed:?} instead of {expected:?}", program.display()).into());
    }
    let folder = root.join(FOLDER);
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    let target = options.target.clone().map_or_else(host, Ok)?;
    let bill = Bill::resolve(root, PROGRAM, &target)?;
    std::fs::write(folder.join(format!("orlop-{version}.cdx.json")), bill.text()?)?;
    std::fs::write(folder.join("NOTES.md"), &notes)?;
    let archive =
        Archive { root, folder: &folder, name: format!("orlop-{version}-{target}"), program: &program };
    archive.write()?;
    archive::write_checksums(&folder)?;
    println!(
        "wrote {FOLDER}\n\nNext:\n  git tag --annotate v{version} --file {FOLDER}/NOTES.md --cleanup=verbatim\n  git push origin v{version}"
    );
    Ok(())
}

/// Checks the state of the workspace. Returns the notes of the release.
fn checked(root: &Path, version: &str, log: &str) -> Result<String, Failure> {
    let notes = changelog::section(log, version)?;
    let changed = output_of(Command::new("git").args(["status", "--porcelain"]).current_dir(root))?;
    if !changed.is_empty() {
        return Err(format!("not everything is committed:\n{changed}").into());
    }
    let tag = format!("v{version}");
    let present = output_of(Command::new("git").args(["tag", "--list", &tag]).current_dir(root))?;
    if !present.is_empty() {
        return Err(format!("the tag {tag} is there already").into());
    }
    output_of(cargo().args(["metadata", "--locked", "--format-version=1"]).current_dir(root))?;
    Ok(notes)
}

/// Builds the program.
fn build(root: &Path, target: Option<&str>) -> Result<PathBuf, Failure> {
    let mut command = cargo();
    command.args(["build", "--locked", "--release", "--package", PROGRAM]).current_dir(root);
    let mut folder = root.join("target");
    if let Some(target) = target {
        command.args(["--target", target]);
        folder.push(target);
    }
    if !command.status()?.success() {
        return Err("the program does not compile".into());
    }
    Ok(folder.join("release").join(PROGRAM))
}

fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Returns the target that the compiler builds for by default.
fn host() -> Result<String, Failure> {
    let version = output_of(Command::new("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.ok_or("rustc -vV names no host")?.to_owned())
}

/// Returns what the program prints.
fn printed_by(program: &Path, arguments: &[&str]) -> Result<String, Failure> {
    // Relative paths without a folder would be looked for on PATH.
    output_of(Command::new(std::path::absolute(program)?).args(arguments))
}

/// Returns what a command prints, without the last line break.
fn output_of(command: &mut Command) -> Result<String, Failure> {
    let shown = format!("{command:?}");
    let output = command.output().map_err(|error| format!("{shown}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{shown}: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
}
