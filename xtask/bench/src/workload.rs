//! Workloads of requests: clients repeat an operation while the server's CPU time is measured.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::Method;

use super::client::Client;
use super::closed_loop::{Load, closed_loop};
use super::measurement::Measurement;
use super::objects::{Kind, config_map};
use super::process::ServerProcess;
use crate::Failure;

/// Interval between two samples of memory.
const SAMPLE_EVERY: Duration = Duration::from_millis(5);

/// Clients read one ConfigMap of a namespace, consistently. `size`: the number of objects in the server.
pub(crate) async fn get(
    client: &Client,
    server: &ServerProcess,
    namespace: &str,
    size: usize,
    load: Load,
) -> Result<Measurement, Failure> {
    let collection = Kind::ConfigMap.collection(namespace);
    let name = format!("read-me-{size}");
    client.connect().await?.exchange(Method::POST, &collection, config_map(&name, "0")).await?;
    let path: Arc<str> = format!("{collection}/{name}").into();
    closed_loop(client, server, load, "get", size, move |mut connection, _| {
        let path = path.clone();
        async move { connection.exchange(Method::GET, &path, Bytes::new()).await }
    })
    .await
}

/// Clients create ConfigMaps; each is durable when it is acknowledged. `size`: the size shown in the row.
pub(crate) async fn create(
    client: &Client,
    server: &ServerProcess,
    namespace: &str,
    workload: &'static str,
    size: usize,
    load: Load,
) -> Result<Measurement, Failure> {
    let path: Arc<str> = Kind::ConfigMap.collection(namespace).into();
    let prefix: Arc<str> = workload.replace(' ', "-").into();
    closed_loop(client, server, load, workload, size, move |mut connection, number| {
        let path = path.clone();
        let body = config_map(&format!("{prefix}-{size}-{number}"), "0");
        async move { connection.exchange(Method::POST, &path, body).await }
    })
    .await
}

/// Clients list a collection, compressed if they ask for it.
pub(crate) async fn list(
    client: &Client,
    server: &ServerProcess,
    collection: &str,
    workload: &'static str,
    size: usize,
    load: Load,
) -> Result<Measurement, Failure> {
    let path: Arc<str> = collection.into();
    closed_loop(client, server, load, workload, size, move |connection, _| {
        let path = path.clone();
        async move {
            let mut connection = if workload == "list gzip" { connection.with_gzip() } else { connection };
            connection.exchange(Method::GET, &path, Bytes::new()).await
        }
    })
    .await
}

/// Returns the maximum growth of a server's memory during some work, in mebibytes.
pub(crate) async fn memory_growth<T>(server: &ServerProcess, work: impl Future<Output = T>) -> (T, f64) {
    let before = server.resident_mebibytes();
    let mut most = before;
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return (done, most - before),
            () = tokio::time::sleep(SAMPLE_EVERY) => most = most.max(server.resident_mebibytes()),
        }
    }
}
