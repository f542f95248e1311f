//! Writes the changes of a source that is followed.

use std::collections::BTreeMap;

use etcd_client::{GetOptions, TxnOp};

use crate::Revision;

use super::{BATCH_BYTES, BATCH_KEYS, EtcdImport, EtcdMoveError};
use crate::moving_key::FollowedChange;

// === impl EtcdImport ===

impl EtcdImport {
    /// Writes changes of the source. Of several changes of a key that have waited, the last is written. A key gets a revision that
    /// is not smaller than that of the source: a client that knows an older state of it never knows it by this one.
    ///
    /// # Errors
    /// Fails if etcd does, or if another import was started over this one.
    pub async fn apply(&mut self, changes: &[FollowedChange]) -> Result<(), EtcdMoveError> {
        let mut rest = changes;
        while let Some(first) = rest.first() {
            let mut newest: BTreeMap<&str, &FollowedChange> = BTreeMap::from([(first.key(), first)]);
            let mut bytes = first.size_bytes();
            let mut taken = 1;
            for change in rest.iter().skip(1) {
                bytes += change.size_bytes();
                if newest.len() >= BATCH_KEYS || bytes > BATCH_BYTES {
                    break;
                }
                newest.insert(change.key(), change);
                taken += 1;
            }
            let before = rest.get(taken - 1).map_or(0, FollowedChange::revision).saturating_sub(1);
            self.keep_up(before, &mut |_| {}).await?;
            let mut batch = Vec::with_capacity(newest.len());
            for change in newest.into_values() {
                batch.push(match change {
                    FollowedChange::Put(put) => self.put(put).await?,
                    FollowedChange::Delete { key, .. } => TxnOp::delete(key.as_str(), None),
                });
            }
            self.commit(batch).await?;
            rest = rest.get(taken..).unwrap_or_default();
        }
        Ok(())
    }

    /// Whether a key stays, rather than having a time to live or having been deleted.
    ///
    /// # Errors
    /// Fails if etcd does.
    pub async fn is_lasting(&self, key: &str) -> Result<bool, EtcdMoveError> {
        let mut there = self.etcd.fetch(key, GetOptions::new()).await?;
        Ok(there.take_kvs().first().is_some_and(|there| there.lease() == 0))
    }

    /// Raises the revision so far beyond the newest one of the source that a watch from there is answered with "compacted" when the
    /// import has finished: keys have other revisions here, which clients that did not list again would never learn.
    ///
    /// # Errors
    /// Fails if etcd does, or if another import was started over this one.
    pub async fn outrun(&mut self, source: Revision) -> Result<(), EtcdMoveError> {
        self.keep_up(source.saturating_add(2), &mut |_| {}).await
    }
}
