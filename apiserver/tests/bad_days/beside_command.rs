//! `apiserver test -- COMMAND`: a server that lives as long as a command.

use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::process::Process;
use crate::start::names;

/// Runs a shell script beside a server, with these flags, in directories of its own.
fn run(home: &Path, flags: &[&str], script: &str) -> Output {
    for directory in ["work", "tmp"] {
        std::fs::create_dir_all(home.join(directory)).unwrap();
    }
    Command::new(env!("CARGO_BIN_EXE_apiserver"))
        .args(flags)
        .args(["test", "--", "sh", "-c", script])
        .current_dir(home.join("work"))
        .env("TMPDIR", home.join("tmp"))
        .output()
        .unwrap()
}

/// Asserts that nothing is left of a server.
fn assert_nothing_is_left(home: &Path) {
    assert_eq!(names(&home.join("tmp")), [""; 0]);
    assert_eq!(names(&home.join("work")), [""; 0]);
}

#[test]
fn a_command_finds_a_server_and_its_exit_code_is_that_of_the_process() {
    let home = TempDir::new().unwrap();
    let script = "kubectl create namespace a >&2 && kubectl delete namespace a >&2 && kubectl get namespaces -o name; exit 7";
    let output = run(home.path(), &[], script);
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(7), "{stderr}");
    let expected = ["default", "kube-node-lease", "kube-public", "kube-system"];
    assert_eq!(stdout, expected.map(|name| format!("namespace/{name}\n")).concat(), "{stderr}");
    assert_eq!(stderr, "namespace/a created\nnamespace \"a\" deleted\n", "the log is silent");
    assert_nothing_is_left(home.path());
}

#[test]
fn flags_of_the_server_stand_before_the_command() {
    let home = TempDir::new().unwrap();
    let flags = ["--authorization-mode=AlwaysDeny", "--write-kubeconfig=given"];
    let output = run(home.path(), &flags, "echo $KUBECONFIG; rm $KUBECONFIG");
    let given = home.path().canonicalize().unwrap().join("work/given");
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{}\n", given.display()));
    assert_nothing_is_left(home.path());
}

#[test]
fn a_command_that_cannot_be_run_is_named() {
    let home = TempDir::new().unwrap();
    std::fs::create_dir_all(home.path().join("tmp")).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_apiserver"))
        .args(["test", "--", "no-such-program"])
        .current_dir(home.path())
        .env("TMPDIR", home.path().join("tmp"))
        .output()
        .unwrap();
    let expected = "apiserver: cannot run \"no-such-program\": No such file or directory (os error 2)\n";
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(1), expected));
    assert_eq!(names(&home.path().join("tmp")), [""; 0]);
}

#[tokio::test]
async fn a_signal_ends_the_command_and_then_the_server() {
    let home = TempDir::new().unwrap();
    let script = "trap 'echo ended >&2; exit 3' TERM; echo begun >&2; while :; do sleep 0.05; done";
    let mut process = Process::spawn_in(home.path(), "test", &["test", "--", "sh", "-c", script]);
    process.says("begun").await;
    process.signal("TERM");
    assert_eq!(process.ended().await.code(), Some(3));
    assert_eq!(process.logged(), "begun\nended\n");
    assert_nothing_is_left(home.path());
}
