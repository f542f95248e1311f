//! Maintenance by an operator: check, backup and restore of the embedded store, by the command line.

use std::path::Path;
use std::process::{Command, Output};

use kube::api::{ListParams, PostParams};
use tempfile::TempDir;

use crate::config_map;
use crate::process::Process;

fn storage(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_apiserver"));
    command.arg("--data-dir").arg(directory).arg("storage").args(arguments).output().unwrap()
}

fn succeeds(directory: &Path, arguments: &[&str]) -> String {
    let output = storage(directory, arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn fails(directory: &Path, arguments: &[&str]) -> String {
    let output = storage(directory, arguments);
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_servers_store_is_checked_saved_and_served_elsewhere() {
    let home = TempDir::new().unwrap();
    let directory = home.path().join("data");
    let elsewhere = home.path().join("elsewhere");
    let file = home.path().join("backup").to_str().unwrap().to_owned();
    let process = Process::start(&directory);
    let maps = process.config_maps().await;
    for number in 0..30 {
        maps.create(&PostParams::default(), &config_map(&format!("m{number}"), "1")).await.unwrap();
    }
    let listed = maps.list(&ListParams::default()).await.unwrap();
    let in_use = fails(&directory, &["check"]);
    assert!(in_use.contains("another directory"), "a store that is in use says so: {in_use}");
    process.kill();

    let report = succeeds(&directory, &["check"]);
    assert!(report.contains("keys in") && report.contains("revision"), "{report}");
    succeeds(&directory, &["backup", &file]);
    succeeds(&elsewhere, &["restore", &file]);
    assert!(!fails(&elsewhere, &["restore", &file]).is_empty(), "what is there is not overwritten");
    let process = Process::start(&elsewhere);
    let again = process.config_maps().await.list(&ListParams::default()).await.unwrap();
    assert_eq!(again.items, listed.items);
    process.kill();

    // One flipped byte in the middle of the log.
    let journal = largest_file(&directory.join("storage"));
    let mut bytes = std::fs::read(&journal).unwrap();
    let at = bytes.windows(3).position(|window| window == b"m15").unwrap();
    bytes[at] ^= 1;
    std::fs::write(&journal, bytes).unwrap();
    let damage = fails(&directory, &["check"]);
    assert!(damage.contains("damaged") || damage.contains("restore"), "{damage}");
    let mut refused = Process::spawn(&directory, &[]);
    assert!(!refused.ended().await.success(), "a damaged store is not served");
    let log = std::fs::read_to_string(&refused.log).unwrap();
    assert!(log.contains("apiserver storage restore"), "and what to do is said: {log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_of_another_version_is_not_called_damaged() {
    let home = TempDir::new().unwrap();
    let directory = home.path().join("data");
    let elsewhere = home.path().join("elsewhere");
    let file = home.path().join("backup");
    Process::start(&directory).kill();
    succeeds(&directory, &["backup", file.to_str().unwrap()]);

    let mut backup = std::fs::read(&file).unwrap();
    assert_eq!(&backup[..8], b"ORLOPBK1");
    backup[7] = b'2';
    std::fs::write(&file, backup).unwrap();
    let refusal = fails(&elsewhere, &["restore", file.to_str().unwrap()]);
    assert!(refusal.contains("is a backup of another version") && !refusal.contains("damaged"), "{refusal}");

    let version = directory.join("storage/log/version");
    assert_eq!(std::fs::read(&version).unwrap(), b"FJL\x03");
    std::fs::write(&version, b"FJL\x04").unwrap();
    let mut refused = Process::spawn(&directory, &[]);
    assert!(!refused.ended().await.success(), "a store of another version is not served");
    for refusal in [refused.logged(), fails(&directory, &["check"])] {
        assert!(refusal.contains("was written by another version of this program"), "{refusal}");
        assert!(refusal.contains("apiserver storage backup") && !refusal.contains("damaged"), "{refusal}");
    }
    std::fs::write(&version, b"FJL").unwrap();
    assert!(fails(&directory, &["check"]).contains("damaged"));
}

fn largest_file(directory: &Path) -> std::path::PathBuf {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        found.push(if path.is_dir() { largest_file(&path) } else { path });
    }
    found
        .into_iter()
        .max_by_key(|path| std::fs::metadata(path).map_or(0, |metadata| metadata.len()))
        .unwrap_or_default()
}
