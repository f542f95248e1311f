//! The start and the end of servers. Run with `cargo bench -p orlop-test`.

#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a bench ends at what is missing, and divan's functions are its text"
)]

use divan::Bencher;
use futures::future::join_all;
use orlop_test::TestServer;
use tokio::runtime::Runtime;

fn main() {
    divan::main();
}

/// So many servers at once, until all are ready.
#[divan::bench(args = [1, 20], sample_count = 8, sample_size = 1)]
fn start(bencher: Bencher<'_, '_>, servers: usize) {
    let runtime = Runtime::new().unwrap();
    let all = || runtime.block_on(join_all((0..servers).map(|_| runtime.spawn(TestServer::start()))));
    bencher.bench_local(all);
}

#[divan::bench(sample_count = 8, sample_size = 1)]
fn stop(bencher: Bencher<'_, '_>) {
    let runtime = Runtime::new().unwrap();
    bencher
        .with_inputs(|| runtime.block_on(TestServer::start()).unwrap())
        .bench_local_values(|server| runtime.block_on(server.stop()));
}

/// A snapshot of the objects of a new server.
#[divan::bench(sample_count = 8, sample_size = 1)]
fn snapshot(bencher: Bencher<'_, '_>) {
    let runtime = Runtime::new().unwrap();
    let server = runtime.block_on(TestServer::start()).unwrap();
    bencher.bench_local(|| runtime.block_on(server.snapshot()).unwrap());
}
