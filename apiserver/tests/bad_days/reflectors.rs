//! A server is restarted under a thousand watching reflectors while writers continue: every reflector reaches
//! the current state, without duplicate, reordered, late or missing events.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use apiserver::testing::{TestServer, TestServerBuilder};
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::runtime::watcher::Event;
use kube::runtime::{WatchStreamExt as _, watcher};
use parking_lot::Mutex;
use registry_core::storage::testing::etcd::Etcd;
use serde_json::json;
use tokio_util::task::AbortOnDropHandle;

use crate::{PATIENCE, http2, over_etcd};

const REFLECTORS: usize = 1_000;
/// Number of reflectors that share a connection.
const PER_CONNECTION: usize = 200;
/// Each reflector watches one group of objects; every fiftieth watches all.
const GROUPS: usize = 20;
const WRITERS: usize = 3;
const OBJECTS_PER_WRITER: usize = 14;
/// Pause of a writer between writes, so that reflectors in the same process keep up.
const REST: Duration = Duration::from_millis(40);

/// The number of writes of each object, by name.
type Objects = BTreeMap<String, u64>;

/// The events that a reflector has seen. Each object counts its own writes, which reveals missing ones.
#[derive(Default)]
struct Observed {
    /// The newest count and resource version of every object, including deleted ones.
    known: BTreeMap<String, (u64, u64)>,
    /// The existing objects.
    present: BTreeSet<String>,
    /// The existing objects in the initial list so far.
    listed: BTreeSet<String>,
    /// Number of completed initial lists.
    lists: usize,
    newest: u64,
    faults: Vec<String>,
    /// Errors that the watcher received.
    errors: Vec<String>,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_reflectors_outlive_a_restart_over_the_embedded_store() {
    let builder = || TestServer::builder().without_controllers();
    let server = builder().start().await.unwrap();
    restart_under_reflectors(server, builder).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_reflectors_outlive_a_restart_over_etcd() {
    let etcd = Etcd::start().await.unwrap();
    let url = etcd.options().endpoints[0].clone();
    let server = over_etcd(&url).start().await.unwrap();
    restart_under_reflectors(server, || over_etcd(&url)).await;
}

async fn restart_under_reflectors(server: TestServer, builder: impl Fn() -> TestServerBuilder) {
    let stop = Arc::new(AtomicBool::new(false));
    let writing = http2::client(&server);
    let writers: Vec<_> = (0..WRITERS)
        .map(|own| tokio::spawn(write(Api::default_namespaced(writing.clone()), own, stop.clone())))
        .collect();
    let mut reflectors = Vec::new();
    let mut running = Vec::new();
    for number in 0..REFLECTORS / PER_CONNECTION {
        let client = http2::client(&server);
        for own in 0..PER_CONNECTION {
            let (observed, task) =
                observe(Api::default_namespaced(client.clone()), number * PER_CONNECTION + own);
            reflectors.push(observed);
            running.push(task);
        }
    }
    wait(&reflectors, "they list", |observed, _| observed.lists > 0).await;
    tokio::time::sleep(Duration::from_secs(1)).await;

    let directory = server.directory().clone();
    let port = server.address().port();
    server.stop().await;
    let again = builder().directory(&directory).flag(format!("--secure-port={port}")).start().await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    stop.store(true, Ordering::Relaxed);
    let mut truth = Objects::new();
    for writer in writers {
        truth.extend(writer.await.unwrap());
    }
    wait(&reflectors, "they come to the truth", |observed, number| observed.has(&truth, number)).await;
    for (number, observed) in reflectors.iter().enumerate() {
        let observed = observed.lock();
        assert_eq!(observed.faults, [""; 0], "reflector {number}");
        let errors = &observed.errors;
        assert_eq!(
            observed.lists, 1,
            "reflector {number} goes on where it was, without listing again: {errors:?}"
        );
    }
    drop(running);
    again.stop().await;
}

fn group(name: &str) -> usize {
    name.bytes().map(usize::from).sum::<usize>() % GROUPS
}

fn sees(number: usize, name: &str) -> bool {
    number.is_multiple_of(50) || number % GROUPS == group(name)
}

async fn wait(reflectors: &[Arc<Mutex<Observed>>], state: &str, is_done: impl Fn(&Observed, usize) -> bool) {
    let begun = Instant::now();
    loop {
        let waiting = reflectors.iter().enumerate();
        let waiting: Vec<_> =
            waiting.filter(|(number, observed)| !is_done(&observed.lock(), *number)).collect();
        let Some((number, observed)) = waiting.first() else { return };
        let observed = observed.lock();
        assert!(
            begun.elapsed() < PATIENCE,
            "{state}: {} do not; number {number} has {:?}, and {:?}",
            waiting.len(),
            observed.known,
            observed.faults
        );
        drop(observed);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

// === writers ===

/// Creates, changes and deletes its own objects, and retries each write; returns the final objects.
async fn write(maps: Api<ConfigMap>, own: usize, stop: Arc<AtomicBool>) -> Objects {
    let mut counts = Objects::new();
    let mut present = BTreeSet::new();
    for turn in 0_usize.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let name = format!("w{own}-{}", turn % OBJECTS_PER_WRITER);
        if present.contains(&name) && turn % 9 == 8 {
            insist(404, || async { maps.delete(&name, &DeleteParams::default()).await }).await;
            present.remove(&name);
        } else if present.contains(&name) {
            let count = counts.get_mut(&name).unwrap();
            *count += 1;
            let patch = Patch::Merge(json!({"data": {"count": count.to_string()}}));
            insist(0, || async { maps.patch(&name, &PatchParams::default(), &patch).await }).await;
        } else {
            let count = counts.entry(name.clone()).and_modify(|count| *count += 1).or_default();
            let labels = json!({"group": group(&name).to_string()});
            let data = json!({"count": count.to_string(), "created": count.to_string()});
            let map = json!({"metadata": {"name": name, "labels": labels}, "data": data});
            let map = serde_json::from_value(map).unwrap();
            insist(409, || async { maps.create(&PostParams::default(), &map).await }).await;
            present.insert(name);
        }
        tokio::time::sleep(REST).await;
    }
    counts.retain(|name, _| present.contains(name));
    counts
}

/// Retries until an attempt succeeds, or fails with the code that shows that an earlier one has succeeded.
async fn insist<T, F>(done_before: u16, attempt: impl Fn() -> F)
where
    F: Future<Output = Result<T, kube::Error>>,
{
    let begun = Instant::now();
    loop {
        match attempt().await {
            Ok(_) => return,
            Err(kube::Error::Api(status)) if status.code == done_before => return,
            Err(error) => assert!(begun.elapsed() < PATIENCE, "the server does not come back: {error}"),
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

// === reflectors ===

fn observe(maps: Api<ConfigMap>, number: usize) -> (Arc<Mutex<Observed>>, AbortOnDropHandle<()>) {
    let observed = Arc::new(Mutex::new(Observed::default()));
    let noted = observed.clone();
    let config = if number.is_multiple_of(50) {
        watcher::Config::default()
    } else {
        watcher::Config::default().labels(&format!("group={}", number % GROUPS))
    };
    let mut events = watcher(maps, config).default_backoff().boxed();
    let task = tokio::spawn(async move {
        while let Some(event) = events.next().await {
            let mut observed = noted.lock();
            match event {
                Ok(event) => observed.see(event),
                // An unavailable server is expected.
                Err(error) => observed.errors.push(error.to_string()),
            }
        }
    });
    (observed, AbortOnDropHandle::new(task))
}

// === impl Observed ===

impl Observed {
    fn has(&self, truth: &Objects, number: usize) -> bool {
        let expected: Vec<_> = truth.iter().filter(|(name, _)| sees(number, name)).collect();
        expected.len() == self.present.len()
            && expected.iter().all(|(name, count)| {
                self.present.contains(*name) && self.known.get(*name).is_some_and(|known| known.0 == **count)
            })
    }

    fn see(&mut self, event: Event<ConfigMap>) {
        match event {
            Event::Init => self.listed.clear(),
            Event::InitApply(map) => {
                let (name, count, version) = facts(&map);
                let known = self.known.insert(name.clone(), (count, version)).unwrap_or_default();
                self.check(known.0 <= count && known.1 <= version, &name, "is from the past");
                self.newest = self.newest.max(version);
                self.listed.insert(name);
            }
            Event::InitDone => {
                self.lists += 1;
                self.present = std::mem::take(&mut self.listed);
            }
            Event::Apply(map) => {
                let (name, count, version) = facts(&map);
                self.take(version, &name);
                let known = self.known.insert(name.clone(), (count, version));
                // What was not there when the reflector listed is first seen when it is created, perhaps not for the first time.
                let expected = known.map_or_else(|| number(&map, "created"), |(known, _)| known + 1);
                self.check(count == expected, &name, &format!("comes as {count} instead of {expected}"));
                self.present.insert(name);
            }
            Event::Delete(map) => {
                let (name, count, version) = facts(&map);
                self.take(version, &name);
                let known = self.known.insert(name.clone(), (count, version));
                self.check(known.is_some_and(|known| known.0 == count), &name, "goes in a state not seen");
                let was_present = self.present.remove(&name);
                self.check(was_present, &name, "goes twice");
            }
        }
    }

    fn take(&mut self, version: u64, name: &str) {
        self.check(version > self.newest, name, &format!("comes at {version} after {}", self.newest));
        self.newest = version;
    }

    fn check(&mut self, holds: bool, name: &str, state: &str) {
        if !holds {
            self.faults.push(format!("{name} {state}"));
        }
    }
}

/// Returns name, count and resource version.
fn facts(map: &ConfigMap) -> (String, u64, u64) {
    let metadata = &map.metadata;
    let count = number(map, "count");
    (metadata.name.clone().unwrap(), count, metadata.resource_version.as_ref().unwrap().parse().unwrap())
}

/// Returns a number in the data: the `count` of the object's writes, or what it was when the object was `created`.
fn number(map: &ConfigMap, key: &str) -> u64 {
    map.data.as_ref().unwrap()[key].parse().unwrap()
}
