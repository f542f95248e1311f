//! Informers over real stores whose engine fails: what they show is what is stored.

use std::collections::BTreeMap;

use serde_json::json;

use crate::api::{CreateOptions, DeleteOptions, ListOptions, UpdateOptions};
use crate::context::RequestContext;
use crate::registry::informer::Compiled;
use crate::registry::testing::{Edit, widget};
use crate::resource::Versions;
use crate::rest::{AdmitAll, Creater as _, GracefulDeleter as _, Lister as _, Updater as _};
use crate::storage::Interface;
use crate::storage::cacher::{CacheBudget, Cacher, CacherOptions};
use crate::storage::embedded::Embedded;
use crate::storage::mvcc::Mvcc;
use crate::storage::testing::{FaultPlan, FaultyMvcc};
use crate::storage::transform::Identity;
use crate::storage::versioned::VersionedStore;

use super::*;

const ROUNDS: u64 = 800;
const PLAN: FaultPlan = FaultPlan { fail: 50, lose_answer: 0, delay: 100, break_watch: 60 };

/// Checks that the changes fit the state they are applied to.
#[derive(Default)]
struct Strict {
    state: Mutex<BTreeMap<String, Revision>>,
    /// The first change that did not fit.
    complaint: Mutex<Option<String>>,
    newest: Mutex<Revision>,
}

impl InformerHandler for Strict {
    fn replaced(&self, objects: Vec<StoredObject>) {
        let state = objects.iter().map(|object| (object.key.to_string(), object.revision));
        *self.state.lock() = state.collect();
    }

    fn changed(&self, change: InformerChange) {
        let mut state = self.state.lock();
        let object = change.object();
        let (key, revision) = (object.key.to_string(), object.revision);
        let mut newest = self.newest.lock();
        let is_newer = revision > std::mem::replace(&mut *newest, revision);
        let (before, is_right) = match &change {
            InformerChange::Added(_) => (state.insert(key, revision), Option::is_none as fn(&_) -> bool),
            InformerChange::Modified(_) => (state.insert(key, revision), Option::is_some as fn(&_) -> bool),
            InformerChange::Deleted(_) => (state.remove(&key), Option::is_some as fn(&_) -> bool),
        };
        if !is_newer || !is_right(&before) {
            self.complaint.lock().get_or_insert(format!("{change:?} after {before:?}"));
        }
    }

    fn reached(&self, revision: Revision) {
        let mut newest = self.newest.lock();
        *newest = (*newest).max(revision);
    }
}

fn store(engine: Arc<dyn Mvcc>, cached: bool) -> Arc<Store> {
    let versions = Arc::new(Versions::only(WIDGETS.instantiate()));
    let bare: Arc<dyn Interface> = Arc::new(VersionedStore::new(engine, Arc::new(Identity), versions));
    let options = CacherOptions {
        prefix: "/registry/widgets/".to_owned(),
        indexes: &[],
        budget: Arc::new(CacheBudget::new(1 << 20)),
        history_events: 20,
        bookmark_period: Duration::from_millis(20),
    };
    let storage = if cached { Cacher::new(bare, options) } else { bare };
    Store::new(WIDGETS.instantiate(), storage, "/registry")
}

/// Creates, updates and deletes widgets. Returns the last revision.
async fn write(store: &Store) -> Revision {
    for round in 0..ROUNDS {
        let context = RequestContext::system(format!("n{}", round % 3));
        let name = format!("w{}", (round * 7) % 40);
        let options = UpdateOptions::default();
        let mut edit = Edit(|object: &mut crate::api::Object| {
            if object.name().is_empty() {
                *object = widget(&name, &json!({}));
            }
            object.set(&["spec", "replicas"], (round % 100).into());
        });
        if round % 5 == 4 {
            let _ = store.delete(&context, &name, &AdmitAll, &DeleteOptions::default()).await;
        } else {
            store.update(&context, &name, &mut edit, &AdmitAll, &options).await.unwrap();
        }
        if round % 50 == 0 {
            sleep(Duration::from_millis(30)).await;
        }
    }
    let context = RequestContext::system("last");
    let last = widget("last", &json!({}));
    let created = store.create(&context, last.into(), &AdmitAll, &CreateOptions::default()).await.unwrap();
    crate::registry::testing::object_of(&created).resource_version().parse().unwrap()
}

async fn follow(cached: bool, seed: u64) {
    let engine = Embedded::in_memory();
    let sound = store(engine.clone(), false);
    let faulty = store(FaultyMvcc::new(engine, PLAN, seed), cached);
    let strict = Arc::new(Strict::default());
    let checking = tokio::spawn(Informer::new(faulty.clone(), strict.clone()).run());
    let (compiled, informer) = Compiled::informer(faulty, |object| {
        Some((object.name().to_owned(), object.resource_version().to_owned()))
    });
    let compiling = tokio::spawn(informer.run());
    let last = write(&sound).await;
    let reached = async {
        compiled.wait_for(last).await;
        while *strict.newest.lock() < last {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_mins(1), reached).await.expect("the informers reach the last write");
    let page = sound.list(&RequestContext::system(""), &ListOptions::default()).await.unwrap();
    let stored: BTreeMap<String, Revision> =
        page.items.iter().map(|object| (object.key.to_string(), object.revision)).collect();
    assert_eq!(*strict.state.lock(), stored, "seed {seed}");
    let shown: Vec<String> = compiled.all().iter().map(|found| found.1.clone()).collect();
    let expected: Vec<String> = stored.values().map(ToString::to_string).collect();
    assert_eq!(shown, expected, "seed {seed}");
    assert_eq!(*strict.complaint.lock(), None, "every change fits the state before it");
    checking.abort();
    compiling.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_informer_over_a_failing_engine_shows_what_is_stored() {
    for seed in 1..=3 {
        follow(false, seed).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_informer_over_a_cache_of_a_failing_engine_shows_what_is_stored() {
    for seed in 1..=3 {
        follow(true, seed).await;
    }
}
