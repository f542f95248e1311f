//! Watches.

use std::collections::HashSet;

use crate::mvcc::MvccError;

use super::{EngineFixture, text, writer};

pub(super) async fn changes_come_in_order_with_what_was_before(fixture: EngineFixture) {
    let start = fixture.engine.current_revision().await.unwrap();
    let mut changes = fixture.watch(start).await;
    let revisions = [
        fixture.put("a", "1").await,
        fixture.put("b", "1").await,
        fixture.put("a", "2").await,
        fixture.delete("a").await,
        fixture.put("a", "3").await,
    ];
    let seen = changes.next(5).await;
    assert_eq!(seen.iter().map(|change| change.revision).collect::<Vec<_>>(), revisions);
    let states: Vec<_> =
        seen.iter().map(|change| (text(change.previous.as_ref()), text(change.value.as_ref()))).collect();
    let expected =
        [(None, Some("1")), (None, Some("1")), (Some("1"), Some("2")), (Some("2"), None), (None, Some("3"))];
    assert_eq!(states, expected);
    assert_eq!(*seen[1].key, *fixture.key("b"));
}

pub(super) async fn a_watch_begins_after_its_revision(fixture: EngineFixture) {
    fixture.put("a", "1").await;
    let second = fixture.put("a", "2").await;
    let third = fixture.put("a", "3").await;
    let mut changes = fixture.watch(second).await;
    let seen = changes.next(1).await;
    assert_eq!((seen[0].revision, text(seen[0].previous.as_ref())), (third, Some("2")));
    let fourth = fixture.put("a", "4").await;
    assert_eq!(changes.next(1).await[0].revision, fourth);
}

pub(super) async fn a_watch_sees_only_its_range(fixture: EngineFixture) {
    let start = fixture.engine.current_revision().await.unwrap();
    let from = fixture.key("b");
    let to = fixture.key("c");
    let stream = fixture.engine.watch(&from, &to, start).await.unwrap();
    let mut changes = super::Changes { stream, revision: start };
    for suffix in ["a", "b", "bb", "c", "b/x"] {
        fixture.put(suffix, "1").await;
    }
    let keys: Vec<_> = changes.next(3).await.iter().map(|change| change.key.to_string()).collect();
    assert_eq!(keys, [fixture.key("b"), fixture.key("bb"), fixture.key("b/x")]);
}

/// Writers race a watcher that stops after every batch and watches again from the batch's revision: no change is lost
/// or duplicated.
pub(super) async fn batches_never_split_a_revision(fixture: EngineFixture) {
    const WRITERS: usize = 4;
    const WRITES: usize = 40;
    let mut revision = fixture.engine.current_revision().await.unwrap();
    let writers: Vec<_> = (0..WRITERS)
        .map(|number| {
            tokio::spawn(writer(fixture.engine.clone(), fixture.key(&format!("w{number}")), WRITES))
        })
        .collect();
    let mut seen = HashSet::new();
    while seen.len() < WRITERS * WRITES {
        let mut changes = fixture.watch(revision).await;
        // Several batches per watch, so that both ways of resuming are used.
        for _ in 0..5 {
            if seen.len() == WRITERS * WRITES {
                break;
            }
            let batch = changes.batch().await.unwrap();
            for change in batch.changes {
                assert!(change.revision > revision);
                assert!(seen.insert((change.key.clone(), change.revision)), "{change:?} comes twice");
            }
            revision = revision.max(batch.revision);
        }
    }
    for writer in writers {
        writer.await.unwrap();
    }
}

/// An engine may refuse to report progress on request, but must not report it incorrectly.
pub(super) async fn progress_is_reported_on_request(fixture: EngineFixture) {
    let written = fixture.put("a", "1").await;
    let mut changes = fixture.watch(written).await;
    let elsewhere = fixture.key("b");
    fixture.put("a", "2").await;
    changes.next(1).await;
    let stream = fixture.engine.watch(&elsewhere, &format!("{elsewhere}\0"), written).await.unwrap();
    let mut quiet = super::Changes { stream, revision: written };
    let newest = fixture.put("a", "3").await;
    loop {
        match fixture.engine.request_progress().await {
            Ok(()) | Err(MvccError::Unavailable(_)) => {}
            Err(other) => panic!("a request for progress fails otherwise: {other}"),
        }
        let batch = quiet.batch().await.unwrap();
        assert!(batch.changes.is_empty(), "nothing changed in this range: {batch:?}");
        if batch.revision >= newest {
            return;
        }
    }
}
