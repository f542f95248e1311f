//! Random histories against a model that records every state: a list must return the state of its revision, and a
//! watch exactly the events that happened, each once and in order.
//!
//! The same histories run against a store over the embedded engine, a store behind the watch cache, and a cache on a
//! shared watch over an engine that fails, delays calls and breaks watches.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "test code: a broken expectation is a failed test"
)]

mod watch_model {
    pub(crate) mod client;
    pub(crate) mod history;
    pub(crate) mod pager;
}

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use registry_storage::Interface;
use registry_storage::cacher::{CacheBudget, Cacher, CacherOptions};
use registry_storage::embedded::Embedded;
use registry_storage::mvcc::Mvcc;
use registry_storage::shared_watch::SharedWatch;
use registry_storage::testing::{FaultPlan, FaultyMvcc, widget_store};
use watch_model::client::{Client, Filter};
use watch_model::history::{History, Writer};
use watch_model::pager::Pager;

const ROOT: &str = "/registry/";
const PREFIX: &str = "/registry/widgets/";
/// Reads, watches and writes fail now and then. Failed writes have no effect, so that the history stays known.
const FAULTS: FaultPlan = FaultPlan { fail: 40, lose_answer: 0, delay: 60, break_watch: 60 };

/// A step of a history.
#[derive(Clone, Debug)]
enum Step {
    /// Creates or changes a widget: name, color, tier.
    Put(u8, u8, u8),
    Delete(u8),
    /// Compacts all but this many of the newest revisions.
    Compact(u8),
    /// A client reads at most this many events.
    Read(u8, u8),
    /// A client watches again from a remembered revision, this many events ago.
    Resume(u8, u8),
    /// A client starts a watch with the initial state; at least as new as its last revision, or any.
    Begin(u8, bool),
    /// A client lists, and watches from there.
    Relist(u8),
    /// Lists any available state.
    ListAny,
    /// Lists the state of this many revisions ago.
    ListExact(u8),
    /// Continues a paged list, or begins one.
    Page(u8),
    /// Another server changes a key of another resource.
    Foreign,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (0..5_u8, 0..3_u8, 0..2_u8).prop_map(|(name, color, tier)| Step::Put(name, color, tier)),
        3 => (0..5_u8).prop_map(Step::Delete),
        1 => (0..8_u8).prop_map(Step::Compact),
        4 => (any::<u8>(), 1..9_u8).prop_map(|(client, most)| Step::Read(client, most)),
        3 => (any::<u8>(), 0..12_u8).prop_map(|(client, ago)| Step::Resume(client, ago)),
        1 => (any::<u8>(), any::<bool>()).prop_map(|(client, any)| Step::Begin(client, any)),
        1 => any::<u8>().prop_map(Step::Relist),
        1 => Just(Step::ListAny),
        1 => (0..8_u8).prop_map(Step::ListExact),
        3 => (1..4_u8).prop_map(Step::Page),
        1 => Just(Step::Foreign),
    ];
    proptest::collection::vec(step, 1..70)
}

/// The store under test.
#[derive(Clone, Copy, Debug)]
enum Subject {
    Store,
    Cache,
    CacheOnFaultySharedWatch,
}

/// Opens the store under test, and the engine below it.
fn open(subject: Subject, seed: u64) -> (Arc<dyn Interface>, Arc<Embedded>) {
    let engine = Embedded::in_memory();
    let store = match subject {
        Subject::Store => widget_store(engine.clone()),
        Subject::Cache => cached(engine.clone()),
        Subject::CacheOnFaultySharedWatch => {
            let faulty = FaultyMvcc::new(engine.clone(), FAULTS, seed);
            cached(SharedWatch::new(faulty, ROOT).client())
        }
    };
    (store, engine)
}

/// Creates a cache with a short history, so that clients fall off it.
fn cached(engine: Arc<dyn Mvcc>) -> Arc<dyn Interface> {
    let options = CacherOptions {
        prefix: PREFIX.to_owned(),
        indexes: &["spec.color"],
        budget: Arc::new(CacheBudget::new(1 << 20)),
        history_events: 6,
        bookmark_period: Duration::from_millis(10),
    };
    Cacher::new(widget_store(engine), options)
}

async fn play(subject: Subject, seed: u64, steps: Vec<Step>) {
    let (store, engine) = open(subject, seed);
    let mut history = History::new(engine.current_revision().await.unwrap());
    let writer = Writer { store: store.clone(), engine: engine.clone() };
    let mut clients: Vec<_> =
        Filter::ALL.iter().map(|filter| Client::new(store.clone(), filter.clone())).collect();
    let mut pager = Pager::default();
    for step in steps {
        match step {
            Step::Put(name, color, tier) => writer.put(&mut history, name, color, tier).await,
            Step::Delete(name) => writer.delete(&mut history, name).await,
            Step::Compact(ago) => writer.compact(&mut history, ago).await,
            Step::Foreign => writer.foreign(&mut history).await,
            Step::Read(client, most) => pick(&mut clients, client).read(&history, most.into()).await,
            Step::Resume(client, ago) => pick(&mut clients, client).resume(&history, ago.into()).await,
            Step::Begin(client, any) => pick(&mut clients, client).begin(&history, any).await,
            Step::Relist(client) => pick(&mut clients, client).relist(&history).await,
            Step::ListAny => pager.list_any(store.as_ref(), &history).await,
            Step::ListExact(ago) => pager.list_exact(store.as_ref(), &history, ago.into()).await,
            Step::Page(limit) => pager.page(store.as_ref(), &history, limit.into()).await,
        }
    }
    for client in &mut clients {
        client.converge(&history).await;
    }
}

fn pick(clients: &mut [Client], number: u8) -> &mut Client {
    let count = clients.len();
    &mut clients[usize::from(number) % count]
}

fn run(subject: Subject, seed: u64, steps: Vec<Step>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(play(subject, seed, steps));
}

proptest! {
    #![proptest_config(ProptestConfig {
        max_shrink_iters: 200,
        failure_persistence: None,
        ..ProptestConfig::with_cases(64)
    })]

    #[test]
    fn the_store_tells_what_happened(steps in steps()) {
        run(Subject::Store, 0, steps);
    }

    #[test]
    fn the_cache_tells_what_happened(steps in steps()) {
        run(Subject::Cache, 0, steps);
    }

    #[test]
    fn a_cache_shows_every_change_in_spite_of_faults(seed in any::<u64>(), steps in steps()) {
        run(Subject::CacheOnFaultySharedWatch, seed, steps);
    }
}
