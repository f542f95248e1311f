//! Failures of etcd: killed, partly unavailable, overloaded, shared, and behind TLS.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "test code")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt as _;
use registry_meta::{Preconditions, StatusError};
use registry_storage::cacher::{CacheBudget, Cacher, CacherOptions};
use registry_storage::etcd3::{ConnectError, Etcd3, Etcd3Options};
use registry_storage::interface::{ListRequest, UpdateAction};
use registry_storage::mvcc::{Committed, Mvcc, MvccError, RangeRequest};
use registry_storage::shared_watch::SharedWatch;
use registry_storage::testing::etcd::{Etcd, TlsFiles};
use registry_storage::testing::{Hooked, NoProgress, Watcher, Widget, widget_store};
use registry_storage::{Interface, StorageError, StoredObject, TryUpdate, WatchError, WatchEvent};
use tokio::net::{TcpStream, UnixListener};
use tokio::task::JoinSet;

const PREFIX: &str = "/orlop-test/trouble/";

/// Increments a widget's count.
struct Increment;

#[async_trait]
impl TryUpdate for Increment {
    async fn try_update(&mut self, current: Option<&StoredObject>) -> Result<UpdateAction, StatusError> {
        let widget = Widget::decode(current.expect("the widget is there"));
        let count = widget.count + 1;
        Ok(widget.count(count).write())
    }
}

/// The results that a writer received.
#[derive(Default)]
struct Counts {
    acknowledged: AtomicU64,
    tried: AtomicU64,
}

async fn started() -> Etcd {
    Etcd::start().await.unwrap_or_else(|error| panic!("{error}"))
}

async fn increment(store: &dyn Interface, key: &str) -> Result<u64, StorageError> {
    let updated = store.guaranteed_update(key, &Preconditions::default(), &mut Increment, None).await?;
    Ok(Widget::decode(&updated.object).count)
}

/// Increments until stopped; only unavailability is tolerated.
async fn count(store: Arc<dyn Interface>, key: String, counts: Arc<Counts>, stop: Arc<AtomicBool>) {
    while !stop.load(Ordering::Relaxed) {
        counts.tried.fetch_add(1, Ordering::Relaxed);
        match increment(store.as_ref(), &key).await {
            Ok(count) => {
                counts.acknowledged.store(count, Ordering::Relaxed);
            }
            Err(StorageError::Unavailable { .. }) => tokio::time::sleep(Duration::from_millis(20)).await,
            Err(other) => panic!("a write fails otherwise: {other}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn etcd_is_killed_and_comes_back() {
    let mut etcd = started().await;
    let store = widget_store(etcd.connect().await);
    let keys: Vec<_> = (0..4).map(|number| format!("{PREFIX}w{number}")).collect();
    for key in &keys {
        store.create(key, Widget::named("w").value(), None).await.unwrap();
    }
    let start = store.current_revision().await.unwrap();
    let mut watcher = Watcher::after(store.as_ref(), PREFIX, start).await;
    let stop = Arc::new(AtomicBool::new(false));
    let mut writers = Vec::new();
    for key in keys {
        let counts = Arc::new(Counts::default());
        let task = count(Arc::clone(&store), key.clone(), Arc::clone(&counts), Arc::clone(&stop));
        writers.push((key, counts, tokio::spawn(task)));
    }
    let mut seen = 0;
    for _ in 0..20 {
        seen += modified(&mut watcher).await.unwrap();
    }
    etcd.kill();
    let interrupted = loop {
        match modified(&mut watcher).await {
            Ok(count) => seen += count,
            Err(error) => break error,
        }
    };
    assert!(matches!(interrupted, WatchError::Interrupted(_)), "{interrupted:?}");
    assert!(watcher.item().await.is_none(), "a watch ends after its first error");
    let asked = Instant::now();
    let refused = store.get(&format!("{PREFIX}w0"), None).await;
    assert!(matches!(refused, Err(StorageError::Unavailable { .. })), "{refused:?}");
    assert!(asked.elapsed() < Duration::from_secs(5), "a lost etcd is told at once");

    let before: u64 = writers.iter().map(|(_, counts, _)| counts.acknowledged.load(Ordering::Relaxed)).sum();
    etcd.restart().await.unwrap();
    let patience = Instant::now();
    while writers.iter().map(|(_, counts, _)| counts.acknowledged.load(Ordering::Relaxed)).sum::<u64>()
        < before + 50
    {
        assert!(patience.elapsed() < Duration::from_secs(20), "the writers recover");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    stop.store(true, Ordering::Relaxed);
    let mut total = 0;
    for (key, counts, task) in writers {
        task.await.unwrap();
        let found = Widget::decode(&store.get(&key, None).await.unwrap().unwrap()).count;
        let acknowledged = counts.acknowledged.load(Ordering::Relaxed);
        let tried = counts.tried.load(Ordering::Relaxed);
        assert!((acknowledged..=tried).contains(&found), "{acknowledged} <= {found} <= {tried}");
        total += found;
    }
    let mut watcher = Watcher::after(store.as_ref(), PREFIX, watcher.revision).await;
    while seen < total {
        seen += modified(&mut watcher).await.unwrap();
    }
    assert_eq!(store.current_revision().await.unwrap(), watcher.revision, "every change was seen, once");
}

/// Returns the next change of a watch, which must be newer than all before.
async fn modified(watcher: &mut Watcher) -> Result<u64, WatchError> {
    match watcher.item().await.expect("the watch goes on")? {
        WatchEvent::Modified(object) => {
            assert!(object.revision > watcher.revision, "a change comes twice or out of order");
            watcher.revision = object.revision;
            Ok(1)
        }
        WatchEvent::Bookmark { .. } => Ok(0),
        other => panic!("only changes happen, not {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hanging_etcd_does_not_hang_its_callers() {
    let etcd = started().await;
    let options = Etcd3Options { request_timeout_seconds: 1, health_timeout_seconds: 1, ..etcd.options() };
    let engine = Etcd3::connect(options).await.unwrap();
    etcd.signal("STOP").unwrap();
    let asked = Instant::now();
    let (read, written, healthy) =
        tokio::join!(engine.get(PREFIX), engine.put_if(PREFIX, 0, Bytes::new(), None), engine.health());
    assert!(matches!(read, Err(MvccError::Unavailable(_))), "{read:?}");
    assert!(matches!(written, Err(MvccError::Unavailable(_))), "{written:?}");
    assert!(healthy.is_err());
    assert!(asked.elapsed() < Duration::from_secs(3));
    etcd.signal("CONT").unwrap();
    engine.get(PREFIX).await.unwrap();
    assert_eq!(engine.health().await, Ok(()));
}

/// etcd trusts only clients with a certificate, and its own must be signed by the given authority.
#[tokio::test(flavor = "multi_thread")]
async fn etcd_is_reached_over_mutual_tls() {
    let directory = tempfile::tempdir().unwrap();
    let files = certificates(directory.path());
    let etcd = Etcd::start_with_tls(files.clone()).await.unwrap_or_else(|error| panic!("{error}"));
    let engine = etcd.connect().await;
    engine.put_if(PREFIX, 0, Bytes::from_static(b"1"), None).await.unwrap();
    let mut changes = engine.watch(PREFIX, &format!("{PREFIX}\0"), 1).await.unwrap();
    assert_eq!(changes.next().await.unwrap().unwrap().changes.len(), 1);

    let without = |change: fn(&mut Etcd3Options)| {
        let mut options = Etcd3Options { connect_timeout_seconds: 1, ..etcd.options() };
        change(&mut options);
        Etcd3::connect(options)
    };
    let anonymous = without(|options| (options.cert_file, options.key_file) = (None, None)).await;
    assert!(matches!(anonymous, Err(ConnectError::Unreachable { .. })), "no certificate, no access");
    let distrusting = without(|options| options.ca_file = None).await;
    assert!(
        matches!(distrusting, Err(ConnectError::Unreachable { .. })),
        "an unknown authority is not trusted"
    );
    let half = without(|options| options.key_file = None).await;
    assert!(matches!(half, Err(ConnectError::HalfAKeyPair)));
    let missing = without(|options| options.ca_file = Some("/nowhere".into())).await;
    assert!(matches!(missing, Err(ConnectError::File { .. })));
    let other = without(|options| options.ca_file = options.key_file.clone()).await;
    assert!(matches!(other, Err(ConnectError::NoSection { label: "CERTIFICATE", .. })));
}

/// Creates an authority and a certificate that serves for both sides.
fn certificates(directory: &Path) -> TlsFiles {
    let authority_key = rcgen::KeyPair::generate().unwrap();
    let mut parameters = rcgen::CertificateParams::new(Vec::new()).unwrap();
    parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority = parameters.self_signed(&authority_key).unwrap();
    let issuer = rcgen::Issuer::new(parameters, authority_key);
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()])
        .unwrap()
        .signed_by(&key, &issuer)
        .unwrap();
    let file = |name: &str, text: String| {
        let path = directory.join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    TlsFiles {
        ca_file: file("ca.pem", authority.pem()),
        cert_file: file("cert.pem", certificate.pem()),
        key_file: file("key.pem", key.serialize_pem()),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_member_is_not_noticed() {
    let etcd = started().await;
    let mut options = etcd.options();
    options.endpoints.insert(0, "http://127.0.0.1:9".to_owned());
    let engine = Etcd3::connect(options).await.unwrap();
    for number in 0..50 {
        let key = format!("{PREFIX}{number}");
        assert!(matches!(engine.put_if(&key, 0, Bytes::new(), None).await.unwrap(), Committed::At(_)));
        assert!(engine.get(&key).await.unwrap().key_value.is_some());
    }
}

#[tokio::test]
async fn an_etcd_that_is_not_there_is_told() {
    let options = Etcd3Options {
        endpoints: vec!["http://127.0.0.1:9".to_owned()],
        connect_timeout_seconds: 1,
        ..Etcd3Options::default()
    };
    let Err(error) = Etcd3::connect(options).await else { panic!("nobody listens there") };
    assert!(matches!(error, ConnectError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("http://127.0.0.1:9"), "{error}");
    let Err(error) = Etcd3::connect(Etcd3Options::default()).await else { panic!("there is no endpoint") };
    assert!(matches!(error, ConnectError::NoEndpoints), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn too_much_is_refused_and_does_no_harm() {
    let etcd = started().await;
    let engine = etcd.connect().await;
    for size in [2_000_000, 5_000_000] {
        let refused = engine.put_if(PREFIX, 0, Bytes::from(vec![0; size]), None).await;
        assert!(matches!(refused, Err(MvccError::TooLarge(_))), "{size}: {refused:?}");
    }
    engine.put_if(PREFIX, 0, Bytes::from_static(b"1"), None).await.unwrap();
    assert_eq!(engine.health().await, Ok(()));
    let options = Etcd3Options { max_requests_in_flight: 1, ..etcd.options() };
    let narrow = Etcd3::connect(options).await.unwrap();
    let (first, second) = tokio::join!(narrow.get(PREFIX), narrow.get(PREFIX));
    assert!(first.is_ok());
    assert!(matches!(second, Err(MvccError::Overloaded)), "{second:?}");
}

/// With the alarm that etcd raises when its database has reached its quota.
#[tokio::test(flavor = "multi_thread")]
async fn an_etcd_without_space_refuses_writes_in_its_own_words_until_the_alarm_is_lifted() {
    let etcd = started().await;
    let engine = etcd.connect().await;
    let Committed::At(first) = engine.put_if(PREFIX, 0, Bytes::new(), None).await.unwrap() else {
        panic!("the key is free")
    };
    etcd.set_no_space(true).await.unwrap();
    for ttl in [None, Some(Duration::from_mins(1))] {
        let refused = engine.put_if(PREFIX, first, Bytes::new(), ttl).await;
        let Err(MvccError::Refused(reason)) = refused else { panic!("{refused:?}") };
        assert_eq!(&*reason, "etcdserver: mvcc: database space exceeded");
    }
    assert!(engine.get(PREFIX).await.unwrap().key_value.is_some());
    assert_eq!(engine.health().await, Ok(()), "reads are answered");
    // etcd still takes deletions, because they free space.
    assert!(matches!(engine.delete_if(PREFIX, first).await.unwrap(), Committed::At(_)));
    etcd.set_no_space(false).await.unwrap();
    assert!(matches!(engine.put_if(PREFIX, 0, Bytes::new(), None).await.unwrap(), Committed::At(_)));
}

/// Two servers share an etcd: old revisions are compacted once per interval, not once per server.
#[tokio::test(flavor = "multi_thread")]
async fn one_of_several_servers_compacts() {
    let etcd = started().await;
    let options = Etcd3Options { compaction_interval: Duration::from_millis(500), ..etcd.options() };
    let servers =
        [Etcd3::connect(options.clone()).await.unwrap(), Etcd3::connect(options.clone()).await.unwrap()];
    let engine = Arc::clone(&servers[0]);
    let Committed::At(first) = engine.put_if(PREFIX, 0, Bytes::new(), None).await.unwrap() else {
        panic!("the key is free")
    };
    engine.put_if(PREFIX, first, Bytes::new(), None).await.unwrap();
    let end = format!("{PREFIX}\0");
    let started = Instant::now();
    let mut rounds = 0;
    loop {
        let request = RangeRequest { start: PREFIX, end: &end, limit: 0, revision: Some(first) };
        match engine.range(request).await {
            Ok(_) => assert!(started.elapsed() < Duration::from_secs(15), "old revisions are forgotten"),
            Err(MvccError::Compacted { requested, oldest }) => {
                assert!(requested == first && oldest > first);
                break;
            }
            Err(other) => panic!("the range fails otherwise: {other}"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let mut noted = Bytes::new();
    let window = Instant::now();
    while window.elapsed() < Duration::from_secs(3) {
        let found = engine.get("compact_rev_key").await.unwrap().key_value.unwrap().value;
        if found != noted {
            (noted, rounds) = (found, rounds + 1);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!((3..=8).contains(&rounds), "about 6 rounds in 3 s, not {rounds}");
    assert!(engine.get(PREFIX).await.unwrap().key_value.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_progress_requests_a_list_not_older_than_a_consistent_one_is_the_stores() {
    let etcd = started().await;
    let engine = etcd.connect().await;
    let shared_watch = SharedWatch::new(Hooked::over(engine.clone(), NoProgress), PREFIX);
    let options = CacherOptions {
        prefix: PREFIX.to_owned(),
        indexes: &[],
        budget: Arc::new(CacheBudget::new(1 << 20)),
        history_events: 100,
        bookmark_period: Duration::from_mins(1),
    };
    let cacher = Cacher::new(widget_store(shared_watch.client()), options);
    let key = format!("{PREFIX}w");
    cacher.create(&key, Widget::named("w").value(), None).await.unwrap();
    // Outside the prefix: no watch reports this revision.
    engine.put_if("/elsewhere/a", 0, "{}".into(), None).await.unwrap();
    let consistent = cacher.list(PREFIX, &ListRequest::default()).await.unwrap();
    let not_older = ListRequest { revision: Some(consistent.revision), ..ListRequest::default() };
    let listed = cacher.list(PREFIX, &not_older).await.unwrap();
    assert_eq!((listed.revision >= consistent.revision, listed.items.len()), (true, 1));
    assert!(cacher.get(&key, Some(consistent.revision)).await.unwrap().is_some());
}

/// Copies bytes between a Unix socket and etcd's port until the test ends.
async fn relay(listener: UnixListener, port: String) {
    // They end with the relay.
    let mut connections = JoinSet::new();
    while let Ok((mut client, _)) = listener.accept().await {
        let mut etcd = TcpStream::connect(&port).await.unwrap();
        connections.spawn(async move { tokio::io::copy_bidirectional(&mut client, &mut etcd).await });
    }
}

/// The second of two sockets is used if nothing listens on the first, and a new connection is made after one is lost.
#[tokio::test(flavor = "multi_thread")]
async fn etcd_is_reached_over_a_unix_socket() {
    let etcd = started().await;
    let port = etcd.options().endpoints[0].strip_prefix("http://").unwrap().to_owned();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("etcd.sock");
    let relaying = tokio::spawn(relay(UnixListener::bind(&path).unwrap(), port.clone()));
    let nowhere = format!("unix://{}", directory.path().join("nowhere.sock").display());
    let endpoints = vec![nowhere.clone(), format!("unix://{}", path.display())];
    let engine = Etcd3::connect(Etcd3Options { endpoints, ..etcd.options() }).await.unwrap();
    let written = engine.put_if(PREFIX, 0, Bytes::from_static(b"1"), None).await.unwrap();
    assert!(matches!(written, Committed::At(_)), "{written:?}");
    let mut changes = engine.watch(PREFIX, &format!("{PREFIX}\0"), 1).await.unwrap();
    assert_eq!(changes.next().await.unwrap().unwrap().changes.len(), 1);

    relaying.abort();
    std::fs::remove_file(&path).unwrap();
    let relaying = tokio::spawn(relay(UnixListener::bind(&path).unwrap(), port));
    let got = engine.get(PREFIX).await.unwrap();
    assert_eq!(got.key_value.unwrap().value, Bytes::from_static(b"1"));
    relaying.abort();

    let options = Etcd3Options { endpoints: vec![nowhere], connect_timeout_seconds: 1, ..etcd.options() };
    let refused = Etcd3::connect(options).await.map(|_| ()).unwrap_err().to_string();
    assert!(refused.contains("nowhere.sock"), "{refused}");
}
