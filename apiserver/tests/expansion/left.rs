//! Work that nobody waits for.

use std::time::Duration;

use bytes::Bytes;

use super::client::{Connection, Protocol};
use super::world::{CONFIG_MAPS, World, process_time, repeated, request};

/// Size of a body that takes seconds to decode without optimization, and a second with it.
const SLOW_BYTES: usize = 2_900_000;

/// Returns a body that takes long to read: YAML is the slowest format.
fn slow_body() -> Bytes {
    let lines = repeated(" k: [v]", "\n", SLOW_BYTES);
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata:\n{lines}\n").into()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_work_for_a_client_that_left_ends() {
    let mut world = World::start().await;
    let path = format!("{CONFIG_MAPS}?dryRun=All");
    let body = slow_body();
    let whole = world.post(&path, "application/yaml", body.clone()).await;
    let mut leaving = Connection::open(&world.server, Protocol::Http1).await;
    let begin = process_time();
    let sent = tokio::spawn(async move {
        leaving.try_send(request("POST", &path, "application/yaml", body)).await;
    });
    while process_time().saturating_sub(begin) < whole.time / 3 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(!sent.is_finished(), "the server is at work");
    sent.abort();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let left = process_time();
    tokio::time::sleep(whole.time).await;
    let further = process_time().saturating_sub(left);
    assert!(further < whole.time / 5, "{further:?} of {:?} after the client left", whole.time);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_work_ends_with_the_deadline() {
    let mut world = World::start().await;
    let path = format!("{CONFIG_MAPS}?dryRun=All");
    let whole = world.post(&path, "application/yaml", slow_body()).await;
    let late = world.post(&format!("{path}&timeout=100ms"), "application/yaml", slow_body()).await;
    assert_eq!(late.status, 504, "{}", late.text());
    tokio::time::sleep(Duration::from_millis(100)).await;
    let ended = process_time();
    tokio::time::sleep(whole.time).await;
    let further = process_time().saturating_sub(ended);
    assert!(further < whole.time / 5, "{further:?} of {:?} after the deadline", whole.time);
}
