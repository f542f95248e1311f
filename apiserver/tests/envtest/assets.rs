//! The directory, the archive and the index of the programs.

use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Output};

use flate2::read::GzDecoder;
use tempfile::TempDir;

use crate::environment::PROGRAM;
use crate::names;

fn write(home: &Path, flags: &[&str], path: &str) -> Output {
    Command::new(PROGRAM).arg("test").args(flags).env("PATH", path).current_dir(home).output().unwrap()
}

fn assert_refused(output: &Output, reason: &str) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && stderr.contains(reason), "{stderr}");
}

/// Writes a program that prints this.
fn script(path: &Path, text: &str) {
    std::fs::write(path, format!("#!/bin/sh\necho {text}\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_directory_is_written_again_and_never_over_other_programs() {
    let home = TempDir::new().unwrap();
    let tools = home.path().join("tools");
    std::fs::create_dir(&tools).unwrap();
    script(&tools.join("kubectl"), "client");
    let path = tools.display().to_string();
    for _ in 0..2 {
        let output = write(home.path(), &["--assets=assets"], &path);
        assert!(output.status.success(), "{output:?}");
        let assets = home.path().join("assets");
        assert_eq!(names(&assets), ["etcd", "kube-apiserver", "kubectl"]);
        let files = ["etcd", "kube-apiserver"].map(|name| assets.join(name).metadata().unwrap());
        assert_eq!(files[0].ino(), files[1].ino(), "a link takes no space");
        assert_eq!(files[0].mode() & 0o777, 0o755);
        assert_eq!(std::fs::read_link(assets.join("kubectl")).unwrap(), tools.join("kubectl"));
    }
    // Another etcd, and a kubectl of the user's own.
    let other = home.path().join("other");
    std::fs::create_dir(&other).unwrap();
    script(&other.join("etcd"), "etcd Version: 3.6.0");
    let refused = write(home.path(), &["--assets=other"], &path);
    assert_refused(&refused, "other/etcd is another program");
    assert_eq!(names(&other), ["etcd"]);
    std::fs::remove_file(other.join("etcd")).unwrap();
    script(&other.join("kubectl"), "own");
    assert!(write(home.path(), &["--assets=other"], &path).status.success());
    assert!(std::fs::read_to_string(other.join("kubectl")).unwrap().contains("own"));
    // The directory in which the kubectl in PATH lies.
    assert!(write(home.path(), &["--assets=tools"], &path).status.success());
    assert!(std::fs::read_to_string(tools.join("kubectl")).unwrap().contains("client"));

    assert!(write(home.path(), &["--assets=without"], "/nowhere").status.success());
    assert_eq!(names(&home.path().join("without")), ["etcd", "kube-apiserver"]);
    std::fs::write(home.path().join("file"), "").unwrap();
    assert_refused(&write(home.path(), &["--assets=file"], &path), "cannot write file");
    symlink("/nowhere", home.path().join("dangling")).unwrap();
    assert_refused(&write(home.path(), &["--assets=dangling"], &path), "cannot write dangling");
    assert_refused(&write(home.path(), &["--assets=a", "--", "true"], &path), "cannot be used with");
    assert_refused(&write(home.path(), &[], &path), "required");
}

/// Reads an archive, as setup-envtest does: names and sizes of regular files.
fn entries(archive: &Path) -> Vec<(String, usize)> {
    let mut text = Vec::new();
    GzDecoder::new(std::fs::File::open(archive).unwrap()).read_to_end(&mut text).unwrap();
    let mut entries = Vec::new();
    let mut rest = text.as_slice();
    while rest[0] != 0 {
        let (header, after) = rest.split_at(512);
        let field = |from: usize, to: usize| {
            let field = &header[from..to];
            let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
            String::from_utf8(field[..end].to_vec()).unwrap()
        };
        assert_eq!((field(257, 263).as_str(), field(100, 107).as_str()), ("ustar", "0000755"));
        let size = usize::from_str_radix(&field(124, 135), 8).unwrap();
        if header[156] == b'0' {
            entries.push((field(0, 100), size));
        }
        rest = &after[size.next_multiple_of(512)..];
    }
    assert_eq!(rest, [0; 1024]);
    entries
}

#[test]
fn an_archive_and_its_index_are_written() {
    let home = TempDir::new().unwrap();
    // Without its symbols the program is compressed in a fraction of the time.
    let program = home.path().join("program");
    assert!(Command::new("strip").arg("-o").arg(&program).arg(PROGRAM).status().unwrap().success());
    let write = |flags: &[&str]| {
        Command::new(&program)
            .arg("test")
            .args(flags)
            .env("PATH", "/nowhere")
            .current_dir(home.path())
            .output()
            .unwrap()
    };
    let output = write(&["--index=dist", "--index-url=https://example.dev/envtest/"]);
    assert!(output.status.success(), "{output:?}");
    let dist = home.path().join("dist");
    let present = names(&dist);
    let [index, archive] = present.as_slice() else { panic!("{present:?}") };
    assert!(archive.starts_with("envtest-v1.36.") && archive.ends_with(".tar.gz"), "{archive}");
    assert_eq!(index, "envtest-releases.yaml");
    let size = usize::try_from(program.metadata().unwrap().len()).unwrap();
    let expected = ["kube-apiserver", "etcd"].map(|name| (format!("controller-tools/envtest/{name}"), size));
    assert_eq!(entries(&dist.join(archive)), expected);
    let hash = Command::new("sha512sum").arg(dist.join(archive)).output().unwrap();
    let hash = String::from_utf8(hash.stdout).unwrap();
    let hash = hash.split(' ').next().unwrap();
    let version = archive.split('-').nth(1).unwrap();
    let text = std::fs::read_to_string(dist.join(index)).unwrap();
    let expected = format!(
        "releases:\n  \"{version}\":\n    \"{archive}\":\n      hash: \"{hash}\"\n      selfLink: \
         \"https://example.dev/envtest/{archive}\"\n"
    );
    assert_eq!(text, expected);
    for file in [archive, index] {
        assert_eq!(dist.join(file).metadata().unwrap().mode() & 0o777, 0o644);
    }
    let stdout = String::from_utf8(output.stdout).unwrap();
    let number = version.trim_start_matches('v');
    for line in [
        format!("setup-envtest use {number} --index https://example.dev/envtest/envtest-releases.yaml"),
        format!("setup-envtest sideload {number} < dist/{archive}"),
        "There is no kubectl in the archive".to_owned(),
    ] {
        assert!(stdout.contains(&line), "{stdout}");
    }
    std::fs::write(dist.join(index), "no index").unwrap();
    assert_refused(&write(&["--index=dist"]), "envtest-releases.yaml: ");
}
