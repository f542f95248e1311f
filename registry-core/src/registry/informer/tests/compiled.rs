//! Compiled objects.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::api::Object;
use crate::registry::informer::Compiled;

use super::*;

/// Compiled names of widgets: those whose name begins with `x` are left out.
struct Named {
    storage: Arc<Scripted>,
    compiled: Arc<Compiled<String>>,
    /// Number of compilations.
    made: Arc<AtomicUsize>,
    running: JoinHandle<()>,
}

// === impl Named ===

impl Named {
    fn new() -> Self {
        let storage = Arc::new(Scripted::default());
        let store = Store::new(WIDGETS.instantiate(), storage.clone(), "/registry");
        let made = Arc::new(AtomicUsize::new(0));
        let count = made.clone();
        let (compiled, informer) = Compiled::informer(store, move |object: Object| {
            count.fetch_add(1, Ordering::Relaxed);
            let text = format!("{}/{}@{}", object.namespace(), object.name(), object.resource_version());
            (!object.name().starts_with('x')).then_some(text)
        });
        Self { storage, compiled, made, running: tokio::spawn(informer.run()) }
    }

    fn list(&self, objects: &[(&str, &str, Revision)], revision: Revision) -> mpsc::UnboundedSender<Item> {
        let (sender, receiver) = mpsc::unbounded_channel();
        for (namespace, name, written) in objects {
            send(&sender, WatchEvent::Added(entry(namespace, name, *written)));
        }
        send(&sender, bookmark(revision, true));
        self.storage.answer(Ok(stream_of(receiver)));
        sender
    }

    fn names(&self) -> Vec<String> {
        self.compiled.all().iter().map(|name| String::clone(name)).collect()
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        self.running.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn objects_are_found_by_namespace_and_name() {
    let named = Named::new();
    assert_eq!((named.compiled.revision(), named.names().len()), (0, 0), "nothing was listed");
    let objects = [("a", "one", 1), ("a", "two", 2), ("a-b", "one", 3), ("b", "one", 4), ("b", "x", 5)];
    let _watch = named.list(&objects, 9);
    named.compiled.wait_for(9).await;
    assert_eq!(named.names(), ["a-b/one@3", "a/one@1", "a/two@2", "b/one@4"]);
    let get = |namespace, name| named.compiled.get(namespace, name).map(|name| String::clone(&name));
    assert_eq!(get("a", "two").as_deref(), Some("a/two@2"));
    for (namespace, name) in [
        ("b", "x"),
        ("c", "one"),
        ("", "one"),
        ("a", ""),
        ("", ""),
        ("", "a/one"),
        ("a/one", ""),
        ("..", "a"),
    ] {
        assert_eq!(get(namespace, name), None, "{namespace:?} {name:?}");
    }
    let snapshot = named.compiled.snapshot();
    let of = |namespace| snapshot.in_namespace(namespace).map(|name| String::clone(name)).collect::<Vec<_>>();
    assert_eq!(of("a"), ["a/one@1", "a/two@2"]);
    assert_eq!(of("a-b"), ["a-b/one@3"]);
    assert_eq!(of(""), Vec::<String>::new());
    assert_eq!(of("a/one"), Vec::<String>::new());
    assert_eq!((snapshot.len(), snapshot.is_empty()), (4, false));
}

#[tokio::test(start_paused = true)]
async fn a_snapshot_stays_as_it_was() {
    let named = Named::new();
    let watch = named.list(&[("a", "one", 1), ("a", "two", 2)], 2);
    named.compiled.wait_for(2).await;
    let before = named.compiled.snapshot();
    send(&watch, WatchEvent::Deleted(entry("a", "one", 3)));
    send(&watch, WatchEvent::Modified(entry("a", "two", 4)));
    send(&watch, WatchEvent::Added(entry("a", "three", 5)));
    named.compiled.wait_for(5).await;
    assert_eq!(before.values().map(|name| &**name).collect::<Vec<_>>(), ["a/one@1", "a/two@2"]);
    assert_eq!(named.names(), ["a/three@5", "a/two@4"]);
    assert_eq!(named.compiled.revision(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_reader_waits_for_the_revision_of_its_write() {
    let named = Named::new();
    let watch = named.list(&[], 2);
    named.compiled.wait_for(2).await;
    let compiled = named.compiled.clone();
    let waiting = tokio::spawn(async move {
        compiled.wait_for(7).await;
        compiled.get("a", "one")
    });
    send(&watch, WatchEvent::Added(entry("a", "zero", 6)));
    sleep(Duration::from_secs(10)).await;
    assert!(!waiting.is_finished());
    send(&watch, WatchEvent::Added(entry("a", "one", 7)));
    assert_eq!(waiting.await.unwrap().as_deref().map(String::as_str), Some("a/one@7"));
    send(&watch, bookmark(11, false));
    named.compiled.wait_for(11).await;
    named.compiled.wait_for(3).await;
}

#[tokio::test(start_paused = true)]
async fn an_object_in_another_state_is_compiled_for_its_reader_only() {
    let named = Named::new();
    let _watch = named.list(&[("a", "one", 1)], 2);
    let of = |object| named.compiled.for_object(&object).map(|name| String::clone(&name));
    assert_eq!(of(entry("a", "one", 1)).as_deref(), Some("a/one@1"), "before anything was listed");
    named.compiled.wait_for(2).await;
    assert_eq!(of(entry("a", "one", 1)).as_deref(), Some("a/one@1"));
    assert_eq!(named.made.load(Ordering::Relaxed), 2, "the second look-up found it");
    assert_eq!(of(entry("a", "one", 3)).as_deref(), Some("a/one@3"));
    assert_eq!(of(entry("a", "new", 4)).as_deref(), Some("a/new@4"));
    assert_eq!(of(entry("a", "x", 5)), None);
    assert_eq!(named.names(), ["a/one@1"]);
}

#[tokio::test(start_paused = true)]
async fn an_update_that_cannot_be_compiled_removes_the_object() {
    let named = Named::new();
    let watch = named.list(&[("a", "one", 1)], 2);
    named.compiled.wait_for(2).await;
    let good = entry("a", "one", 3);
    let damaged = crate::storage::Entry::new(
        good.key.clone(),
        3,
        b"{\"kind\":".as_slice().into(),
        1,
        good.attributes.clone(),
    );
    send(&watch, WatchEvent::Modified(Arc::new(damaged)));
    named.compiled.wait_for(3).await;
    assert_eq!(named.names(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_new_list_compiles_only_what_has_changed() {
    let named = Named::new();
    let first = named.list(&[("a", "gone", 1), ("a", "kept", 2), ("a", "new", 3)], 5);
    let _second = named.list(&[("a", "kept", 2), ("a", "new", 8)], 9);
    named.compiled.wait_for(5).await;
    let kept = named.compiled.get("a", "kept").unwrap();
    first.send(Err(compacted())).unwrap();
    named.compiled.wait_for(9).await;
    assert_eq!(named.names(), ["a/kept@2", "a/new@8"]);
    assert!(Arc::ptr_eq(&kept, &named.compiled.get("a", "kept").unwrap()));
    assert_eq!(named.made.load(Ordering::Relaxed), 4);
}

#[tokio::test]
async fn fifty_thousand_objects_are_compiled_once_and_then_by_change() {
    const COUNT: u64 = 50_000;
    let named = Named::new();
    let names: Vec<(String, String)> =
        (0..COUNT).map(|number| (format!("n{}", number % 1_000), format!("w{number}"))).collect();
    let objects: Vec<(&str, &str, Revision)> = names
        .iter()
        .zip(1..)
        .map(|((namespace, name), revision)| (&**namespace, &**name, revision))
        .collect();
    let watch = named.list(&objects, COUNT);
    named.compiled.wait_for(COUNT).await;
    assert_eq!(named.compiled.snapshot().len(), 50_000);
    assert_eq!(named.made.load(Ordering::Relaxed), 50_000);
    let begin = Instant::now();
    for change in 1..=1_000 {
        send(&watch, WatchEvent::Modified(entry("n7", "w7", COUNT + change)));
        tokio::task::yield_now().await;
    }
    named.compiled.wait_for(COUNT + 1_000).await;
    assert_eq!(named.made.load(Ordering::Relaxed), 51_000);
    assert_eq!(named.compiled.get("n7", "w7").unwrap().as_str(), "n7/w7@51000");
    assert_eq!(named.compiled.snapshot().in_namespace("n7").count(), 50);
    assert!(begin.elapsed() < Duration::from_secs(5), "a change does not touch the other objects");
}
