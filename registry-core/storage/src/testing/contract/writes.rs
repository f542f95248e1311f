//! Conditional writes.

use std::time::Duration;

use bytes::Bytes;

use crate::mvcc::{Committed, Got};

use super::{EngineFixture, at};

pub(super) async fn put_is_conditional(fixture: EngineFixture) {
    let engine = &fixture.engine;
    let key = fixture.key("a");
    let value = Bytes::from_static(b"1");
    let created = at(&engine.put_if(&key, 0, value.clone(), None).await.unwrap());
    let Committed::ConditionFailed(Got { revision, key_value: Some(found) }) =
        engine.put_if(&key, 0, Bytes::from_static(b"2"), None).await.unwrap()
    else {
        panic!("a key that is there is not created");
    };
    assert_eq!((found.value, found.mod_revision, found.create_revision), (value, created, created));
    assert!(revision >= created);
    let changed = at(&engine.put_if(&key, created, Bytes::from_static(b"3"), None).await.unwrap());
    assert!(changed > created);
    let stale = engine.put_if(&key, created, Bytes::from_static(b"4"), None).await.unwrap();
    assert!(matches!(stale, Committed::ConditionFailed(_)), "{stale:?}");
    let found = engine.get(&key).await.unwrap().key_value.unwrap();
    assert_eq!((&found.value[..], found.mod_revision, found.create_revision), (&b"3"[..], changed, created));
    assert_eq!(&*found.key, key);
    let absent = engine.put_if(&fixture.key("b"), created, Bytes::new(), None).await.unwrap();
    assert!(matches!(absent, Committed::ConditionFailed(Got { key_value: None, .. })), "{absent:?}");
}

pub(super) async fn delete_is_conditional(fixture: EngineFixture) {
    let engine = &fixture.engine;
    let key = fixture.key("a");
    let first = fixture.put("a", "1").await;
    let second = fixture.put("a", "2").await;
    let stale = engine.delete_if(&key, first).await.unwrap();
    let Committed::ConditionFailed(Got { key_value: Some(found), .. }) = stale else {
        panic!("a changed key is not deleted: {stale:?}");
    };
    assert_eq!(found.mod_revision, second);
    let deleted = at(&engine.delete_if(&key, second).await.unwrap());
    assert!(deleted > second);
    let got = engine.get(&key).await.unwrap();
    assert!(got.key_value.is_none() && got.revision >= deleted);
    let again = engine.delete_if(&key, second).await.unwrap();
    assert!(matches!(again, Committed::ConditionFailed(Got { key_value: None, .. })), "{again:?}");
    let created = at(&engine.put_if(&key, 0, Bytes::from_static(b"3"), None).await.unwrap());
    assert_eq!(engine.get(&key).await.unwrap().key_value.unwrap().create_revision, created);
}

pub(super) async fn one_of_many_writers_wins(fixture: EngineFixture) {
    let key = fixture.key("a");
    let mut tasks = Vec::new();
    for number in 0..16 {
        let engine = fixture.engine.clone();
        let key = key.clone();
        tasks.push(tokio::spawn(async move {
            engine.put_if(&key, 0, Bytes::from(number.to_string()), None).await.unwrap()
        }));
    }
    let mut winners = Vec::new();
    for (number, task) in tasks.into_iter().enumerate() {
        if let Committed::At(revision) = task.await.unwrap() {
            winners.push((number, revision));
        }
    }
    let [(number, revision)] = winners[..] else { panic!("one writer wins, not {winners:?}") };
    let found = fixture.engine.get(&key).await.unwrap().key_value.unwrap();
    assert_eq!((found.value, found.mod_revision), (Bytes::from(number.to_string()), revision));
}

pub(super) async fn revisions_grow_without_gaps_for_one_writer(fixture: EngineFixture) {
    let mut last = 0;
    for number in 0..20 {
        let before = fixture.engine.current_revision().await.unwrap();
        let revision = fixture.put("a", &number.to_string()).await;
        assert!(revision > last && revision > before);
        assert!(fixture.engine.current_revision().await.unwrap() >= revision);
        last = revision;
    }
}

pub(super) async fn values_expire(fixture: EngineFixture) {
    let engine = &fixture.engine;
    let key = fixture.key("a");
    let mut changes = fixture.watch(engine.current_revision().await.unwrap()).await;
    let ttl = Some(Duration::from_secs(1));
    let written = at(&engine.put_if(&key, 0, Bytes::from_static(b"1"), ttl).await.unwrap());
    assert!(engine.get(&key).await.unwrap().key_value.is_some());
    let seen = changes.next(2).await;
    assert_eq!((seen[0].revision, seen[0].value.is_some()), (written, true));
    assert_eq!((&*seen[1].key, seen[1].value.as_ref()), (key.as_str(), None));
    assert!(seen[1].revision > written && seen[1].previous.is_some());
    assert!(engine.get(&key).await.unwrap().key_value.is_none());
}

pub(super) async fn a_write_without_time_to_live_ends_an_older_one(fixture: EngineFixture) {
    let engine = &fixture.engine;
    let key = fixture.key("a");
    let ttl = Some(Duration::from_secs(1));
    let written = at(&engine.put_if(&key, 0, Bytes::from_static(b"1"), ttl).await.unwrap());
    at(&engine.put_if(&key, written, Bytes::from_static(b"2"), None).await.unwrap());
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert!(engine.get(&key).await.unwrap().key_value.is_some());
}

pub(super) async fn large_values_and_odd_keys_are_kept(fixture: EngineFixture) {
    let value = Bytes::from((0..1_000_000_u32).map(|n| (n % 251) as u8).collect::<Vec<_>>());
    for suffix in ["plain", "ünï/ködé", "日本/名前", "with space", "a\u{1}b"] {
        let key = fixture.key(suffix);
        at(&fixture.engine.put_if(&key, 0, value.clone(), None).await.unwrap());
        let found = fixture.engine.get(&key).await.unwrap().key_value.unwrap();
        assert_eq!(&*found.key, key);
        assert!(found.value == value, "the value of {suffix} is kept");
    }
    let start = &fixture.prefix;
    let end = fixture.end();
    assert_eq!(fixture.engine.count(start, &end).await.unwrap(), 5);
}
