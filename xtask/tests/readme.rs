//! The steps of README.md, as they are written there, on a copy of this workspace.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "test code")]

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const README: &str = include_str!("../../README.md");

/// The way to a program on the PATH.
const INSTALL: &str = "cargo install --locked --path apiserver";

/// The folders that a build does not need.
const LEFT_OUT: [&str; 3] = ["target", ".git", "apiserver-data"];

/// Copies the files of a folder into another folder, and removes all others there. Files that are the same keep their
/// times, so that a second run builds little.
fn mirror(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    let names = |folder: &Path| -> Vec<std::ffi::OsString> {
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect()
    };
    let wanted: Vec<_> =
        names(from).into_iter().filter(|name| !LEFT_OUT.iter().any(|out| name == out)).collect();
    for gone in names(to).iter().filter(|name| !wanted.contains(name)) {
        let gone = to.join(gone);
        if gone.is_dir() { std::fs::remove_dir_all(gone) } else { std::fs::remove_file(gone) }.unwrap();
    }
    for name in wanted {
        let from = from.join(&name);
        let to = to.join(&name);
        if from.is_dir() {
            mirror(&from, &to);
        } else if std::fs::read(&to).ok() != Some(std::fs::read(&from).unwrap()) {
            std::fs::copy(from, to).unwrap();
        }
    }
}

/// The commands of the section, each with what it is given: those in single back-ticks that begin with `cargo`, and the
/// lines of the block for the shell.
fn steps() -> (Vec<String>, String) {
    let (_, section) = README.split_once("## Add a resource in three steps").expect("the section");
    let (section, _) = section.split_once("\nA custom server").expect("its end");
    let (before, shell) = section.split_once("```sh\n").expect("a block for the shell");
    let (shell, _) = shell.split_once("```").expect("its end");
    let outside_of_code = before.split("```").step_by(2).collect::<String>();
    let in_ticks = outside_of_code.split('`').skip(1).step_by(2);
    let commands = in_ticks.filter(|text| text.starts_with("cargo ")).map(str::to_owned).collect();
    let shell =
        shell.lines().map(|line| line.strip_prefix("   ").unwrap_or(line)).collect::<Vec<_>>().join("\n");
    (commands, shell)
}

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // The test may have failed already; there is nothing else to do about a process that cannot be killed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}\n{text}");
    text
}

#[test]
fn the_steps_of_the_readme_lead_to_a_served_resource() {
    let workspace = PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned();
    let copy = workspace.join("target/readme/workspace");
    mirror(&workspace, &copy);
    let shell = |text: &str| {
        let mut command = Command::new("sh");
        command.args(["-e", "-c", text]).current_dir(&copy);
        // Kept between runs, and shared with the test of a project outside of this workspace.
        command.env("CARGO_TARGET_DIR", workspace.join("target/outside"));
        command.envs([("CARGO_INCREMENTAL", "0"), ("CARGO_PROFILE_DEV_DEBUG", "0")]);
        command
    };
    let (commands, kubectl_commands) = steps();
    let [new, codegen, start] = commands.as_slice() else { panic!("three steps: {commands:?}") };
    run(&mut shell(new));
    // A struct that is in no storage map does not compile, and the message says what to do.
    let forgotten = shell("cargo check --quiet -p orlop-resources").output().unwrap();
    let output = String::from_utf8_lossy(&forgotten.stderr).into_owned();
    assert!(
        output.contains("has no `Main<…::Ship>`") && output.contains("run `cargo xtask codegen`"),
        "{output}"
    );
    run(&mut shell(codegen));
    run(&mut shell(&start.replace("cargo run", "cargo build --quiet")));

    let data = tempfile::tempdir().unwrap();
    let flags = format!("exec {start} --quiet -- --secure-port=0 --data-dir={}", data.path().display());
    let server = shell(&flags).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut server = Server(server);
    let mut lines = BufReader::new(server.0.stdout.take().unwrap()).lines();
    let export =
        lines.find_map(|line| line.ok().filter(|line| line.starts_with("export KUBECONFIG="))).unwrap();
    let kubectl = std::env::var("ORLOP_KUBECTL").unwrap_or_else(|_| "kubectl".to_owned());
    // The first objects of a server are made while it serves already.
    let ready = format!("{export}\nuntil {kubectl} get --raw /readyz; do sleep 0.1; done");
    run(&mut shell(&ready));
    let output = run(&mut shell(&format!(
        "{export}\nkubectl() {{ command '{kubectl}' \"$@\"; }}\n{kubectl_commands}"
    )));
    for expected in
        ["ship.harbor.example.dev/north created", "ada", "north scaled", "The desired number of replicas"]
    {
        assert!(output.contains(expected), "{expected:?} in {output}");
    }

    // The crates have been built: only the program is linked again.
    assert!(README.contains(&format!("`{INSTALL}`")), "README.md says how to install the program");
    let root = data.path().join("installed");
    run(&mut shell(&format!("{INSTALL} --debug --offline --quiet --root '{}'", root.display())));
    let version = run(Command::new(root.join("bin/apiserver")).arg("--version"));
    assert!(version.starts_with("orlop "), "{version}");
}
