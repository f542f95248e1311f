//! A whole server over a failing etcd.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use apiserver::testing::TestServerBuilder;
use bytes::Bytes;
use k8s_openapi::api::core::v1::{ConfigMap, Event};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use registry_core::storage::mvcc::Mvcc as _;
use registry_core::storage::testing::etcd::Etcd;
use serde_json::json;
use tempfile::TempDir;

use crate::process::Process;
use crate::proxy::Proxy;
use crate::{PATIENCE, config_map, config_maps, converge, over_etcd, reflect, watched};

/// Request timeout of the server; partitions last longer.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);

fn url(etcd: &Etcd) -> String {
    etcd.options().endpoints[0].clone()
}

fn behind(proxy: &Proxy) -> TestServerBuilder {
    let timeout = format!("--request-timeout={}s", REQUEST_TIMEOUT.as_secs());
    over_etcd(&proxy.url()).flag(timeout).flag("--watch-cache-sizes=configmaps#5")
}

/// Writes a config map, as another server does.
async fn write_elsewhere(etcd: &Etcd, name: &str) {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default", "uid": name}});
    let key = format!("/registry/configmaps/default/{name}");
    etcd.connect().await.put_if(&key, 0, Bytes::from(map.to_string()), None).await.unwrap();
}

/// Fails unless the failure is reported as such: 5xx, a reason, and a message.
fn assert_reported<T: std::fmt::Debug>(operation: &str, answer: Result<T, kube::Error>) {
    match answer {
        Err(kube::Error::Api(status)) => {
            assert!((500..=504).contains(&status.code), "{operation}: {status:?}");
            assert!(!status.reason.is_empty() && !status.message.is_empty(), "{operation}: {status:?}");
        }
        other => panic!("{operation}: {other:?}"),
    }
}

/// Waits until writes and reads work again.
async fn recover(maps: &Api<ConfigMap>, name: &str) {
    let begun = Instant::now();
    let patch = Patch::Merge(json!({"data": {"recovered": name}}));
    while let Err(error) = maps.patch(name, &PatchParams::default(), &patch).await {
        assert!(begun.elapsed() < PATIENCE, "the server does not recover: {error}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    maps.get(name).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partition_is_told_and_got_over() {
    let etcd = Etcd::start().await.unwrap();
    let proxy = Proxy::start(&url(&etcd)).await;
    let server = behind(&proxy).start().await.unwrap();
    let maps = config_maps(&server).await;
    let post = PostParams::default();
    maps.create(&post, &config_map("a", "1")).await.unwrap();
    let (reader, _reflecting) = reflect(&maps);
    converge(&maps, &reader).await;

    for round in ["held", "cut"] {
        if round == "held" {
            proxy.hold();
        } else {
            proxy.cut();
        }
        let begun = Instant::now();
        let list = ListParams::default();
        let new = config_map(round, "1");
        let events: Api<Event> = Api::default_namespaced(crate::client(server.kubeconfig_path()).await);
        let patch = Patch::Merge(json!({"data": {"value": "2"}}));
        let patch_params = PatchParams::default();
        let delete = DeleteParams::default();
        let (got, listed, uncached, created, patched, deleted) = tokio::join!(
            maps.get("a"),
            maps.list(&list),
            events.list(&list),
            maps.create(&post, &new),
            maps.patch("a", &patch_params, &patch),
            maps.delete("a", &delete),
        );
        assert_reported("get", got);
        assert_reported("list", listed);
        assert_reported("list, without a cache", uncached);
        assert_reported("create", created);
        assert_reported("patch", patched);
        assert_reported("delete", deleted);
        assert!(begun.elapsed() < REQUEST_TIMEOUT * 10, "told after {:?}", begun.elapsed());
        // Cached objects are still served.
        let at_hand = ListParams::default().match_any();
        assert_eq!(maps.list(&at_hand).await.unwrap().items.len(), reader.state().len());

        write_elsewhere(&etcd, &format!("meanwhile-{round}")).await;
        proxy.pass();
        // A delayed deletion may have been carried out: its failure was never reported.
        let _ = maps.create(&post, &config_map("a", "1")).await;
        recover(&maps, "a").await;
        maps.get(&format!("meanwhile-{round}")).await.unwrap();
        converge(&maps, &reader).await;
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn etcd_is_killed_under_watchers_and_writers_and_comes_back() {
    let mut etcd = Etcd::start().await.unwrap();
    let server = over_etcd(&url(&etcd)).start().await.unwrap();
    let maps = config_maps(&server).await;
    let (reader, _reflecting) = reflect(&maps);
    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..4).map(|own| tokio::spawn(write(maps.clone(), own, stop.clone()))).collect();
    for _ in 0..2 {
        tokio::time::sleep(Duration::from_millis(300)).await;
        etcd.kill();
        assert_reported("get", maps.get("a").await);
        let refused = maps.create(&PostParams::default(), &config_map("refused", "1")).await.unwrap_err();
        let kube::Error::Api(status) = refused else { panic!("{refused}") };
        let causes = status.details.unwrap().causes;
        assert!(causes.iter().any(|cause| !cause.message.is_empty()), "the store's own words: {causes:?}");
        etcd.restart().await.unwrap();
    }
    let _ = maps.create(&PostParams::default(), &config_map("a", "1")).await;
    recover(&maps, "a").await;
    stop.store(true, Ordering::Relaxed);
    for writer in writers {
        for (name, acknowledged) in writer.await.unwrap() {
            let found = maps.get(&name).await.unwrap().data.unwrap()["turn"].parse::<u64>().unwrap();
            assert!(found >= acknowledged, "{name}: {acknowledged} was acknowledged, {found} is there");
        }
    }
    converge(&maps, &reader).await;
    server.stop().await;
}

/// Writes its own objects and ignores failures; returns what was acknowledged of each.
async fn write(maps: Api<ConfigMap>, own: usize, stop: Arc<AtomicBool>) -> BTreeMap<String, u64> {
    let mut acknowledged = BTreeMap::new();
    for turn in 0_u64.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let name = format!("w{own}-{}", turn % 3);
        let _ = maps.create(&PostParams::default(), &config_map(&name, "")).await;
        let patch = Patch::Merge(json!({"data": {"turn": turn.to_string()}}));
        if maps.patch(&name, &PatchParams::default(), &patch).await.is_ok() {
            acknowledged.insert(name, turn);
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    acknowledged
}

/// etcd raises the alarm when its database has reached its quota.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_etcd_without_space_is_told_as_by_kube_apiserver_and_got_over() {
    let etcd = Etcd::start().await.unwrap();
    let server = over_etcd(&url(&etcd)).start().await.unwrap();
    config_maps(&server).await.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    let directory = server.directory().clone();
    etcd.set_no_space(true).await.unwrap();
    server.stop().await;
    // A server that starts meanwhile answers reads too.
    let server = over_etcd(&url(&etcd)).directory(&directory).start().await.unwrap();
    let maps = config_maps(&server).await;
    let (reader, _reflecting) = reflect(&maps);
    let refused = maps.create(&PostParams::default(), &config_map("b", "1")).await.unwrap_err();
    let kube::Error::Api(status) = refused else { panic!("{refused}") };
    assert_eq!((status.code, &*status.reason), (500, ""), "{status:?}");
    assert_eq!(status.message, "etcdserver: mvcc: database space exceeded");
    assert_eq!(maps.get("a").await.unwrap().data.unwrap()["value"], "1");
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    etcd.set_no_space(false).await.unwrap();
    maps.create(&PostParams::default(), &config_map("b", "1")).await.unwrap();
    converge(&maps, &reader).await;
    server.stop().await;
}

/// Clients and caches that were disconnected for too long receive a 410, and list again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_missed_compacted_events_lists_again() {
    let etcd = Etcd::start().await.unwrap();
    let proxy = Proxy::start(&url(&etcd)).await;
    let server = behind(&proxy).start().await.unwrap();
    let maps = config_maps(&server).await;
    let (reader, _reflecting) = reflect(&maps);
    let first = maps.create(&PostParams::default(), &config_map("first", "1")).await.unwrap();
    let version = first.metadata.resource_version.unwrap();
    converge(&maps, &reader).await;

    // A client pauses while more events happen than the cache keeps; etcd compacts them, and the cache of a
    // restarted server is empty.
    for number in 0..8 {
        maps.create(&PostParams::default(), &config_map(&format!("m{number}"), "1")).await.unwrap();
    }
    let engine = etcd.connect().await;
    engine.compact(engine.current_revision().await.unwrap()).await.unwrap();
    let directory = server.directory().clone();
    let port = server.address().port();
    server.stop().await;
    let again = behind(&proxy).directory(&directory).flag(format!("--secure-port={port}"));
    let server = again.start().await.unwrap();
    assert_eq!(watched(&config_maps(&server).await, &version).await, Some(410), "the past is gone");

    // The server itself is disconnected while changes are made and compacted.
    proxy.cut();
    for number in 0..4 {
        write_elsewhere(&etcd, &format!("elsewhere{number}")).await;
    }
    engine.compact(engine.current_revision().await.unwrap()).await.unwrap();
    write_elsewhere(&etcd, "last").await;
    proxy.pass();
    recover(&maps, "first").await;
    converge(&maps, &reader).await;
    assert_eq!(reader.state().iter().filter(|map| map.metadata.namespace.is_some()).count(), 14);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_etcd_that_is_not_there_yet_is_waited_for() {
    let mut etcd = Etcd::start().await.unwrap();
    etcd.kill();
    let home = TempDir::new().unwrap();
    let servers = format!("--etcd-servers={}", url(&etcd));
    let impatient = home.path().join("impatient");
    let mut impatient = Process::spawn(&impatient, &[&servers]);
    let mut patient = Process::spawn(&home.path().join("patient"), &[&servers]);
    for process in [&impatient, &patient] {
        let begun = Instant::now();
        while !std::fs::read_to_string(&process.log).unwrap().contains("etcd does not answer, asking again") {
            assert!(begun.elapsed() < PATIENCE, "the log says what is missing");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    impatient.signal("TERM");
    assert!(impatient.ended().await.success(), "told to stop, it does not wait any longer");
    assert!(impatient.logged().contains("stopped reason=\"SIGTERM\""), "{}", impatient.logged());
    etcd.restart().await.unwrap();
    patient.announced();
    let maps = patient.config_maps().await;
    maps.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    patient.signal("TERM");
    assert!(patient.ended().await.success());
}
