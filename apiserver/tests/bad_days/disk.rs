//! A full disk, simulated by a limit on the size of files.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams, PostParams};
use tempfile::TempDir;

use crate::process::Process;
use crate::{PATIENCE, config_map};

/// Less than what the store has written already.
const NO_ROOM: &str = "--fsize=1024:";
const ROOM: &str = "--fsize=unlimited:";

fn limit(process: &Process, limit: &str) {
    assert!(Command::new("prlimit").args(["--pid", &process.id(), limit]).status().unwrap().success());
}

/// Creates objects until one is refused; returns what was acknowledged, and the refusal.
async fn fill(
    maps: &Api<ConfigMap>,
    round: &str,
    acknowledged: &mut BTreeMap<String, String>,
) -> kube::Error {
    let value = "x".repeat(20_000);
    let begun = Instant::now();
    for number in 0.. {
        let name = format!("{round}-{number}");
        match maps.create(&PostParams::default(), &config_map(&name, &value)).await {
            Ok(created) => acknowledged.insert(name, created.metadata.resource_version.unwrap()),
            Err(error) => return error,
        };
        assert!(begun.elapsed() < PATIENCE, "a full disk is noticed");
    }
    unreachable!()
}

async fn assert_present(maps: &Api<ConfigMap>, acknowledged: &BTreeMap<String, String>) {
    let listed = maps.list(&ListParams::default()).await.unwrap();
    let found: BTreeMap<_, _> = listed
        .into_iter()
        .map(|map| (map.metadata.name.unwrap(), map.metadata.resource_version.unwrap()))
        .collect();
    for (name, version) in acknowledged {
        assert_eq!(found.get(name), Some(version), "{name} was acknowledged");
    }
    assert_eq!(found.len(), acknowledged.len(), "and what was refused is not there");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_is_told_loses_nothing_and_is_got_over() {
    let home = TempDir::new().unwrap();
    let directory = home.path().join("data");
    // The log cannot be written either, from the first line on.
    std::os::unix::fs::symlink("/dev/full", directory.with_extension("log")).unwrap();
    let process = Process::start(&directory);
    let maps = process.config_maps().await;
    let mut acknowledged = BTreeMap::new();
    maps.create(&PostParams::default(), &config_map("before", "1"))
        .await
        .map(|map| acknowledged.insert("before".to_owned(), map.metadata.resource_version.unwrap()))
        .unwrap();
    for round in ["first", "second"] {
        limit(&process, NO_ROOM);
        let refused = fill(&maps, round, &mut acknowledged).await;
        let kube::Error::Api(status) = refused else { panic!("{refused}") };
        assert_eq!((status.code, status.reason.as_str()), (500, "ServerTimeout"), "{status:?}");
        let causes = status.details.unwrap().causes;
        assert!(
            causes.iter().any(|cause| {
                let reasons = ["could not be made durable", "refuses writes", "could not be opened again"];
                reasons.iter().any(|reason| cause.message.contains(reason))
            }),
            "{causes:?}"
        );
        // Reads continue to work.
        assert_present(&maps, &acknowledged).await;
        limit(&process, ROOM);
        let begun = Instant::now();
        let name = format!("{round}-after");
        loop {
            match maps.create(&PostParams::default(), &config_map(&name, "1")).await {
                Ok(created) => {
                    acknowledged.insert(name, created.metadata.resource_version.unwrap());
                    break;
                }
                Err(error) => assert!(begun.elapsed() < PATIENCE, "the store does not recover: {error}"),
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        assert_present(&maps, &acknowledged).await;
    }
    process.kill();
    let again = Process::start(&directory);
    assert_present(&again.config_maps().await, &acknowledged).await;
}
