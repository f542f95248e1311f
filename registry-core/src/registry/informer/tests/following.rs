//! Informers over a watch that works.

use super::*;

#[tokio::test(start_paused = true)]
async fn the_list_comes_first_and_then_every_change_in_order() {
    let fixture = Fixture::new();
    let watch = fixture.watch();
    send(&watch, added("a", 1));
    assert_eq!(fixture.calls().await, Vec::<String>::new(), "the list is not complete");
    assert!(!fixture.synced.is_synced());
    send(&watch, added("b", 2));
    send(&watch, bookmark(5, true));
    assert!(fixture.synced.wait().await);
    assert_eq!(fixture.calls().await, ["replaced a@1 b@2", "publish", "reached 5"]);
    send(&watch, modified("a", 6));
    assert_eq!(fixture.calls().await, ["modified a@6", "publish", "reached 6"]);
    send(&watch, deleted("b", 7));
    send(&watch, added("b", 8));
    assert_eq!(fixture.calls().await, ["deleted b@7", "added b@8", "publish", "reached 8"]);
    assert!(fixture.synced.clone().is_synced());
}

#[tokio::test(start_paused = true)]
async fn an_empty_resource_is_synced_too() {
    let fixture = Fixture::new();
    let _watch = fixture.list(&[], 3);
    assert!(fixture.synced.wait().await);
    assert_eq!(fixture.calls().await, ["replaced", "publish", "reached 3"]);
}

#[tokio::test(start_paused = true)]
async fn bookmarks_advance_the_revision_and_publish_nothing() {
    let fixture = Fixture::new();
    let watch = fixture.list(&["a"], 3);
    fixture.calls().await;
    send(&watch, bookmark(9, false));
    assert_eq!(fixture.calls().await, ["reached 9"]);
}

#[tokio::test(start_paused = true)]
async fn a_burst_of_changes_is_published_once() {
    let fixture = Fixture::new();
    let watch = fixture.list(&[], 1);
    fixture.calls().await;
    for number in 0..10_000 {
        send(&watch, added(&format!("w{number}"), number + 2));
    }
    let calls = fixture.calls().await;
    assert_eq!(calls.len(), 10_002);
    assert_eq!(calls.iter().filter(|call| *call == "publish").count(), 1);
    assert_eq!(calls[10_000..], ["publish", "reached 10001"]);
}

#[tokio::test(start_paused = true)]
async fn changes_without_a_pause_are_published_from_time_to_time() {
    let fixture = Fixture::new();
    let watch = fixture.list(&[], 1);
    fixture.calls().await;
    let object = entry("default", "w", 2);
    for _ in 0..40_000 {
        send(&watch, WatchEvent::Modified(object.clone()));
    }
    let calls = fixture.calls().await;
    assert_eq!(calls.iter().filter(|call| *call == "publish").count(), 3);
}

#[tokio::test(start_paused = true)]
async fn gathered_changes_are_published_together_after_a_bounded_time() {
    let fixture = Fixture::gathering(Duration::from_millis(100));
    let watch = fixture.list(&[], 1);
    assert_eq!(fixture.calls().await.len(), 3, "the list waits for nothing");
    let begin = Instant::now();
    let mut published = Vec::new();
    for number in 0..60 {
        send(&watch, added(&format!("w{number}"), number + 2));
        let calls = fixture.calls().await;
        published.extend(calls.iter().any(|call| call == "publish").then(|| begin.elapsed()));
        sleep(Duration::from_millis(9)).await;
    }
    assert!((5..=6).contains(&published.len()), "60 changes in 600 ms: {published:?}");
}

#[tokio::test(start_paused = true)]
async fn the_watch_ends_with_the_informer() {
    let fixture = Fixture::new();
    let watch = fixture.list(&["a"], 1);
    fixture.calls().await;
    fixture.running.abort();
    sleep(Duration::from_millis(1)).await;
    assert!(watch.is_closed(), "nobody reads the watch");
    assert!(fixture.synced.wait().await, "what was synced stays so");
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_an_informer_that_is_gone() {
    let fixture = Fixture::new();
    let _watch = fixture.watch();
    let synced = fixture.synced.clone();
    let waiting = tokio::spawn(async move { synced.wait().await });
    sleep(Duration::from_mins(1)).await;
    assert!(!waiting.is_finished());
    fixture.running.abort();
    assert!(!timeout(Duration::from_secs(1), waiting).await.unwrap().unwrap());
    assert_eq!(fixture.calls().await, Vec::<String>::new());
}
