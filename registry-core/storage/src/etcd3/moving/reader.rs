//! Reads the keys of an etcd, a page at a time.

use std::sync::Arc;

use etcd_client::GetOptions;

use super::super::connection::Safety;
use super::super::{Etcd3, signed, unsigned};
use super::leases::RemainingTimes;
use super::{EtcdMoveError, refuse_unfinished_import, text_key};
use crate::Revision;
use crate::moving_key::MovingKey;
use crate::mvcc::{Mvcc as _, prefix_end};

/// Number of keys of the first page, and of any: etcd counts all keys behind a page for each.
const PAGE_KEYS: (i64, i64) = (128, 512);
/// Size of a page up to which the next one may have more keys, in bytes.
const PAGE_BYTES: usize = 1024 * 1024;

/// Reads all keys of an etcd below a prefix, at one revision.
pub struct EtcdReader {
    etcd: Arc<Etcd3>,
    prefix: String,
    /// The key to read next; `None` at the end.
    next: Option<Vec<u8>>,
    /// Maximum number of keys of the next page.
    page_keys: i64,
    revision: Revision,
    times: RemainingTimes,
}

// === impl EtcdReader ===

impl EtcdReader {
    /// Begins to read the keys below a prefix such as `/registry/`, in their present state.
    ///
    /// # Errors
    /// Fails if etcd does, or if an import into it has not finished.
    pub async fn open(etcd: Arc<Etcd3>, prefix: &str) -> Result<Self, EtcdMoveError> {
        refuse_unfinished_import(&etcd, prefix).await?;
        let revision = etcd.current_revision().await?;
        Ok(Self::at(etcd, prefix, revision))
    }

    /// Begins to read a revision; 0 for the newest state at each page.
    pub(super) fn at(etcd: Arc<Etcd3>, prefix: &str, revision: Revision) -> Self {
        Self {
            etcd,
            prefix: prefix.to_owned(),
            next: Some(prefix.into()),
            page_keys: PAGE_KEYS.0,
            revision,
            times: RemainingTimes::default(),
        }
    }

    /// Returns the revision that is read.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Begins again with the first key, of the same revision.
    pub fn rewind(&mut self) {
        self.next = Some(self.prefix.clone().into());
    }

    /// Returns the next keys, in order; none at the end. The time of a key whose lease has ended since is now.
    ///
    /// # Errors
    /// Fails if etcd does, or has compacted the revision.
    pub async fn next_page(&mut self) -> Result<Vec<MovingKey>, EtcdMoveError> {
        let mut page = Vec::new();
        for found in self.read_page().await? {
            let expires_at_seconds = match found.lease() {
                0 => None,
                lease => Some(self.times.expiry_seconds(&self.etcd, lease).await?),
            };
            let (create_revision, mod_revision) =
                (unsigned(found.create_revision()), unsigned(found.mod_revision()));
            let (key, value) = found.into_key_value();
            page.push(MovingKey {
                key: text_key(&key)?,
                value: value.into(),
                create_revision,
                mod_revision,
                expires_at_seconds,
            });
        }
        Ok(page)
    }

    pub(super) async fn read_page(&mut self) -> Result<Vec<etcd_client::KeyValue>, EtcdMoveError> {
        let Some(start) = self.next.take() else { return Ok(Vec::new()) };
        let options = GetOptions::new()
            .with_range(prefix_end(&self.prefix))
            .with_limit(self.page_keys)
            .with_revision(signed(self.revision));
        let connection = &self.etcd.connection;
        let mut response = connection
            .call(Safety::Read, || {
                let mut kv = connection.kv();
                let (start, options) = (start.clone(), options.clone());
                async move { kv.get(start, Some(options)).await }
            })
            .await?;
        let has_more = response.more();
        let found = response.take_kvs();
        let bytes: usize = found.iter().map(|found| found.key().len() + found.value().len()).sum();
        self.page_keys = if bytes <= PAGE_BYTES { PAGE_KEYS.1 } else { PAGE_KEYS.0 };
        self.next = found.last().filter(|_| has_more).map(|last| [last.key(), &[0]].concat());
        Ok(found)
    }

    /// Returns what was written below the prefix after the revision that is read: a key that was written, and the number of keys
    /// that are there now.
    ///
    /// # Errors
    /// Fails if etcd does.
    pub async fn since(&self) -> Result<(Option<(String, Revision)>, u64), EtcdMoveError> {
        let options = GetOptions::new()
            .with_range(prefix_end(&self.prefix))
            .with_min_mod_revision(signed(self.revision + 1))
            .with_keys_only()
            .with_limit(1);
        let mut written = self.etcd.fetch(&self.prefix, options).await?;
        let keys = self.etcd.count(&self.prefix, &prefix_end(&self.prefix)).await?;
        let first = match written.take_kvs().pop() {
            Some(first) => Some((text_key(first.key())?, unsigned(first.mod_revision()))),
            None => None,
        };
        Ok((first, keys))
    }
}
