//! The workloads: what clients do, again and again, while the server's CPU time is counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::Method;

use super::Options;
use super::client::{Client, Connection};
use super::process::ServerProcess;
use super::report::Measurement;

/// How many watches share one connection: below what servers allow per connection.
const WATCHES_PER_CONNECTION: usize = 90;

/// Pads a ConfigMap to about 1.4 KB of JSON.
const PADDING_BYTES: usize = 1_000;

/// Makes a namespace for this run.
pub(crate) async fn make_namespace(client: &Client) -> Result<String, String> {
    let name = format!("bench-{}", std::process::id());
    let body = format!(r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{name}"}}}}"#);
    client.connect().await?.exchange(Method::POST, "/api/v1/namespaces", body.into()).await?;
    Ok(name)
}

/// Removes the run's objects again, as far as the server lets us.
pub(crate) async fn remove_namespace(client: &Client, namespace: &str) {
    let Ok(mut connection) = client.connect().await else { return };
    let objects = format!("/api/v1/namespaces/{namespace}/configmaps");
    // The measurement is done; what cannot be removed stays behind in a namespace of its own.
    let _ = connection.exchange(Method::DELETE, &objects, Bytes::new()).await;
    let _ =
        connection.exchange(Method::DELETE, &format!("/api/v1/namespaces/{namespace}"), Bytes::new()).await;
}

/// Clients read one ConfigMap, consistently.
pub(crate) async fn get(
    client: &Client,
    server: &ServerProcess,
    namespace: &str,
    arguments: &Options,
) -> Result<Measurement, String> {
    let collection = format!("/api/v1/namespaces/{namespace}/configmaps");
    client.connect().await?.exchange(Method::POST, &collection, config_map("read-me", "0")).await?;
    let path: Arc<str> = format!("{collection}/read-me").into();
    closed_loop(client, server, arguments, "get", 1, move |mut connection, _| {
        let path = path.clone();
        async move { connection.exchange(Method::GET, &path, Bytes::new()).await.map(|_| ()) }
    })
    .await
}

/// Clients create ConfigMaps; each is durable when it is acknowledged.
pub(crate) async fn create(
    client: &Client,
    server: &ServerProcess,
    namespace: &str,
    arguments: &Options,
) -> Result<Measurement, String> {
    let path: Arc<str> = format!("/api/v1/namespaces/{namespace}/configmaps").into();
    closed_loop(client, server, arguments, "create", 1, move |mut connection, number| {
        let path = path.clone();
        let body = config_map(&format!("made-{number}"), "0");
        async move { connection.exchange(Method::POST, &path, body).await.map(|_| ()) }
    })
    .await
}

/// One client lists a namespace of `size` ConfigMaps.
pub(crate) async fn list(
    client: &Client,
    server: &ServerProcess,
    size: usize,
    arguments: &Options,
) -> Result<Measurement, String> {
    let namespace = format!("bench-list-{size}-{}", std::process::id());
    fill(client, &namespace, size).await?;
    let path: Arc<str> = format!("/api/v1/namespaces/{namespace}/configmaps").into();
    let one_client = Options { clients: 1, ..copy_of(arguments) };
    let measured = closed_loop(client, server, &one_client, "list", size, {
        let path = path.clone();
        move |mut connection, _| {
            let path = path.clone();
            async move { connection.exchange(Method::GET, &path, Bytes::new()).await.map(|_| ()) }
        }
    })
    .await;
    remove_namespace(client, &namespace).await;
    measured
}

/// Many watchers of one collection, and a few writers; counts deliveries and how late they are.
pub(crate) async fn watch(
    client: &Client,
    server: &ServerProcess,
    watchers: usize,
    arguments: &Options,
) -> Result<Measurement, String> {
    let namespace = format!("bench-watch-{watchers}-{}", std::process::id());
    fill(client, &namespace, 0).await?;
    let collection: Arc<str> = format!("/api/v1/namespaces/{namespace}/configmaps").into();
    let clock = Instant::now();
    let deliveries = Arc::new(Deliveries::default());
    let mut tasks = Vec::new();
    let mut connection = client.connect().await?;
    for number in 0..watchers {
        if number % WATCHES_PER_CONNECTION == WATCHES_PER_CONNECTION - 1 {
            connection = client.connect().await?;
        }
        let path = format!("{collection}?watch=true&resourceVersion=0&timeoutSeconds=600");
        let response = connection.send(Method::GET, &path, "application/json", Bytes::new()).await?;
        if !response.status().is_success() {
            return Err(format!("watch number {number} was refused: {}", response.status()));
        }
        tasks.push(tokio::spawn(follow(response.into_body(), clock, deliveries.clone())));
    }
    let mut writer = client.connect().await?;
    let cpu_before = server.cpu_seconds()?;
    let started = Instant::now();
    let mut written = 0_u64;
    // Paced by the deliveries: never more than a few events ahead of the slowest watcher's average.
    while started.elapsed() < Duration::from_secs(arguments.seconds) {
        let sent = clock.elapsed().as_nanos().to_string();
        let body = config_map(&format!("seen-{written}"), &sent);
        writer.exchange(Method::POST, &collection, body).await?;
        written += 1;
        while deliveries.count() + 4 * (watchers as u64) < written * watchers as u64 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    settle(&deliveries, written * watchers as u64).await;
    let elapsed = started.elapsed();
    let cpu_seconds = server.cpu_seconds()? - cpu_before;
    for task in tasks {
        task.abort();
    }
    remove_namespace(client, &namespace).await;
    let missing = written * watchers as u64 - deliveries.count();
    if missing > 0 {
        return Err(format!("{missing} of {} deliveries never came", written * watchers as u64));
    }
    Ok(Measurement::new(
        "watch",
        watchers,
        deliveries.count(),
        elapsed,
        cpu_seconds,
        deliveries.take_latencies(),
        server,
    ))
}

/// What watchers received.
#[derive(Default)]
struct Deliveries {
    count: AtomicU64,
    latencies: std::sync::Mutex<Vec<Duration>>,
}

impl Deliveries {
    fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    fn take_latencies(&self) -> Vec<Duration> {
        std::mem::take(&mut *self.latencies.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

/// Reads one watch to its end; each event carries the moment it was sent.
async fn follow(mut body: hyper::body::Incoming, clock: Instant, deliveries: Arc<Deliveries>) {
    const MARK: &[u8] = b"\"sent\":\"";
    let mut pending = Vec::new();
    while let Some(Ok(frame)) = body.frame().await {
        let Some(data) = frame.data_ref() else { continue };
        pending.extend_from_slice(data);
        let now = clock.elapsed();
        while let Some(end) = pending.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = pending.drain(..=end).collect();
            let Some(at) = line.windows(MARK.len()).position(|window| window == MARK) else { continue };
            let digits = line.iter().skip(at + MARK.len()).take_while(|byte| byte.is_ascii_digit());
            let sent = digits.fold(0_u64, |number, digit| number * 10 + u64::from(digit - b'0'));
            let count = deliveries.count.fetch_add(1, Ordering::Relaxed);
            if count.is_multiple_of(16) {
                let latency = now.saturating_sub(Duration::from_nanos(sent));
                deliveries.latencies.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(latency);
            }
        }
    }
}

/// Waits until everything was delivered, or nothing more comes.
async fn settle(deliveries: &Deliveries, expected: u64) {
    let mut last = (deliveries.count(), Instant::now());
    while deliveries.count() < expected && last.1.elapsed() < Duration::from_secs(10) {
        tokio::time::sleep(Duration::from_millis(5)).await;
        if deliveries.count() != last.0 {
            last = (deliveries.count(), Instant::now());
        }
    }
}

/// Runs one operation in `arguments.clients` closed loops for `arguments.seconds`.
async fn closed_loop<Operation, Running>(
    client: &Client,
    server: &ServerProcess,
    arguments: &Options,
    name: &'static str,
    size: usize,
    operation: Operation,
) -> Result<Measurement, String>
where
    Operation: Fn(Connection, u64) -> Running + Clone + Send + 'static,
    Running: Future<Output = Result<(), String>> + Send,
{
    let mut connections = Vec::new();
    for _ in 0..arguments.clients {
        connections.push(client.connect().await?);
    }
    let numbers = Arc::new(AtomicU64::new(0));
    let cpu_before = server.cpu_seconds()?;
    let started = Instant::now();
    let until = started + Duration::from_secs(arguments.seconds);
    let loops: Vec<_> = connections
        .into_iter()
        .map(|connection| {
            let (operation, numbers) = (operation.clone(), numbers.clone());
            tokio::spawn(async move {
                let mut latencies = Vec::new();
                while Instant::now() < until {
                    let sent = Instant::now();
                    operation(connection.clone(), numbers.fetch_add(1, Ordering::Relaxed)).await?;
                    latencies.push(sent.elapsed());
                }
                Ok::<_, String>(latencies)
            })
        })
        .collect();
    let mut latencies = Vec::new();
    for running in loops {
        latencies.extend(running.await.map_err(|error| error.to_string())??);
    }
    let elapsed = started.elapsed();
    let cpu_seconds = server.cpu_seconds()? - cpu_before;
    Ok(Measurement::new(name, size, latencies.len() as u64, elapsed, cpu_seconds, latencies, server))
}

/// Makes a namespace with `size` ConfigMaps in it.
async fn fill(client: &Client, namespace: &str, size: usize) -> Result<(), String> {
    const WRITERS: usize = 16;
    let body = format!(r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{namespace}"}}}}"#);
    client.connect().await?.exchange(Method::POST, "/api/v1/namespaces", body.into()).await?;
    let mut writers = Vec::new();
    for writer in 0..WRITERS {
        let mut connection = client.connect().await?;
        let path = format!("/api/v1/namespaces/{namespace}/configmaps");
        writers.push(tokio::spawn(async move {
            for number in (writer..size).step_by(WRITERS) {
                connection.exchange(Method::POST, &path, config_map(&format!("item-{number}"), "0")).await?;
            }
            Ok::<_, String>(())
        }));
    }
    for writer in writers {
        writer.await.map_err(|error| error.to_string())??;
    }
    Ok(())
}

/// A ConfigMap of about 1.4 KB as the server stores it.
fn config_map(name: &str, sent: &str) -> Bytes {
    let padding = "x".repeat(PADDING_BYTES);
    format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}","labels":{{"app":"bench"}}}},"data":{{"padding":"{padding}","sent":"{sent}"}}}}"#
    )
    .into()
}

fn copy_of(arguments: &Options) -> Options {
    Options {
        server: arguments.server.clone(),
        token: arguments.token.clone(),
        pid: arguments.pid,
        etcd_servers: arguments.etcd_servers.clone(),
        label: arguments.label.clone(),
        seconds: arguments.seconds,
        clients: arguments.clients,
        watchers: arguments.watchers.clone(),
        list_sizes: arguments.list_sizes.clone(),
        only: arguments.only.clone(),
        output: arguments.output.clone(),
    }
}
