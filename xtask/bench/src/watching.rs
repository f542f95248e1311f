//! Workloads of watches: many clients that receive events.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use http_body_util::BodyExt;
use hyper::Method;
use tokio::task::JoinSet;

use super::client::Client;
use super::measurement::{Counted, Measurement};
use super::objects::{Kind, config_map, make_namespace, remove_namespace};
use super::process::ServerProcess;
use crate::Failure;

/// Maximum number of watches that share a connection: below the servers' limit.
pub(crate) const SHARED: usize = 90;

/// The rate of events and the distribution of watchers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watching {
    /// The name of the row.
    pub(crate) workload: &'static str,
    /// Number of watchers of the collection.
    pub(crate) watchers: usize,
    /// Number of watchers that share a connection: client-go has all watches of a process on one, kubelets have one
    /// each.
    pub(crate) per_connection: usize,
    /// Deliveries per second; as fast as they are received if `None`.
    pub(crate) deliveries_per_second: Option<u64>,
    /// Duration, in seconds.
    pub(crate) seconds: u64,
}

/// The received events.
#[derive(Default)]
struct Deliveries {
    count: AtomicU64,
    latencies: parking_lot::Mutex<Vec<Duration>>,
}

/// Runs many watchers of one collection and a writer; counts deliveries and their lateness.
pub(crate) async fn watch(
    client: &Client,
    server: &ServerProcess,
    watching: Watching,
) -> Result<Measurement, Failure> {
    let namespace = format!("{}-{}", watching.workload.replace(' ', "-"), watching.watchers);
    make_namespace(client, &namespace).await?;
    let collection = Kind::ConfigMap.collection(&namespace);
    let clock = Instant::now();
    let deliveries = Arc::new(Deliveries::default());
    let mut watchers = JoinSet::new();
    open(client, &collection, watching, |body| {
        watchers.spawn(follow(body, clock, deliveries.clone()));
    })
    .await?;
    let cpu_before = server.cpu_seconds()?;
    let started = Instant::now();
    let written = write(client, &collection, watching, clock, &deliveries).await?;
    let expected = written * watching.watchers as u64;
    settle(&deliveries, expected).await;
    let counted = Counted {
        operations: deliveries.count(),
        received_bytes: 0,
        elapsed: started.elapsed(),
        cpu_seconds: server.cpu_seconds()? - cpu_before,
    };
    watchers.shutdown().await;
    remove_namespace(client, &namespace).await;
    let missing = expected.saturating_sub(deliveries.count());
    if missing > 0 {
        return Err(format!("{missing} of {expected} deliveries never came").into());
    }
    let latencies = deliveries.take_latencies();
    Ok(Measurement::new(watching.workload, watching.watchers, &counted, latencies, server))
}

/// Opens watches without events, which last as long as the returned value.
pub(crate) async fn idle(client: &Client, namespace: &str, watchers: usize) -> Result<JoinSet<()>, Failure> {
    let collection = Kind::ConfigMap.collection(namespace);
    let mut tasks = JoinSet::new();
    let mut connection = client.connect().await?;
    for number in 0..watchers {
        if number % SHARED == SHARED - 1 {
            connection = client.connect().await?;
        }
        let path = format!("{collection}?fieldSelector=metadata.name%3Didle-{number}&{PARAMETERS}");
        let response = connection.open(&path).await?;
        if !response.status().is_success() {
            return Err(format!("watch number {number} was refused: {}", response.status()).into());
        }
        let mut body = response.into_body();
        tasks.spawn(async move { while let Some(Ok(_bookmark)) = body.frame().await {} });
    }
    Ok(tasks)
}

/// The parameters of client-go.
pub(crate) const PARAMETERS: &str =
    "watch=true&resourceVersion=0&timeoutSeconds=1200&allowWatchBookmarks=true";

async fn open(
    client: &Client,
    collection: &str,
    watching: Watching,
    mut opened: impl FnMut(hyper::body::Incoming),
) -> Result<(), Failure> {
    let path = format!("{collection}?{PARAMETERS}");
    let mut connection = client.connect().await?;
    for number in 0..watching.watchers {
        if number > 0 && number.is_multiple_of(watching.per_connection) {
            connection = client.connect().await?;
        }
        let response = connection.open(&path).await?;
        if !response.status().is_success() {
            return Err(format!("watch number {number} was refused: {}", response.status()).into());
        }
        opened(response.into_body());
    }
    Ok(())
}

/// Writes at the given rate, or at most a few events ahead of the deliveries; returns the number of writes.
async fn write(
    client: &Client,
    collection: &str,
    watching: Watching,
    clock: Instant,
    deliveries: &Deliveries,
) -> Result<u64, Failure> {
    let mut writer = client.connect().await?;
    let started = Instant::now();
    let watchers = watching.watchers as u64;
    let mut written = 0_u64;
    while started.elapsed() < Duration::from_secs(watching.seconds) {
        let sent = clock.elapsed().as_nanos().to_string();
        let body = config_map(&format!("seen-{written}"), &sent);
        writer.exchange(Method::POST, collection, body).await?;
        written += 1;
        if let Some(rate) = watching.deliveries_per_second {
            let due = Duration::from_micros(written * watchers * 1_000_000 / rate.max(1));
            tokio::time::sleep(due.saturating_sub(started.elapsed())).await;
        }
        while deliveries.count() + 4 * watchers < written * watchers {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    Ok(written)
}

/// Reads one watch to its end; each event contains the time at which it was sent.
async fn follow(mut body: hyper::body::Incoming, clock: Instant, deliveries: Arc<Deliveries>) {
    let mut pending = Vec::new();
    while let Some(Ok(frame)) = body.frame().await {
        let Some(data) = frame.data_ref() else { continue };
        let now = clock.elapsed();
        // Most frames are whole lines: those are not copied.
        let before = std::mem::take(&mut pending);
        let joined = (!before.is_empty()).then(|| [&before, &**data].concat());
        let mut rest = joined.as_deref().unwrap_or(data);
        while let Some((line, behind)) = split_line(rest) {
            if let Some(sent) = sent(line) {
                deliveries.take(now.saturating_sub(sent));
            }
            rest = behind;
        }
        pending.extend_from_slice(rest);
    }
}

/// Returns the first line, and the rest.
fn split_line(text: &[u8]) -> Option<(&[u8], &[u8])> {
    const CHUNK_BYTES: usize = 256;
    // Testing whether a chunk contains a byte is faster than finding its position.
    let chunk = text.chunks(CHUNK_BYTES).position(|chunk| chunk.contains(&b'\n'))?;
    let (before, from) = text.split_at_checked(chunk * CHUNK_BYTES)?;
    let end = before.len() + from.iter().position(|byte| *byte == b'\n')?;
    Some((text.get(..end)?, text.get(end + 1..)?))
}

/// Returns the time at which an event was sent, by the bench's clock; `None` for a bookmark.
fn sent(line: &[u8]) -> Option<Duration> {
    const MARK: &[u8] = b"\"sent\":\"";
    // Behind the padding, near the end.
    let at = line.windows(MARK.len()).rposition(|window| window == MARK)?;
    let digits = line.iter().skip(at + MARK.len()).take_while(|byte| byte.is_ascii_digit());
    Some(Duration::from_nanos(digits.fold(0, |number, digit| number * 10 + u64::from(digit - b'0'))))
}

/// Waits until everything was delivered, or no more events arrive.
async fn settle(deliveries: &Deliveries, expected: u64) {
    let mut last = (deliveries.count(), Instant::now());
    while deliveries.count() < expected && last.1.elapsed() < Duration::from_secs(10) {
        tokio::time::sleep(Duration::from_millis(5)).await;
        if deliveries.count() != last.0 {
            last = (deliveries.count(), Instant::now());
        }
    }
}

// === impl Deliveries ===

impl Deliveries {
    fn take(&self, latency: Duration) {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        if count.is_multiple_of(16) {
            self.latencies.lock().push(latency);
        }
    }

    fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    fn take_latencies(&self) -> Vec<Duration> {
        std::mem::take(&mut *self.latencies.lock())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_split_and_say_when_they_were_sent() {
        let padding = "x".repeat(1_000);
        let text =
            format!("{{\"padding\":\"{padding}\",\"sent\":\"42\"}}}}\n{{\"type\":\"BOOKMARK\"}}\n{{\"half");
        let (event, rest) = split_line(text.as_bytes()).unwrap();
        assert_eq!(sent(event), Some(Duration::from_nanos(42)));
        let (bookmark, rest) = split_line(rest).unwrap();
        assert_eq!(sent(bookmark), None);
        assert_eq!((split_line(rest), rest), (None, &b"{\"half"[..]));
    }
}
