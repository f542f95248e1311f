//! A custom crate outside of this workspace builds with only Rust and a C compiler installed.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// Copies a directory of source files.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Returns the zoo's manifest for use without the workspace: `workspace = true` is replaced by the inherited values.
fn manifest(workspace: &Path) -> String {
    let own = std::fs::read_to_string(workspace.join("examples/zoo/Cargo.toml")).unwrap();
    let shared = std::fs::read_to_string(workspace.join("Cargo.toml")).unwrap();
    let (own, _) = own.split_once("[dev-dependencies]").unwrap();
    let mut lines = Vec::new();
    for line in own.lines().filter(|line| !line.starts_with("[lints]") && *line != "workspace = true") {
        let Some((name, rest)) = line.split_once("workspace = true") else {
            lines.push(line.to_owned());
            continue;
        };
        let key = name.split(['.', ' ']).next().unwrap();
        let value = shared
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{key} = ")))
            .unwrap_or_else(|| panic!("the workspace says nothing of `{key}`"));
        let value = value
            .split(" # ")
            .next()
            .unwrap()
            .replace("path = \"", &format!("path = \"{}/", workspace.display()));
        let features =
            rest.strip_prefix(", ").map(|rest| rest.trim_end_matches('}').trim()).unwrap_or_default();
        lines.push(match features {
            "" => format!("{key} = {value}"),
            features => {
                format!("{key} = {}, {features} }}", value.trim_end().trim_end_matches('}').trim_end())
            }
        });
    }
    // An empty workspace table, so that Cargo does not search the parent directories.
    lines.join("\n") + "\n[workspace]\n"
}

/// Returns `PATH` without the directories that contain a `protoc`.
fn path_without_protoc() -> std::ffi::OsString {
    let path = std::env::var_os("PATH").unwrap();
    let folders = std::env::split_paths(&path).filter(|folder| !folder.join("protoc").exists());
    std::env::join_paths(folders).unwrap()
}

#[test]
fn the_zoo_builds_outside_of_the_workspace_without_a_protobuf_compiler() {
    let zoo = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let workspace = zoo.ancestors().nth(2).unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("Cargo.toml"), manifest(workspace)).unwrap();
    std::fs::copy(workspace.join("Cargo.lock"), folder.path().join("Cargo.lock")).unwrap();
    copy(&zoo.join("src"), &folder.path().join("src"));
    // `check` runs every build script, which is what makes a first `cargo build` fail, in half the time.
    let output = Command::new(env!("CARGO"))
        .args(["check", "--quiet"])
        .current_dir(folder.path())
        .env_remove("PROTOC")
        .env("PATH", path_without_protoc())
        // Kept between runs.
        .env("CARGO_TARGET_DIR", workspace.join("target/outside"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lock = std::fs::read_to_string(folder.path().join("Cargo.lock")).unwrap();
    assert!(
        lock.contains("name = \"fjall\"") && !lock.contains("name = \"kube-client\""),
        "the zoo's own lock file"
    );
}
