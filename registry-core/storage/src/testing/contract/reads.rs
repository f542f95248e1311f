//! Ranges, revisions, compaction.

use crate::mvcc::{MvccError, RangeRequest};

use super::EngineFixture;

pub(super) async fn ranges_are_ordered_limited_and_counted(fixture: EngineFixture) {
    for suffix in ["b", "a/z", "c", "a", "aa"] {
        fixture.put(suffix, "1").await;
    }
    assert_eq!(fixture.values(None).await.unwrap(), ["a=1", "a/z=1", "aa=1", "b=1", "c=1"]);
    let start = fixture.key("a/");
    let end = fixture.end();
    let request = RangeRequest { start: &start, end: &end, limit: 2, revision: None };
    let ranged = fixture.engine.range(request).await.unwrap();
    let keys: Vec<_> = ranged.key_values.iter().map(|found| found.key.to_string()).collect();
    assert_eq!(keys, [fixture.key("a/z"), fixture.key("aa")]);
    assert_eq!(ranged.count, 4, "the count is of the whole range");
    assert_eq!(fixture.engine.count(&start, &end).await.unwrap(), 4);
    let start = fixture.key("x");
    let end = fixture.key("y");
    assert_eq!(fixture.engine.count(&start, &end).await.unwrap(), 0);
}

pub(super) async fn ranges_show_one_revision(fixture: EngineFixture) {
    let first = fixture.put("a", "1").await;
    let second = fixture.put("b", "1").await;
    let third = fixture.put("a", "2").await;
    let fourth = fixture.delete("b").await;
    assert_eq!(fixture.values(Some(first)).await.unwrap(), ["a=1"]);
    assert_eq!(fixture.values(Some(second)).await.unwrap(), ["a=1", "b=1"]);
    assert_eq!(fixture.values(Some(third)).await.unwrap(), ["a=2", "b=1"]);
    assert_eq!(fixture.values(Some(fourth)).await.unwrap(), ["a=2"]);
    let end = fixture.end();
    let request = RangeRequest { start: &fixture.prefix, end: &end, limit: 1, revision: Some(third) };
    let ranged = fixture.engine.range(request).await.unwrap();
    assert!(ranged.revision >= fourth, "the answer tells the newest revision, not the one asked for");
    assert_eq!(ranged.count, 2, "the count is at the revision asked for");
}

pub(super) async fn the_future_is_refused(fixture: EngineFixture) {
    let now = fixture.put("a", "1").await;
    let future = now + 1_000_000;
    match fixture.values(Some(future)).await {
        Err(MvccError::FutureRevision { requested, current }) => {
            assert_eq!(requested, future);
            assert!(current >= now && current < future);
        }
        other => panic!("the future is refused, not {other:?}"),
    }
}

pub(super) async fn compacted_revisions_are_refused(fixture: EngineFixture) {
    let first = fixture.put("a", "1").await;
    fixture.put("b", "1").await;
    fixture.put("a", "2").await;
    let kept = fixture.put("b", "2").await;
    fixture.engine.compact(kept).await.unwrap();
    assert_eq!(fixture.values(Some(kept)).await.unwrap(), ["a=2", "b=2"]);
    assert_eq!(fixture.values(None).await.unwrap(), ["a=2", "b=2"]);
    match fixture.values(Some(first)).await {
        Err(MvccError::Compacted { requested, oldest }) => assert!(requested == first && oldest > first),
        other => panic!("what was compacted is refused, not {other:?}"),
    }
    // Reported at the start or as the first item.
    let refusal = match fixture.engine.watch(&fixture.prefix, &fixture.end(), first - 1).await {
        Err(refusal) => refusal,
        Ok(stream) => super::Changes { stream, revision: 0 }.batch().await.unwrap_err(),
    };
    assert!(matches!(refusal, MvccError::Compacted { .. }), "{refusal:?}");
    let mut changes = fixture.watch(kept).await;
    fixture.put("a", "3").await;
    assert_eq!(changes.next(1).await.len(), 1);
    fixture.engine.compact(first).await.expect("to forget what is forgotten is not an error");
}
