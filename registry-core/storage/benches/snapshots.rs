//! Snapshots of the embedded store with ten thousand objects, and the way back to them. Run with
//! `cargo bench -p registry-storage --bench snapshots`.

#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a bench ends at what is missing, and divan's functions are its text"
)]

use std::sync::Arc;

use bytes::Bytes;
use divan::Bencher;
use registry_storage::embedded::Embedded;
use registry_storage::mvcc::Mvcc as _;
use tokio::runtime::Runtime;

/// The number of objects.
const OBJECTS: u32 = 10_000;
const OBJECT_BYTES: usize = 1_000;

fn main() {
    divan::main();
}

/// Creates objects with numbers from `from` on.
async fn create(store: &Embedded, from: u32, count: u32) {
    let value = Bytes::from(vec![b'x'; OBJECT_BYTES]);
    for number in from..from + count {
        store.put_if(&format!("/registry/things/{number:05}"), 0, value.clone(), None).await.unwrap();
    }
}

/// Returns a store in memory with the objects.
fn filled() -> (Runtime, Arc<Embedded>) {
    let runtime = Runtime::new().unwrap();
    let store = runtime.block_on(async {
        let store = Embedded::in_memory();
        create(&store, 0, OBJECTS).await;
        store
    });
    (runtime, store)
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn snapshot(bencher: Bencher<'_, '_>) {
    let (runtime, store) = filled();
    bencher.bench_local(|| runtime.block_on(store.snapshot()).unwrap());
}

/// Returns to the snapshot from a state with so many objects more.
#[divan::bench(args = [0, 100, OBJECTS], sample_count = 10, sample_size = 1)]
fn restore(bencher: Bencher<'_, '_>, more: u32) {
    let (runtime, store) = filled();
    let snapshot = runtime.block_on(store.snapshot()).unwrap();
    bencher
        .with_inputs(|| runtime.block_on(create(&store, OBJECTS, more)))
        .bench_local_values(|()| runtime.block_on(store.restore(&snapshot)).unwrap());
}
