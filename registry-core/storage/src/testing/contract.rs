//! Checks of every guarantee of [`Mvcc`].

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;

use crate::Revision;
use crate::mvcc::{Change, ChangeStream, Committed, Mvcc, MvccError, RangeRequest, prefix_end};

use super::{Check, EngineFixture, checks};

mod reads;
mod watches;
mod writes;

/// Checks that may run concurrently on one engine.
pub(super) const CHECKS: &[Check<EngineFixture>] = checks![
    writes::put_is_conditional,
    writes::delete_is_conditional,
    writes::one_of_many_writers_wins,
    writes::revisions_grow_without_gaps_for_one_writer,
    writes::values_expire,
    writes::a_write_without_time_to_live_ends_an_older_one,
    writes::large_values_and_odd_keys_are_kept,
    reads::ranges_are_ordered_limited_and_counted,
    reads::ranges_show_one_revision,
    reads::the_future_is_refused,
    watches::changes_come_in_order_with_what_was_before,
    watches::a_watch_begins_after_its_revision,
    watches::a_watch_sees_only_its_range,
    watches::batches_never_split_a_revision,
    watches::progress_is_reported_on_request,
];

/// Checks that compact the engine.
pub(super) const SERIAL_CHECKS: &[Check<EngineFixture>] = checks![reads::compacted_revisions_are_refused];

/// Timeout of a batch.
const PATIENCE: Duration = Duration::from_secs(10);

impl EngineFixture {
    fn key(&self, suffix: &str) -> String {
        format!("{}{suffix}", self.prefix)
    }

    fn end(&self) -> String {
        prefix_end(&self.prefix)
    }

    /// Writes a value unconditionally, and returns the revision.
    async fn put(&self, suffix: &str, value: &str) -> Revision {
        let key = self.key(suffix);
        let present = self.engine.get(&key).await.unwrap().key_value.map_or(0, |found| found.mod_revision);
        let committed = self.engine.put_if(&key, present, Bytes::from(value.to_owned()), None).await.unwrap();
        at(&committed)
    }

    /// Removes an existing key.
    async fn delete(&self, suffix: &str) -> Revision {
        let key = self.key(suffix);
        let present = self.engine.get(&key).await.unwrap().key_value.unwrap().mod_revision;
        at(&self.engine.delete_if(&key, present).await.unwrap())
    }

    /// Returns the values below the prefix, as `key=value`.
    async fn values(&self, revision: Option<Revision>) -> Result<Vec<String>, MvccError> {
        let request = RangeRequest { start: &self.prefix, end: &self.end(), limit: 0, revision };
        let ranged = self.engine.range(request).await?;
        Ok(ranged
            .key_values
            .iter()
            .map(|found| {
                let suffix = found.key.strip_prefix(&self.prefix).unwrap();
                format!("{suffix}={}", String::from_utf8_lossy(&found.value))
            })
            .collect())
    }

    async fn watch(&self, after: Revision) -> Changes {
        Changes {
            stream: self.engine.watch(&self.prefix, &self.end(), after).await.unwrap(),
            revision: after,
        }
    }
}

/// A watch for tests.
struct Changes {
    stream: ChangeStream,
    revision: Revision,
}

impl Changes {
    /// Returns the next `count` changes.
    async fn next(&mut self, count: usize) -> Vec<Change> {
        let mut changes = Vec::new();
        while changes.len() < count {
            let batch = self.batch().await.unwrap();
            assert!(
                batch
                    .changes
                    .iter()
                    .all(|change| change.revision > self.revision && change.revision <= batch.revision),
                "a batch tells what happened after the one before, up to its own revision: {batch:?} after {}",
                self.revision
            );
            self.revision = batch.revision;
            changes.extend(batch.changes);
        }
        assert_eq!(changes.len(), count, "{changes:?}");
        changes
    }

    async fn batch(&mut self) -> Result<crate::mvcc::ChangeBatch, MvccError> {
        let batch = tokio::time::timeout(PATIENCE, self.stream.next()).await;
        batch.expect("a batch comes in time").expect("the watch goes on")
    }
}

fn at(committed: &Committed) -> Revision {
    match committed {
        Committed::At(revision) => *revision,
        Committed::ConditionFailed(got) => panic!("the condition holds, yet: {got:?}"),
    }
}

fn text(value: Option<&Bytes>) -> Option<&str> {
    value.map(|value| std::str::from_utf8(value).unwrap())
}

/// Writes `count` values from one task.
async fn writer(engine: Arc<dyn Mvcc>, key: String, count: usize) {
    let mut present = 0;
    for number in 0..count {
        let value = Bytes::from(number.to_string());
        present = at(&engine.put_if(&key, present, value, None).await.unwrap());
    }
}
