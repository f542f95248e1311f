//! Clients that send the next request as soon as the response has arrived.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::client::{Client, Connection};
use super::measurement::{Counted, Measurement};
use super::process::ServerProcess;
use crate::Failure;

/// The load of a workload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// Number of clients, each with its own connection.
    pub(crate) clients: usize,
    /// Duration, in seconds.
    pub(crate) seconds: u64,
}

/// Runs one operation repeatedly. It receives a connection and a unique number, and returns the bytes of the response.
pub(crate) async fn closed_loop<Operation, Running>(
    client: &Client,
    server: &ServerProcess,
    load: Load,
    workload: &'static str,
    size: usize,
    operation: Operation,
) -> Result<Measurement, Failure>
where
    Operation: Fn(Connection, u64) -> Running + Clone + Send + 'static,
    Running: Future<Output = Result<usize, Failure>> + Send,
{
    let mut connections = Vec::new();
    for _ in 0..load.clients {
        connections.push(client.connect().await?);
    }
    let numbers = Arc::new(AtomicU64::new(0));
    let cpu_before = server.cpu_seconds()?;
    let started = Instant::now();
    let until = started + Duration::from_secs(load.seconds);
    let loops: Vec<_> = connections
        .into_iter()
        .map(|connection| {
            let operation = operation.clone();
            let numbers = numbers.clone();
            tokio::spawn(async move {
                let mut latencies = Vec::new();
                let mut received_bytes = 0;
                while Instant::now() < until {
                    let sent = Instant::now();
                    let number = numbers.fetch_add(1, Ordering::Relaxed);
                    received_bytes += operation(connection.clone(), number).await?;
                    latencies.push(sent.elapsed());
                }
                Ok::<_, Failure>((latencies, received_bytes))
            })
        })
        .collect();
    let mut latencies = Vec::new();
    let mut received_bytes = 0;
    for running in loops {
        let (own, bytes) = running.await??;
        latencies.extend(own);
        received_bytes += bytes;
    }
    let counted = Counted {
        operations: latencies.len() as u64,
        received_bytes: received_bytes as u64,
        elapsed: started.elapsed(),
        cpu_seconds: server.cpu_seconds()? - cpu_before,
    };
    Ok(Measurement::new(workload, size, &counted, latencies, server))
}
