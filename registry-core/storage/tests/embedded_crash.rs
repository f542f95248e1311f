//! Kills the embedded engine repeatedly while it works: acknowledged writes must be present, and the history must
//! have no gap.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "test code: a broken expectation is a failed test"
)]

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use registry_storage::embedded::{Embedded, EmbeddedOptions};
use registry_storage::mvcc::{Committed, Mvcc};
use tempfile::TempDir;

const ROUNDS: u64 = 50;
const DIRECTORY: &str = "EMBEDDED_CRASH_DIRECTORY";

fn open(directory: &Path) -> Arc<Embedded> {
    let mut options = EmbeddedOptions::new(directory);
    // Small, so that tables are written and journals sealed during the short lifetimes.
    options.memtable_bytes = 64 * 1024;
    Embedded::open(options).unwrap()
}

/// Writes endlessly from 16 tasks, each to its own keys, and prints every acknowledged write.
#[test]
#[ignore = "the child process of the crash test"]
fn child() {
    let Some(directory) = std::env::var_os(DIRECTORY) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let store = open(Path::new(&directory));
        let writers: Vec<_> =
            (0..16).map(|writer| tokio::spawn(write_forever(store.clone(), writer))).collect();
        for writer in writers {
            writer.await.unwrap();
        }
    });
}

async fn write_forever(store: Arc<Embedded>, writer: u64) {
    let padding = "x".repeat(700);
    for turn in 0_u64.. {
        let key = format!("/{writer}/{}", turn % 5);
        let present = store.get(&key).await.unwrap().key_value;
        let expected = present.map_or(0, |present| present.mod_revision);
        let is_deletion = turn % 7 == 6 && expected != 0;
        let outcome = if is_deletion {
            store.delete_if(&key, expected).await
        } else {
            store.put_if(&key, expected, Bytes::from(padding.clone()), None).await
        };
        let Committed::At(revision) = outcome.unwrap() else { panic!("{key} is nobody else's") };
        println!("acknowledged {revision} {key} {is_deletion}");
        if turn % 10 == 9 {
            store.compact(revision.saturating_sub(100)).await.unwrap();
        }
    }
}

/// Lets a child process work for a moment, kills it, and returns its acknowledged writes.
#[allow(
    clippy::zombie_processes,
    reason = "killed and waited for below; a panic in between ends the test process"
)]
fn crash(directory: &Path, lifetime: Duration) -> Vec<(u64, String, bool)> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--ignored", "--nocapture"])
        .env(DIRECTORY, directory)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let reader = std::thread::spawn(move || {
        let mut acknowledged = Vec::new();
        let mut is_first = true;
        let mut lines = output.lines().map_while(Result::ok);
        let first = lines.find(|line| line.starts_with("acknowledged"));
        for line in first.into_iter().chain(lines) {
            if std::mem::take(&mut is_first) {
                // The lifetime begins when the child starts to write.
                std::thread::sleep(lifetime);
                child.kill().unwrap();
                child.wait().unwrap();
            }
            let words: Vec<_> = line.split(' ').collect();
            // The kill may truncate the last line.
            if let ["acknowledged", revision, key, is_deletion @ ("true" | "false")] = words[..] {
                acknowledged.push((revision.parse().unwrap(), key.to_owned(), is_deletion == "true"));
            }
        }
        acknowledged
    });
    reader.join().unwrap()
}

fn changed_after(changes: &[(u64, String)], key: &str, revision: u64) -> bool {
    changes.iter().any(|(at, changed)| *at > revision && changed == key)
}

#[tokio::test(flavor = "multi_thread")]
async fn no_acknowledged_write_is_lost_however_often_the_process_is_killed() {
    let directory = TempDir::new().unwrap();
    let mut newest: HashMap<String, (u64, bool)> = HashMap::new();
    let mut highest = 1;
    for round in 0..ROUNDS {
        let acknowledged = crash(directory.path(), Duration::from_millis(5 + round * 7 % 60));
        assert!(!acknowledged.is_empty(), "round {round} did nothing");
        for (revision, key, is_deletion) in acknowledged {
            assert!(revision > highest, "round {round}: revision {revision} was given twice");
            let known = newest.entry(key).or_default();
            *known = (*known).max((revision, is_deletion));
        }
        let acknowledged = newest.values().map(|(revision, _)| *revision).max().unwrap();

        // Opening reads every record and refuses gaps.
        let store = open(directory.path());
        highest = store.current_revision().await.unwrap();
        assert!(highest >= acknowledged, "round {round}: ends at {highest}, {acknowledged} was acknowledged");
        let statistics = store.statistics();
        let mut watch = store.watch("/", "0", statistics.compacted_revision).await.unwrap();
        let mut expected = statistics.compacted_revision + 1;
        let mut history = Vec::new();
        while expected <= highest {
            for change in watch.next().await.unwrap().unwrap().changes {
                assert_eq!(change.revision, expected, "round {round}");
                expected += 1;
                history.push((change.revision, change.key.to_string()));
            }
        }
        for (key, (revision, is_deletion)) in &newest {
            let found = store.get(key).await.unwrap().key_value;
            let found = found.map_or(0, |found| found.mod_revision);
            // Each writer may have one later write whose acknowledgement was lost.
            let is_as_acknowledged = found == if *is_deletion { 0 } else { *revision };
            let is_later = found > *revision || (found == 0 && changed_after(&history, key, *revision));
            assert!(is_as_acknowledged || is_later, "round {round}: {key} is lost");
        }
        store.close().await;
    }
}
