//! The project that `cargo xtask new --crate` writes: outside of this workspace, with only Rust and a C compiler installed, it
//! builds and passes its own test at the first attempt.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Returns `PATH` without the directories that contain a `protoc`.
fn path_without_protoc() -> std::ffi::OsString {
    let path = std::env::var_os("PATH").unwrap();
    let folders = std::env::split_paths(&path).filter(|folder| !folder.join("protoc").exists());
    std::env::join_paths(folders).unwrap()
}

fn new(folder: &Path, arguments: &[&str]) -> Output {
    let workspace = PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned();
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.arg("new").args(arguments).arg("--crate").arg(folder).current_dir(workspace).output().unwrap()
}

#[test]
fn a_new_project_passes_its_test_at_the_first_attempt() {
    let workspace = PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned();
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("harbor-api");
    let written = new(&folder, &["harbor.example.dev/v1", "Ship"]);
    assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
    let again = new(&folder, &["harbor.example.dev/v1", "Ship"]);
    assert!(String::from_utf8_lossy(&again.stderr).contains("is not empty"), "nothing is overwritten");

    let output = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO"));
        command.args(arguments).current_dir(&folder);
        command.env_remove("PROTOC").env("PATH", path_without_protoc());
        // Kept between runs, and shared with the test of README.md. Nobody debugs what is built there.
        command.env("CARGO_TARGET_DIR", workspace.join("target/outside"));
        command.envs([("CARGO_INCREMENTAL", "0"), ("CARGO_PROFILE_DEV_DEBUG", "0")]);
        let output = command.output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    };
    let cargo = |arguments: &[&str]| {
        let (is_success, text) = output(arguments);
        assert!(is_success, "cargo {arguments:?}: {text}");
        text
    };
    let tested = cargo(&["test", "--offline"]);
    assert!(tested.contains("clients_of_the_main_server_use_this_api ... ok"), "{tested}");
    let manifests = cargo(&["run", "--quiet", "--offline", "--", "manifests", "--namespace=harbor"]);
    for part in
        ["name: v1.harbor.example.dev", "caBundle: ", "image: harbor-api:0.1.0", "system:auth-delegator"]
    {
        assert!(manifests.contains(part), "{part} is not in\n{manifests}");
    }
    let version = cargo(&["run", "--quiet", "--offline", "--", "--version"]);
    assert_eq!(version, "harbor-api 0.1.0\n");
    for (flag, feature) in [
        ("--etcd-servers=http://127.0.0.1:1", "etcd3"),
        ("--encryption-provider-config=Cargo.toml", "encryption"),
        ("--tracing-config-file=Cargo.toml", "tracing-export"),
        ("--oidc-signing-algs=ES512", "es512"),
    ] {
        let issuer = ["--oidc-issuer-url=https://127.0.0.1:1", "--oidc-client-id=ships", "--secure-port=0"];
        let arguments = [&["run", "--quiet", "--offline", "--"], &issuer[..], &[flag]].concat();
        let (is_success, text) = output(&arguments);
        assert!(!is_success && text.contains(&format!("with the feature `{feature}`")), "{flag}: {text}");
    }
    let (is_success, text) = output(&["run", "--quiet", "--offline", "--", "completion", "bash"]);
    assert!(!is_success && text.contains("with the feature `command-line`"), "{text}");
    let lock = std::fs::read_to_string(folder.join("Cargo.lock")).unwrap();
    assert!(
        lock.contains("name = \"fjall\"") && !lock.contains("name = \"etcd-client\""),
        "its own lock file"
    );
}

#[test]
fn projects_with_bad_names_are_refused() {
    let parent = tempfile::tempdir().unwrap();
    for (name, group_version, reason) in
        [("Harbor", "harbor.example.dev/v1", "lower case"), ("harbor", "v1", "needs a group")]
    {
        let refused = new(&parent.path().join(name), &[group_version, "Ship"]);
        let text = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && text.contains(reason), "{text}");
        assert!(!parent.path().join(name).exists(), "nothing is written");
    }
}
