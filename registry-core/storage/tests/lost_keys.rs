//! A watch cache over values whose key is lost while it runs.
#![allow(clippy::unwrap_used, reason = "test code: a broken expectation is a failed test")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use registry_meta::Preconditions;
use registry_storage::cacher::{CacheBudget, Cacher, CacherOptions};
use registry_storage::embedded::Embedded;
use registry_storage::interface::{AnyDeletion, ListRequest};
use registry_storage::testing::{Widget, WidgetAttributes};
use registry_storage::transform::{Plain, TransformError, Transformer};
use registry_storage::versioned::VersionedStore;
use registry_storage::{Interface, StorageError};
use tokio::sync::watch;

const KEY: &str = "/registry/widgets/a";
const PATIENCE: Duration = Duration::from_secs(30);

/// Values that can be read under configurations with an even number.
struct Keys(watch::Sender<u64>);

#[async_trait::async_trait]
impl Transformer for Keys {
    async fn from_storage(&self, value: Bytes, _context: &str) -> Result<Plain, TransformError> {
        let is_lost = *self.0.borrow() % 2 == 1;
        if is_lost { Err(TransformError::TooShort) } else { Ok(Plain { value, stale: false }) }
    }

    async fn to_storage(&self, plain: Bytes, _context: &str) -> Result<Bytes, TransformError> {
        Ok(plain)
    }

    async fn changed(&self, from: Option<u64>) -> u64 {
        let mut numbers = self.0.subscribe();
        *numbers.wait_for(|number| Some(*number) != from).await.unwrap()
    }
}

fn is_corrupt<T>(outcome: &Result<T, StorageError>) -> bool {
    matches!(outcome, Err(StorageError::Corrupt(object)) if object.key == KEY)
}

/// Waits until reads of the object fail, or no longer fail.
async fn reads_become(cacher: &Cacher, corrupt: bool) {
    let begun = Instant::now();
    while is_corrupt(&cacher.get(KEY, None).await) != corrupt {
        assert!(begun.elapsed() < PATIENCE, "reads do not notice the change");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn reads_and_writes_of_an_object_fail_when_its_key_is_gone_and_lists_are_still_served() {
    let keys = Arc::new(Keys(watch::Sender::new(0)));
    let engine = Embedded::in_memory();
    let store = VersionedStore::new(engine, keys.clone(), Arc::new(WidgetAttributes));
    let options = CacherOptions {
        prefix: "/registry/widgets/".to_owned(),
        indexes: &[],
        budget: Arc::new(CacheBudget::new(1 << 20)),
        history_events: 10,
        bookmark_period: Duration::from_secs(1),
    };
    let cacher = Cacher::new(Arc::new(store), options);
    cacher.create(KEY, Widget::named("a").value(), None).await.unwrap();
    while cacher.readiness().is_err() || cacher.count("/registry/widgets/").await.unwrap() == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(matches!(cacher.delete_corrupt(KEY).await, Err(StorageError::NotCorrupt)));

    keys.0.send_replace(1);
    reads_become(&cacher, true).await;
    let anything = Preconditions::default();
    assert!(is_corrupt(&cacher.delete(KEY, &anything, &mut AnyDeletion, None).await));
    let listed = cacher.list("/registry/widgets/", &ListRequest::default()).await.unwrap();
    assert_eq!(listed.items.len(), 1);

    keys.0.send_replace(2);
    reads_become(&cacher, false).await;
    keys.0.send_replace(3);
    reads_become(&cacher, true).await;
    cacher.delete_corrupt(KEY).await.unwrap();
    assert!(cacher.get(KEY, None).await.unwrap().is_none());
}
