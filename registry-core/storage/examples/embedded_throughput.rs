//! How many durable creates the embedded engine takes per second, from 64 clients:
//!
//! ```text
//! cargo run --release -p registry-core --example embedded_throughput -- [directory] [seconds]
//! ```

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use registry_storage::embedded::{Embedded, EmbeddedOptions};
use registry_storage::mvcc::Mvcc;

const CLIENTS: u64 = 64;
const VALUE_BYTES: usize = 1400;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory =
        arguments.next().map_or_else(|| PathBuf::from("target/embedded-throughput"), PathBuf::from);
    let duration = Duration::from_secs(arguments.next().map_or(Ok(5), |seconds| seconds.parse())?);

    let begin = Instant::now();
    let store = Embedded::open(EmbeddedOptions::new(&directory))?;
    println!("opened {} in {:?}: {:?}", directory.display(), begin.elapsed(), store.statistics());
    println!("resident memory: {} kB", resident_kilobytes());

    let creates = Arc::new(AtomicU64::new(0));
    let after = store.current_revision().await?;
    let begin = Instant::now();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| tokio::spawn(create(store.clone(), creates.clone(), client, after, begin + duration)))
        .collect();
    for client in clients {
        client.await??;
    }
    let count = creates.load(Ordering::Relaxed);
    let elapsed = begin.elapsed();
    println!(
        "{count} creates in {elapsed:.2?}: {} per second",
        u128::from(count) * 1000 / elapsed.as_millis().max(1)
    );

    let begin = Instant::now();
    for number in 0..10_000 {
        store.get(&format!("/bench/{after}/0/{}", number % (count / CLIENTS).max(1))).await?;
    }
    println!("10000 gets in {:.2?}", begin.elapsed());
    println!("{:?}, resident memory: {} kB", store.statistics(), resident_kilobytes());
    store.close().await;
    Ok(())
}

async fn create(
    store: Arc<Embedded>,
    creates: Arc<AtomicU64>,
    client: u64,
    run: u64,
    end: Instant,
) -> Result<(), registry_storage::mvcc::MvccError> {
    let value = Bytes::from(vec![b'x'; VALUE_BYTES]);
    for number in 0_u64.. {
        if Instant::now() >= end {
            break;
        }
        store.put_if(&format!("/bench/{run}/{client}/{number}"), 0, value.clone(), None).await?;
        creates.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

/// 0 where there is no `/proc`.
fn resident_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}
