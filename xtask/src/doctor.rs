//! `cargo xtask doctor`: whether this machine has what building and testing need.

use std::net::TcpListener;
use std::process::Command;

use clap::Args;

use crate::Failure;

/// Check that this machine has what building and testing need, and print what to do about what it lacks.
#[derive(Debug, Args)]
pub(crate) struct Options {}

/// Free disk that a build of everything with its tests fills, in GiB.
const DISK_GIBIBYTES: u64 = 20;

/// Available memory with which two crates at a time are compiled and linked, in GiB.
const MEMORY_GIBIBYTES: u64 = 4;

/// The ports of a server and of etcd without flags.
const PORTS: [u16; 3] = [6443, 2379, 2380];

/// The command that prints the version of a program, and what to do if it fails.
type Program = (&'static [&'static str], &'static str);

const REQUIRED: [Program; 5] = [
    (&["cargo", "clippy", "--version"], "rustup component add clippy"),
    (&["cargo", "fmt", "--version"], "rustup component add rustfmt"),
    (&["cc", "--version"], "install a C compiler (Debian and Ubuntu: gcc)"),
    (&[".cargo/protoc", "--version"], "`cargo fetch`, or install protobuf-compiler"),
    (&["python3", "--version"], "install Python 3"),
];

const OPTIONAL: [Program; 4] = [
    (&["etcd", "--version"], "`cargo xtask test` installs it, or set ORLOP_ETCD"),
    (&["kubectl", "version", "--client"], "`cargo xtask test` installs it, or set ORLOP_KUBECTL"),
    (&["strace", "--version"], "`cargo xtask test` installs it, or set ORLOP_STRACE"),
    (&["cargo", "nextest", "--version"], "cargo install cargo-nextest: tests run faster"),
];

/// The result of a check.
struct Check {
    name: String,
    is_good: bool,
    is_required: bool,
    /// The version, size or state.
    found: String,
    advice: String,
}

// === impl Check ===

impl Check {
    fn line(&self) -> String {
        let Self { name, is_good, is_required, found, advice } = self;
        match (is_good, is_required) {
            (true, _) => format!("ok       {name}: {found}"),
            (false, true) => format!("MISSING  {name}: {found}; {advice}"),
            (false, false) => format!("note     {name}: {found}; {advice}"),
        }
    }
}

/// Prints the result of every check. Fails if something is missing without which nothing is built or tested.
pub(crate) fn run(_: &Options) -> Result<(), Failure> {
    let mut checks = vec![toolchain(&std::fs::read_to_string("Cargo.toml")?)];
    checks.extend(REQUIRED.map(|command| program(command, true)));
    checks.extend(OPTIONAL.map(|command| program(command, false)));
    let memory = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| available_gibibytes(&text));
    checks.extend(memory.map(|free| quantity("memory", free, MEMORY_GIBIBYTES, "build with `--jobs 1`")));
    let disk = output(&["df", "-Pk", "."]).and_then(|text| free_gibibytes(&text));
    checks.extend(disk.map(|free| quantity("disk", free, DISK_GIBIBYTES, "try `cargo clean`")));
    checks.extend(PORTS.map(port));
    println!("{}", checks.iter().map(Check::line).collect::<Vec<_>>().join("\n"));
    match checks.iter().filter(|check| check.is_required && !check.is_good).count() {
        0 => Ok(()),
        count => Err(format!("{count} of the above are missing").into()),
    }
}

fn toolchain(manifest: &str) -> Check {
    let needed = manifest.lines().find_map(|line| line.strip_prefix("rust-version = ")).unwrap_or_default();
    let needed = needed.trim_matches('"');
    let found = output(&["rustc", "--version"]).unwrap_or_else(|| "not found".to_owned());
    let is_good = found.split(' ').nth(1).is_some_and(|version| numbers(version) >= numbers(needed));
    let advice = format!("rustup update: {needed} or newer is needed");
    Check { name: "rustc".to_owned(), is_good, is_required: true, found, advice }
}

fn program((command, advice): Program, is_required: bool) -> Check {
    let version = output(command);
    let is_good = version.is_some();
    let found =
        version.unwrap_or_else(|| "not found".to_owned()).lines().next().unwrap_or_default().to_owned();
    let name = command.split_last().map_or_else(String::new, |(_, name)| name.join(" "));
    Check { name, is_good, is_required, found, advice: advice.to_owned() }
}

fn quantity(name: &str, free: u64, needed: u64, advice: &str) -> Check {
    let (found, advice) = (format!("{free} GiB free"), format!("{needed} GiB are good; {advice}"));
    Check { name: name.to_owned(), is_good: free >= needed, is_required: false, found, advice }
}

fn port(port: u16) -> Check {
    let is_good = TcpListener::bind(("127.0.0.1", port)).is_ok();
    let found = if is_good { "free" } else { "in use" }.to_owned();
    let advice = "tests take other ports, servers by hand `--secure-port`".to_owned();
    Check { name: format!("port {port}"), is_good, is_required: false, found, advice }
}

/// Returns what a command prints, without the space around it, if it succeeds.
fn output(command: &[&str]) -> Option<String> {
    let (program, arguments) = command.split_first()?;
    let output =
        Command::new(program).args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Returns the numbers of a version, as `1.95.0`.
fn numbers(version: &str) -> Vec<u32> {
    version.split('.').map_while(|number| number.parse().ok()).collect()
}

/// Returns the available memory in `/proc/meminfo`.
fn available_gibibytes(text: &str) -> Option<u64> {
    let kibibytes = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(kibibytes.split_whitespace().next()?.parse::<u64>().ok()? >> 20)
}

/// Returns the free space in the output of `df -Pk`.
fn free_gibibytes(text: &str) -> Option<u64> {
    Some(text.lines().nth(1)?.split_whitespace().nth(3)?.parse::<u64>().ok()? >> 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_and_notes_are_told_apart() {
        let old = toolchain("rust-version = \"1.0\"\n").line();
        assert!(old.starts_with("ok       rustc: rustc 1."), "{old}");
        let new = toolchain("rust-version = \"99.0\"\n").line();
        assert!(new.starts_with("MISSING  rustc: rustc 1.") && new.contains("99.0 or newer"), "{new}");
        let disk =
            "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/a 100 50 10485760 50% /\n";
        let disk = quantity("disk", free_gibibytes(disk).unwrap_or_default(), 20, "`cargo clean`").line();
        assert_eq!(disk, "note     disk: 10 GiB free; 20 GiB are good; `cargo clean`");
        assert_eq!(available_gibibytes("MemTotal: 9 kB\nMemAvailable:    8388608 kB\n"), Some(8));
    }
}
