use std::sync::Arc;

use futures::{FutureExt as _, StreamExt, stream};
use http_body_util::BodyExt;
use registry_core::storage::{Attributes, Entry, StoredObject, WatchError, WatchEvent, WatchStream};
use responses::negotiation::MetaVersion;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::super::ending::Ending;
use super::*;
use crate::handlers::representation::ItemForm;
use crate::handlers::watch::frames::Wire;
use crate::metrics::WatchMetrics;

fn entry(name: &str) -> StoredObject {
    let json = format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}","resourceVersion":"3"}},"data":{{}}}}"#
    );
    Arc::new(Entry::new(name.into(), 3, json.into(), 38, Attributes::default()))
}

fn frames(form: ItemForm) -> Frames {
    Frames {
        form,
        bookmark_type: "\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\"".into(),
        sends_bookmarks: true,
        sent_columns: false,
        wire: Wire::Json,
        metrics: WatchMetrics::default(),
    }
}

fn events() -> Vec<Result<WatchEvent, WatchError>> {
    vec![
        Ok(WatchEvent::Added(entry("a"))),
        Ok(WatchEvent::Bookmark { revision: 5, initial_events_end: true }),
        Ok(WatchEvent::Modified(entry("a"))),
        Ok(WatchEvent::Deleted(entry("a"))),
        Ok(WatchEvent::Bookmark { revision: 9, initial_events_end: false }),
        Err(WatchError::Compacted { requested: 3, oldest: 7 }),
    ]
}

async fn lines(events: WatchStream, frames: Frames) -> Vec<Value> {
    let body = WatchBody::new(events, frames, Duration::from_mins(1), Ending::default());
    let bytes = body.collect().await.unwrap().to_bytes();
    let text = std::str::from_utf8(&bytes).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn frames_carry_the_stored_bytes() {
    let stored: Value = serde_json::from_slice(entry("a").json()).unwrap();
    let sent = lines(stream::iter(events()).boxed(), frames(ItemForm::Whole)).await;
    assert_eq!(
        sent[..5],
        [
            json!({"type": "ADDED", "object": stored}),
            json!({"type": "BOOKMARK", "object": {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {
                "resourceVersion": "5", "annotations": {"k8s.io/initial-events-end": "true"}}}}),
            json!({"type": "MODIFIED", "object": stored}),
            json!({"type": "DELETED", "object": stored}),
            json!({"type": "BOOKMARK", "object": {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {
                "resourceVersion": "9"}}}),
        ]
    );
    assert_eq!(sent[5]["type"], "ERROR");
    assert_eq!(sent[5]["object"]["code"], 410);
    assert_eq!(sent[5]["object"]["reason"], "Expired");
    assert_eq!(sent[5]["object"]["message"], "too old resource version: 3 (7)");
}

#[tokio::test]
async fn bookmarks_come_only_when_asked_for() {
    let silent = Frames { sends_bookmarks: false, ..frames(ItemForm::Partial(MetaVersion::V1.into())) };
    let sent = lines(stream::iter(events()).boxed(), silent).await;
    let kinds: Vec<_> = sent.iter().map(|frame| frame["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["ADDED", "MODIFIED", "DELETED", "ERROR"]);
    assert_eq!(sent[0]["object"]["kind"], "PartialObjectMetadata");
    let interrupted = stream::iter([Err(WatchError::Interrupted("gone".into()))]).boxed();
    assert!(lines(interrupted, frames(ItemForm::Whole)).await.is_empty());
}

#[tokio::test]
async fn ready_events_are_sent_together() {
    let many: Vec<_> = (0..2_000).map(|n| Ok(WatchEvent::Added(entry(&format!("c{n}"))))).collect();
    let events = stream::iter(many).boxed();
    let mut body = WatchBody::new(events, frames(ItemForm::Whole), Duration::from_mins(1), Ending::default());
    let mut pieces = Vec::new();
    while let Some(frame) = body.frame().await {
        pieces.push(frame.unwrap().into_data().unwrap().remaining());
    }
    assert!(pieces.len() > 1 && pieces.len() < 10, "{pieces:?}");
    assert!(pieces.iter().all(|size| *size < 65 * 1024 + 1024));
}

#[tokio::test(start_paused = true)]
async fn watches_end_by_timeout_and_at_shutdown() {
    let shutdown = CancellationToken::new();
    let body = |seconds| {
        let grace_period = Duration::ZERO;
        let events = stream::pending().boxed();
        WatchBody::new(
            events,
            frames(ItemForm::Whole),
            Duration::from_secs(seconds),
            Ending::after(shutdown.clone(), grace_period, TaskTracker::new()),
        )
    };
    let started = tokio::time::Instant::now();
    assert!(body(7).frame().await.is_none());
    assert_eq!(started.elapsed().as_secs(), 7);
    let mut long = body(3600);
    shutdown.cancel();
    assert!(long.frame().await.is_none());
    assert!(started.elapsed().as_secs() < 8);
}

#[test]
fn default_timeouts_are_spread() {
    let minimum = Duration::from_mins(30);
    let timeouts: Vec<u64> = (0..20).map(|_| default_timeout(minimum).as_secs()).collect();
    assert!(timeouts.iter().all(|seconds| (1800..=3600).contains(seconds)));
    assert!(timeouts.iter().any(|seconds| *seconds != timeouts[0]));
    assert_eq!(
        default_timeout(Duration::ZERO),
        Duration::ZERO,
        "as in Kubernetes, such a watch ends at once"
    );
}

/// Ten watches end one after the other in the grace period, and still receive events until then.
#[tokio::test(start_paused = true)]
async fn watches_end_one_after_the_other_at_the_shutdown() {
    let shutdown = CancellationToken::new();
    let running = TaskTracker::new();
    let ending = Ending::after(shutdown.clone(), Duration::from_millis(20), running.clone());
    let (events, _) = tokio::sync::broadcast::channel::<()>(1);
    let mut bodies: Vec<_> = (0..10)
        .map(|_| {
            let received = events.subscribe();
            let added = stream::once(async move {
                let mut received = received;
                let _ = received.recv().await;
                Ok(WatchEvent::Added(entry("late")))
            });
            let open = added.chain(stream::pending()).boxed();
            WatchBody::new(open, frames(ItemForm::Whole), Duration::from_mins(1), ending.clone())
        })
        .collect();
    assert_eq!(running.len(), 10);
    let started = tokio::time::Instant::now();
    shutdown.cancel();
    let mut ends = Vec::new();
    // The watches are polled before the event, and so learn of the shutdown without having ended.
    assert!(bodies[9].frame().now_or_never().is_none());
    tokio::task::yield_now().await;
    for body in &mut bodies {
        assert!(body.frame().now_or_never().is_none(), "its turn has not come");
    }
    events.send(()).unwrap();
    for body in &mut bodies {
        assert!(body.frame().await.is_some(), "an event during the grace period");
    }
    for body in &mut bodies {
        assert!(body.frame().await.is_none());
        ends.push(started.elapsed().as_millis());
    }
    assert!(ends.windows(2).all(|pair| pair[0] < pair[1]), "{ends:?}");
    assert!(ends[9] <= 21, "{ends:?}");
    drop(bodies);
    assert!(running.is_empty());
}

#[tokio::test]
async fn an_unreadable_object_ends_the_watch() {
    let json = r#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"broken":"#;
    let broken = Arc::new(Entry::new("/registry/x".into(), 3, json.into(), 38, Attributes::default()));
    let events =
        [Ok(WatchEvent::Added(entry("a"))), Ok(WatchEvent::Added(broken)), Ok(WatchEvent::Added(entry("b")))];
    let sent = lines(stream::iter(events).boxed(), frames(ItemForm::Partial(MetaVersion::V1.into()))).await;
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[0]["type"], "ADDED");
    assert_eq!((&sent[1]["type"], &sent[1]["object"]["code"]), (&json!("ERROR"), &json!(500)));
    let message = sent[1]["object"]["message"].as_str().unwrap();
    assert!(message.contains("the stored value of /registry/x cannot be read"), "{message}");
}
