//! Informers over a store that fails.

use super::*;
use crate::storage::{CorruptObject, Unreadable};

#[tokio::test(start_paused = true)]
async fn a_list_that_fails_is_tried_again() {
    let fixture = Fixture::new();
    for _ in 0..4 {
        fixture.storage.answer(Err(unavailable()));
    }
    let _watch = fixture.list(&["a"], 3);
    assert!(!fixture.synced.is_synced());
    assert!(fixture.synced.wait().await);
    assert_eq!(fixture.calls().await, ["replaced a@1", "publish", "reached 3"]);
    assert_eq!(fixture.storage.positions(), [None; 5]);
    let times: Vec<Instant> = fixture.storage.opened().into_iter().map(|(time, _)| time).collect();
    let pauses: Vec<Duration> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    for (number, pause) in pauses.iter().enumerate() {
        let longest = Duration::from_millis(50 << number);
        assert!(*pause <= longest + Duration::from_millis(1) && *pause >= longest / 2, "{pauses:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_stays_away_is_asked_every_few_seconds() {
    let fixture = Fixture::new();
    *fixture.storage.otherwise.lock() = Some(unavailable());
    sleep(Duration::from_mins(10)).await;
    let attempts = fixture.storage.opened().len();
    assert!((110..=200).contains(&attempts), "{attempts} attempts in ten minutes");
    assert!(!fixture.synced.is_synced());
}

#[tokio::test(start_paused = true)]
async fn a_list_that_breaks_off_is_not_handed_over() {
    let fixture = Fixture::new();
    let broken = fixture.watch();
    let _complete = fixture.list(&["b"], 3);
    send(&broken, added("a", 1));
    drop(broken);
    assert!(fixture.synced.wait().await);
    assert_eq!(fixture.calls().await, ["replaced b@1", "publish", "reached 3"]);
    assert_eq!(fixture.storage.positions(), [None, None]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_is_resumed_at_the_last_revision() {
    let fixture = Fixture::new();
    let first = fixture.list(&["a"], 3);
    let second = fixture.watch();
    let third = fixture.watch();
    send(&first, modified("a", 4));
    send(&first, bookmark(9, false));
    drop(first);
    sleep(Duration::from_secs(1)).await;
    fixture.calls().await;
    send(&second, modified("a", 10));
    second.send(Err(WatchError::Interrupted("the connection was lost".into()))).unwrap();
    assert_eq!(
        fixture.calls().await[..2],
        ["modified a@10", "publish"],
        "what came before the failure counts"
    );
    sleep(Duration::from_secs(1)).await;
    send(&third, deleted("a", 11));
    assert_eq!(fixture.calls().await, ["deleted a@11", "publish", "reached 11"]);
    assert_eq!(fixture.storage.positions(), [None, Some(9), Some(10)]);
}

#[tokio::test(start_paused = true)]
async fn everything_is_listed_again_after_the_history_was_lost() {
    let fixture = Fixture::new();
    let first = fixture.list(&["a", "b"], 3);
    let _second = fixture.list(&["b", "c"], 20);
    fixture.calls().await;
    first.send(Err(compacted())).unwrap();
    sleep(Duration::from_secs(1)).await;
    assert_eq!(fixture.calls().await, ["reached 3", "replaced b@1 c@1", "publish", "reached 20"]);
    let requested: Vec<_> = fixture.storage.opened().iter().map(|(_, request)| request.revision).collect();
    assert_eq!(requested, [Some(0), None], "at first any state, then none that is older than the handler's");
}

#[tokio::test(start_paused = true)]
async fn everything_is_listed_again_when_the_watch_cannot_be_resumed() {
    let fixture = Fixture::new();
    let first = fixture.list(&["a"], 3);
    let gone = StorageError::Compacted { requested: 3, oldest: 9, fresh_continue: None };
    fixture.storage.answer(Err(gone));
    let _third = fixture.list(&["c"], 20);
    drop(first);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(fixture.calls().await[4..], ["replaced c@1", "publish", "reached 20"]);
    assert_eq!(fixture.storage.positions(), [None, Some(3), None]);
}

#[tokio::test(start_paused = true)]
async fn a_value_that_cannot_be_read_leads_to_a_new_list() {
    let fixture = Fixture::new();
    let first = fixture.list(&["a"], 3);
    let _second = fixture.list(&["a"], 5);
    let reason = Unreadable::Invalid(Arc::new(std::fmt::Error));
    let corrupt = WatchError::Corrupt(CorruptObject {
        key: "/registry/widgets/default/b".to_owned(),
        revision: 4,
        reason,
    });
    first.send(Err(corrupt)).unwrap();
    sleep(Duration::from_secs(1)).await;
    assert_eq!(fixture.storage.positions(), [None, None]);
}

#[tokio::test(start_paused = true)]
async fn watches_that_end_at_once_are_not_opened_in_a_loop() {
    let fixture = Fixture::new();
    drop(fixture.list(&["a"], 3));
    *fixture.storage.ends.lock() = true;
    sleep(Duration::from_mins(10)).await;
    let positions = fixture.storage.positions();
    assert!((110..=200).contains(&positions.len()), "{} watches in ten minutes", positions.len());
    assert_eq!(positions[1..6], [Some(3); 5], "resumed a few times");
    assert_eq!(positions[6], None, "then listed again: the position may be what is wrong");
}

#[tokio::test(start_paused = true)]
async fn a_failure_long_after_the_last_one_is_retried_at_once() {
    let fixture = Fixture::new();
    for _ in 0..10 {
        fixture.storage.answer(Err(unavailable()));
    }
    let watch = fixture.list(&[], 3);
    assert!(fixture.synced.wait().await);
    sleep(Duration::from_mins(1)).await;
    drop(watch);
    let lost = Instant::now();
    sleep(Duration::from_secs(10)).await;
    let (opened, _) = fixture.storage.opened().pop().unwrap();
    assert!(opened - lost <= Duration::from_millis(51), "{:?}", opened - lost);
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_the_handler_leads_to_a_new_list() {
    let fixture = Fixture::new();
    let first = fixture.list(&["a"], 3);
    let _second = fixture.list(&["a", "b"], 5);
    fixture.calls().await;
    *fixture.recorder.fatal.lock() = Some("b@4".to_owned());
    send(&first, added("b", 4));
    sleep(Duration::from_secs(1)).await;
    assert_eq!(fixture.calls().await, ["replaced a@1 b@1", "publish", "reached 5"]);
    assert_eq!(fixture.storage.positions(), [None, None]);
}
