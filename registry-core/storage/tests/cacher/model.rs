//! A model of the cache: clients that list and watch while objects are written, and whose watches end and are resumed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use proptest::prelude::*;
use registry_meta::Preconditions;
use registry_storage::cacher::Cacher;
use registry_storage::embedded::Embedded;
use registry_storage::interface::{AnyDeletion, ListRequest, WatchEvent, WatchRequest, WatchStream};
use registry_storage::mvcc::Mvcc as _;
use registry_storage::testing::Widget;
use registry_storage::{Interface as _, Revision, StorageError, WatchError};

use super::{PREFIX, cache, settle, watch_color};

/// A step of the model.
#[derive(Clone, Debug)]
enum Step {
    Put(u8, u8),
    Delete(u8),
    Compact,
    /// The watch is dropped and resumed at its revision.
    Resume,
    /// The available events are read.
    Read,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        5 => (0..5_u8, 0..3_u8).prop_map(|(name, color)| Step::Put(name, color)),
        2 => (0..5_u8).prop_map(Step::Delete),
        1 => Just(Step::Compact),
        2 => Just(Step::Resume),
        2 => Just(Step::Read),
    ];
    proptest::collection::vec(step, 1..60)
}

/// A client like client-go's: it lists, watches, and lists again when required.
struct Reflector {
    cacher: Arc<Cacher>,
    request: WatchRequest,
    watch: Option<WatchStream>,
    revision: Revision,
    objects: BTreeMap<String, Revision>,
}

impl Reflector {
    async fn relist(&mut self) {
        let list = ListRequest { predicate: self.request.predicate.clone(), ..ListRequest::default() };
        let page = self.cacher.list(PREFIX, &list).await.unwrap();
        assert!(page.revision >= self.revision, "no time travel");
        self.revision = page.revision;
        self.objects = page.items.iter().map(|item| (item.key.to_string(), item.revision)).collect();
        self.resume().await;
    }

    async fn resume(&mut self) {
        self.request.revision = Some(self.revision);
        self.watch = match self.cacher.watch(PREFIX, &self.request).await {
            Ok(watch) => Some(watch),
            Err(StorageError::Compacted { .. }) => None,
            Err(error) => panic!("{error}"),
        };
    }

    async fn read(&mut self) {
        let Some(watch) = &mut self.watch else { return Box::pin(self.relist()).await };
        while let Ok(Some(item)) = tokio::time::timeout(Duration::from_millis(2), watch.next()).await {
            let (object, is_added, is_gone) = match item {
                Ok(WatchEvent::Added(object)) => (object, true, false),
                Ok(WatchEvent::Modified(object)) => (object, false, false),
                Ok(WatchEvent::Deleted(object)) => (object, false, true),
                Ok(WatchEvent::Bookmark { revision, .. }) => {
                    assert!(revision >= self.revision, "a bookmark does not go back");
                    self.revision = revision;
                    continue;
                }
                Err(WatchError::Compacted { .. }) => return Box::pin(self.relist()).await,
                Err(error) => panic!("{error}"),
            };
            assert!(object.revision > self.revision, "each event once, in order, none before a bookmark");
            self.revision = object.revision;
            let key = object.key.to_string();
            let before =
                if is_gone { self.objects.remove(&key) } else { self.objects.insert(key, object.revision) };
            assert_eq!(before.is_none(), is_added, "ADDED is what was not there before");
        }
    }
}

async fn play(steps: Vec<Step>) {
    let engine = Embedded::in_memory();
    let cacher = cache(&engine, 6, 1 << 20).await;
    let bookmarks = true;
    let requests = [
        WatchRequest { bookmarks, ..watch_color("color-1") },
        WatchRequest { bookmarks, send_initial_events: Some(false), ..WatchRequest::default() },
    ];
    let mut reflectors = Vec::new();
    for request in requests {
        let cacher = cacher.clone();
        let objects = BTreeMap::new();
        let mut reflector = Reflector { cacher, request, watch: None, revision: 0, objects };
        reflector.relist().await;
        reflectors.push(reflector);
    }
    let mut model: BTreeMap<String, (Revision, u8)> = BTreeMap::new();
    for step in steps {
        match step {
            Step::Put(name, color) => {
                let widget = Widget::named(&format!("w{name}")).color(&format!("color-{color}"));
                let key = format!("{PREFIX}w{name}");
                if model.contains_key(&key) {
                    cacher.delete(&key, &Preconditions::default(), &mut AnyDeletion, None).await.unwrap();
                }
                let made = cacher.create(&key, widget.value(), None).await.unwrap();
                model.insert(key, (made.revision, color));
            }
            Step::Delete(name) => {
                let key = format!("{PREFIX}w{name}");
                let gone = cacher.delete(&key, &Preconditions::default(), &mut AnyDeletion, None).await;
                assert_eq!(gone.is_ok(), model.remove(&key).is_some());
            }
            Step::Compact => engine.compact(engine.current_revision().await.unwrap()).await.unwrap(),
            Step::Resume => {
                for reflector in &mut reflectors {
                    reflector.resume().await;
                }
            }
            Step::Read => {
                for reflector in &mut reflectors {
                    reflector.read().await;
                }
            }
        }
    }
    settle(&cacher).await;
    for (reflector, only) in reflectors.iter_mut().zip([Some(1), None]) {
        reflector.read().await;
        let wanted = model.iter().filter(|(_, (_, color))| only.is_none_or(|only| *color == only));
        let expected: BTreeMap<_, _> = wanted.map(|(key, (revision, _))| (key.clone(), *revision)).collect();
        assert_eq!(reflector.objects, expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn watchers_end_with_the_stored_objects(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(play(steps));
    }
}
