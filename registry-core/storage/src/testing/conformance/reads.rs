//! Single reads and counts.

use std::time::Duration;

use bytes::Bytes;

use crate::error::StorageError;
use crate::interface::ListRequest;
use crate::testing::{Fixture, Widget};

pub(super) async fn the_future_is_refused(fixture: Fixture) {
    let created = fixture.create(&Widget::named("a")).await;
    let key = fixture.key("a");
    for not_older_than in [None, Some(0), Some(1), Some(created.revision)] {
        let read = fixture.store.get(&key, not_older_than).await.unwrap().unwrap();
        assert_eq!(read.revision, created.revision);
    }
    let future = created.revision + 1_000_000;
    match fixture.store.get(&key, Some(future)).await {
        Err(error @ StorageError::FutureRevision { requested, current }) => {
            assert!(requested == future && current >= created.revision);
            assert_eq!(
                error.to_string(),
                format!("Too large resource version: {future}, current: {current}")
            );
        }
        other => panic!("the future is refused, not {other:?}"),
    }
}

pub(super) async fn an_absent_object_is_none(fixture: Fixture) {
    fixture.create(&Widget::named("ab")).await;
    assert!(fixture.get("a").await.is_none());
    assert!(fixture.get("abc").await.is_none());
}

pub(super) async fn objects_are_counted(fixture: Fixture) {
    for name in ["a", "b", "sub/c", "sub/d", "subway"] {
        fixture.create(&Widget::named(name)).await;
    }
    let count = async |prefix: String| fixture.store.count(&prefix).await.unwrap();
    assert_eq!(count(fixture.prefix.clone()).await, 5);
    assert_eq!(count(fixture.key("sub/")).await, 2);
    assert_eq!(count(fixture.key("a")).await, 1);
    assert_eq!(count(fixture.key("none/")).await, 0);
    fixture.delete("sub/c").await.unwrap();
    assert_eq!(count(fixture.prefix.clone()).await, 4);
}

/// An unreadable value is reported with its key; reads of other objects succeed, but lists fail.
pub(super) async fn unreadable_objects_are_reported(fixture: Fixture) {
    fixture.create(&Widget::named("good")).await;
    let values: [(&str, &[u8]); 3] =
        [("text", b"not json"), ("protobuf", b"k8s\0\n\x0c"), ("encrypted", b"k8s:enc:aescbc:v1:k:x")];
    for (name, value) in values {
        let key = fixture.key(name);
        let value = Bytes::copy_from_slice(value);
        fixture.engine.put_if(&key, 0, value, None).await.unwrap();
        // Written past the store: a cache may take a moment to see it.
        let mut read = fixture.store.get(&key, None).await;
        for _ in 0..100 {
            if read.is_err() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
            read = fixture.store.get(&key, None).await;
        }
        assert!(matches!(&read, Err(StorageError::Corrupt(object)) if object.key == key), "{read:?}");
        let listed = fixture.store.list(&fixture.prefix, &ListRequest::default()).await;
        assert!(matches!(listed, Err(StorageError::Corrupt(_))), "{listed:?}");
    }
    assert!(fixture.get("good").await.is_some());
}
