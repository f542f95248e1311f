//! Maintenance by an operator: check, backup and restore of the embedded store, by the command line.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use registry_core::storage::embedded::maintenance::{BackupFile, Source, backup_with_files};
use tempfile::TempDir;

use crate::process::Process;
use crate::{config_map, converge, reflect, watched};

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

/// Increments are written while the server runs and when it was killed; the state of each can be restored, with the keys.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chain_of_backups_is_restored_to_each_of_its_states() {
    let home = TempDir::new().unwrap();
    let path = |name: &str| home.path().join(name);
    let file = |name: &str| path(name).to_str().unwrap().to_owned();
    let [sunday, monday, tuesday] = ["sunday", "monday", "tuesday"].map(file);
    let directory = path("data");
    let process = Process::start(&directory);
    let maps = process.config_maps().await;
    let create = async |name: &str| {
        maps.create(&PostParams::default(), &config_map(name, "1")).await.unwrap();
    };
    create("kept").await;
    create("changed").await;
    create("removed").await;
    succeeds(&directory, &["backup", &sunday]);
    let mut changed = maps.get("changed").await.unwrap();
    changed.data = config_map("changed", "2").data;
    maps.replace("changed", &PostParams::default(), &changed).await.unwrap();
    maps.delete("removed", &DeleteParams::default()).await.unwrap();
    let output = succeeds(&directory, &["backup", "--since", &sunday, &monday]);
    assert!(output.contains("monday: ") && output.contains(" new records of "), "{output}");
    create("late").await;
    let listed = maps.list(&ListParams::default()).await.unwrap();
    process.kill();
    succeeds(&directory, &["backup", "--since", &monday, &tuesday]);
    let sizes: Vec<u64> = [&sunday, &monday].map(|file| Path::new(file).metadata().unwrap().len()).into();
    assert!(sizes[1] < sizes[0] / 2, "{sizes:?}");

    let output = fails(&path("restored"), &["restore", &sunday, &tuesday]);
    assert!(output.contains("does not follow") && output.contains("the backup \"monday\""), "{output}");
    assert!(!path("restored").exists());
    succeeds(&path("two"), &["restore", &sunday, &monday]);
    let output = succeeds(&path("three"), &["restore", &sunday, &monday, &tuesday]);
    assert!(output.contains("tuesday: ") && output.contains("pki: 13 files of keys"), "{output}");
    let process = Process::start(&path("two"));
    let two = process.config_maps().await;
    assert_eq!(two.get("changed").await.unwrap().data, changed.data);
    assert!(two.get_opt("removed").await.unwrap().is_none() && two.get_opt("late").await.unwrap().is_none());
    process.kill();
    let process = Process::start(&path("three"));
    let again = process.config_maps().await.list(&ListParams::default()).await.unwrap();
    assert_eq!(again.items, listed.items);
    process.kill();

    let mut etcd = Command::new(env!("CARGO_BIN_EXE_apiserver"));
    let refused =
        etcd.args(["--etcd-servers=http://127.0.0.1:1", "storage", "backup", &sunday]).output().unwrap();
    let output = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && output.contains("etcdctl snapshot save"), "{output}");
}

async fn lists(kubeconfig: &Path) -> bool {
    let client = crate::client(kubeconfig).await;
    let request = http::Request::get("/api/v1/namespaces").body(Vec::new()).unwrap();
    client.request_text(request).await.is_ok()
}

/// Restores a backup into the directory, and returns what is said about the keys.
fn restored(directory: &Path, file: &str) -> String {
    let output = succeeds(directory, &["restore", file]);
    output.lines().nth(2).unwrap().to_owned()
}

/// The watch of a client that knows a revision after the backup ends with 410, and its cache gets the state of the backup.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_list_again_after_a_restore() {
    let home = TempDir::new().unwrap();
    let path = |name: &str| home.path().join(name);
    let file = path("backup").to_str().unwrap().to_owned();
    let create = async |maps: &Api<ConfigMap>, name: &str, count: usize| {
        for number in 0..count {
            let map = config_map(&format!("{name}{number}"), "1");
            maps.create(&PostParams::default(), &map).await.unwrap();
        }
    };
    let process = Process::start(&path("data"));
    create(&process.config_maps().await, "saved", 2).await;
    process.kill();
    succeeds(&path("data"), &["backup", &file]);

    let process = Process::start(&path("data"));
    let maps = process.config_maps().await;
    create(&maps, "lost", 20).await;
    let (reader, _reflecting) = reflect(&maps);
    converge(&maps, &reader).await;
    let known = maps.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
    let port = process.port();
    process.kill();

    let output = succeeds(&path("restored"), &["restore", &file]);
    let revisions: Vec<u64> = output.lines().filter_map(revision).collect();
    assert_eq!(revisions[1], revisions[0] + 1_000_000_000, "{output}");
    let process = Process::start_with(&path("restored"), &[&format!("--secure-port={port}")]);
    process.ready("restored").await;
    assert_eq!(watched(&maps, &known).await, Some(410));
    create(&maps, "new", 3).await;
    converge(&maps, &reader).await;
    let mut names: Vec<_> = reader.state().iter().map(|map| map.metadata.name.clone().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["new0", "new1", "new2", "saved0", "saved1"]);
}

/// Returns the revision in the line about a store.
fn revision(line: &str) -> Option<u64> {
    line.split_once(", revision ")?.1.split_once(',')?.0.parse().ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restored_server_accepts_the_kubeconfigs_and_tokens_of_the_saved_one() {
    let home = TempDir::new().unwrap();
    let path = |name: &str| home.path().join(name);
    let (directory, file) = (path("data"), path("backup").to_str().unwrap().to_owned());
    let process = Process::start(&directory);
    process.ready("first").await;
    let old = std::fs::read_to_string(process.kubeconfig()).unwrap();
    process.kill();
    let output = succeeds(&directory, &["backup", &file]);
    assert!(output.contains("pki: 13 files of keys and certificates"), "{output}");
    assert_eq!(Path::new(&file).metadata().unwrap().permissions().mode() & 0o777, 0o600);

    let elsewhere = path("elsewhere");
    let output = restored(&elsewhere, &file);
    assert!(output.ends_with("pki: 13 files of keys and certificates"), "{output}");
    let keys = |directory: &Path| {
        let mut files = Vec::new();
        for name in crate::start::names(&directory.join("pki")) {
            let path = directory.join("pki").join(&name);
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{name}");
            files.push((name, std::fs::read(path).unwrap()));
        }
        files
    };
    assert_eq!(keys(&elsewhere), keys(&directory));
    assert_eq!(elsewhere.join("pki").metadata().unwrap().permissions().mode() & 0o777, 0o700);
    let process = Process::start(&elsewhere);
    process.ready("restored").await;
    let new = std::fs::read_to_string(process.kubeconfig()).unwrap();
    let server = |text: &str| text.lines().find(|line| line.contains("server:")).unwrap().to_owned();
    // The administrator's old kubeconfig, at the new address.
    let moved = path("moved.kubeconfig");
    std::fs::write(&moved, old.replace(&server(&old), &server(&new))).unwrap();
    assert!(lists(&moved).await);
    process.kill();

    // An authority that is there already stays, whatever the backup has.
    let other = path("other");
    Process::start(&other).kill();
    std::fs::rename(other.join("storage"), other.join("storage.old")).unwrap();
    let before = keys(&other);
    let output = restored(&other, &file);
    assert!(
        output.contains("kept as it is; the keys and certificates of the backup were not restored"),
        "{output}"
    );
    assert_eq!(keys(&other), before);

    // A backup without keys, because they are elsewhere or left out, says so when it is restored.
    for (name, flag) in [("left-out", Some("--without-keys")), ("elsewhere", None)] {
        if flag.is_none() {
            std::fs::rename(directory.join("pki"), path("pki")).unwrap();
        }
        let output = succeeds(&directory, &[&["backup", &file[..]], flag.as_slice()].concat());
        assert!(output.contains("pki: 0 files"), "{output}");
        assert!(!std::fs::read(&file).unwrap().windows(11).any(|bytes| bytes == b"PRIVATE KEY"));
        let without = path(&format!("without-{name}"));
        let output = restored(&without, &file);
        assert!(output.contains("the backup has no keys") && output.contains("will be refused"), "{output}");
        assert!(!without.join("pki").exists());
    }
}

/// A backup is verified as a whole before anything is restored, the keys included; names of files lead nowhere else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damage_of_the_keys_in_a_backup_is_refused() {
    let home = TempDir::new().unwrap();
    let path = |name: &str| home.path().join(name);
    let file = path("backup").to_str().unwrap().to_owned();
    let process = Process::start(&path("data"));
    process.ready("first").await;
    process.kill();
    succeeds(&path("data"), &["backup", &file]);
    let whole = std::fs::read(&file).unwrap();
    let start = whole.windows(8).position(|bytes| bytes == b"ORLOPFL1").unwrap();
    let refused = |bytes: &[u8], place: &str| {
        std::fs::write(&file, bytes).unwrap();
        let output = fails(&path("restored"), &["restore", &file]);
        assert!(
            output.contains("damaged") || output.contains("not a key or certificate"),
            "{place}: {output}"
        );
        assert!(!path("restored").exists(), "{place}");
    };
    for at in [start + 1, start + 7, start + 9, start + 200, whole.len() - 1] {
        refused(&whole[..at], &format!("cut at {at}"));
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        refused(&bytes, &format!("flipped at {at}"));
    }
    for name in ["../escaped.key", "/tmp/escaped.key", "LOCK", ".key", "", "a/b.crt"] {
        let files = [BackupFile { name: name.to_owned(), content: "content".into() }];
        let store = path("data").join("storage");
        backup_with_files(Source::Directory(&store), Path::new(&file), &files).unwrap();
        refused(&std::fs::read(&file).unwrap(), name);
    }
    // Without the files it is a backup as earlier versions wrote it.
    std::fs::write(&file, &whole[..start]).unwrap();
    assert!(restored(&path("restored"), &file).contains("the backup has no keys"));
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
