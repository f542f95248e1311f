//! A server process that ends: killed during writes, repeatedly, and by SIGTERM.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures::future::join_all;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams, PostParams};
use serde_json::json;
use tempfile::TempDir;

use crate::PATIENCE;
use crate::process::Process;

const ROUNDS: u64 = 50;
const CLIENTS: u64 = 8;

/// Names and resource versions of acknowledged objects.
type Acknowledged = BTreeMap<String, u64>;

/// Creates config maps until the server is gone; `count` is the number of acknowledged ones.
async fn create_until_it_is_gone(
    maps: Api<ConfigMap>,
    round: u64,
    client: u64,
    count: Arc<AtomicU64>,
) -> Acknowledged {
    let mut acknowledged = Acknowledged::new();
    for turn in 0.. {
        let name = format!("r{round}-c{client}-{turn}");
        let labels = json!({"round": round.to_string()});
        let map = json!({"metadata": {"name": name, "labels": labels}, "data": {"name": name}});
        let map = serde_json::from_value(map).unwrap();
        let parameters = PostParams::default();
        // A request that is sent just when the connection ends may be lost in the client, which then waits for ever.
        let created = tokio::time::timeout(PATIENCE, maps.create(&parameters, &map)).await;
        let created = match created {
            Ok(Ok(created)) => created,
            Ok(Err(error)) => {
                println!("round {round}, client {client}, turn {turn}: {error:?}");
                break;
            }
            Err(_) => {
                println!("round {round}, client {client}, turn {turn}: no answer");
                break;
            }
        };
        let version = created.metadata.resource_version.unwrap().parse().unwrap();
        acknowledged.insert(name, version);
        count.fetch_add(1, Ordering::Relaxed);
    }
    acknowledged
}

async fn assert_present(maps: &Api<ConfigMap>, selector: &ListParams, acknowledged: &Acknowledged) {
    let mut found = Acknowledged::new();
    for map in maps.list(selector).await.unwrap() {
        let name = map.metadata.name.unwrap();
        assert_eq!(map.data.unwrap()["name"], name);
        found.insert(name, map.metadata.resource_version.unwrap().parse().unwrap());
    }
    for (name, version) in acknowledged {
        assert_eq!(found.get(name), Some(version), "{name} was acknowledged");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_acknowledged_object_is_lost_however_often_the_server_is_killed() {
    let directory = TempDir::new().unwrap();
    let mut all = Acknowledged::new();
    let mut highest = 0;
    for round in 0..ROUNDS {
        let mut server = Process::start(directory.path());
        let maps = server.config_maps().await;
        let count = Arc::new(AtomicU64::new(0));
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| tokio::spawn(create_until_it_is_gone(maps.clone(), round, client, count.clone())))
            .collect();
        let begun = Instant::now();
        // At a different moment of the writes in each round.
        while count.load(Ordering::Relaxed) < 1 + round * 7 % 40 {
            assert!(begun.elapsed() < Duration::from_secs(20), "round {round}: nothing is written");
            assert!(server.runs(), "round {round}: the server has ended");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        server.kill();
        let acknowledged: Acknowledged =
            join_all(clients).await.into_iter().flat_map(Result::unwrap).collect();
        let lowest = acknowledged.values().min().copied().unwrap();
        assert!(lowest > highest, "round {round}: resource version {lowest} was given twice");
        highest = acknowledged.values().max().copied().unwrap();

        let server = Process::start(directory.path());
        let selector = ListParams::default().labels(&format!("round={round}"));
        assert_present(&server.config_maps().await, &selector, &acknowledged).await;
        server.kill();
        all.extend(acknowledged);
    }
    let server = Process::start(directory.path());
    assert_present(&server.config_maps().await, &ListParams::default(), &all).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sigterm_ends_the_server_in_order() {
    let directory = TempDir::new().unwrap();
    let mut server = Process::start(directory.path());
    let maps = server.config_maps().await;
    let count = Arc::new(AtomicU64::new(0));
    let writing = tokio::spawn(create_until_it_is_gone(maps.clone(), 0, 0, count.clone()));
    let begun = Instant::now();
    while count.load(Ordering::Relaxed) < 5 {
        assert!(!writing.is_finished(), "a write failed: {}", server.logged());
        assert!(begun.elapsed() < PATIENCE, "nothing is written: {}", server.logged());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let begun = Instant::now();
    server.signal("TERM");
    let acknowledged = writing.await.unwrap();
    let ended = server.ended().await;
    assert!(ended.success(), "{ended}");
    assert!(begun.elapsed() < Duration::from_secs(20), "it took {:?}", begun.elapsed());
    let again = Process::start(directory.path());
    assert_present(&again.config_maps().await, &ListParams::default(), &acknowledged).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sighup_changes_nothing() {
    let directory = TempDir::new().unwrap();
    let mut server = Process::start(directory.path());
    let maps = server.config_maps().await;
    for _ in 0..2 {
        server.signal("HUP");
        let begun = Instant::now();
        while !server.logged().contains("SIGHUP changes nothing") {
            assert!(server.runs(), "{}", server.logged());
            assert!(begun.elapsed() < PATIENCE, "the signal does not arrive: {}", server.logged());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        maps.list(&ListParams::default()).await.unwrap();
    }
    server.signal("TERM");
    assert!(server.ended().await.success());
}
