//! The keys of an etcd on their way to another store, and keys from elsewhere on their way into an etcd.
//!
//! etcd has no way to write many keys at once, so that an import takes many transactions. A key outside of the prefix, the
//! *mark*, is written in the transaction that finds the prefix empty, and removed when all keys have been read back. While it is
//! there, servers refuse to start ([`refuse_unfinished_import`]). Each transaction of an import requires that the mark is still
//! its own: of two imports the one that came second is refused, and an import that another one was started over writes nothing
//! any more.
//!
//! etcd counts its revisions itself. They must not go back for clients that know those of the source: a smaller revision would
//! mean another state, where they expect one that they have seen. Before the first key is written, writes that change nothing of
//! interest therefore bring the revision up to that of the source, if it is not too far, and in the end the history before the
//! last key is compacted: every older revision that a client knows is answered with "compacted" (410).

use std::sync::Arc;

use etcd_client::{Compare, CompareOp, DeleteOptions, Txn, TxnOp, TxnOpResponse};
use futures::StreamExt as _;
use uuid::Uuid;

use super::connection::Safety;
use super::errors::Failure;
use super::{Etcd3, revision_of, signed, unsigned};
use crate::Revision;
use crate::moving_key::{Earlier, MovingKey, Tally};
use crate::mvcc::{Mvcc as _, MvccError, prefix_end};

mod applying;
mod comparing;
mod following;
mod leases;
mod reader;

pub use comparing::Differences;
pub use following::EtcdFollower;
use leases::GrantedLeases;
pub use reader::EtcdReader;

/// Maximum number of keys that are written in a transaction; etcd's own limit is 128 operations.
const BATCH_KEYS: usize = 64;
/// Maximum size of the keys of a transaction with more than one, in bytes; etcd's own limit is 1.5 MiB.
const BATCH_BYTES: usize = 512 * 1024;
/// Maximum number of revisions by which an import raises an etcd: a minute or less.
const MAX_RAISE: Revision = 100_000;
/// Number of writes that raise the revision at the same time.
const RAISES_AT_ONCE: usize = 64;

/// Beginning of the key of the mark; the prefix of the imported keys follows.
const MARK: &str = "orlop_import";
/// Beginning of the key that is written to raise the revision.
const RAISE: &str = "orlop_raise";

/// An import into an etcd.
pub struct EtcdImport {
    etcd: Arc<Etcd3>,
    prefix: String,
    mark: Mark,
    leases: GrantedLeases,
    /// The newest revision that is known.
    newest: Revision,
}

/// The key that says that an import is unfinished.
#[derive(Clone)]
struct Mark {
    key: String,
    revision: Revision,
}

/// Keys cannot be moved from or into an etcd.
#[derive(Debug, thiserror::Error)]
pub enum EtcdMoveError {
    /// etcd fails. Retryable as [`MvccError`] says.
    #[error("etcd: {0}")]
    Engine(#[from] MvccError),
    /// The source's history was compacted while it was read. Retryable.
    #[error("the etcd was compacted while it was read: stop the servers that use it, and repeat the command")]
    Compacted,
    /// A key is not text. Not retryable: no API server has written it.
    #[error("the key {0:?} is not UTF-8: no API server has written it, remove it or choose another --prefix")]
    ForeignKey(String),
    /// The destination has keys. Not retryable.
    #[error(
        "the etcd has {keys} keys below {prefix} already, and they are not overwritten: choose an empty etcd, start the servers \
         with another --etcd-prefix, or remove the keys (`etcdctl del --prefix {prefix}`) if they are of no use"
    )]
    Occupied {
        /// The number of keys.
        keys: u64,
        /// Their prefix.
        prefix: String,
    },
    /// Another import has not finished. Not retryable.
    #[error(
        "an import into {prefix} of the etcd (begun at {begun}) runs, or was interrupted: if none runs any more, repeat the \
         command with --restart, which removes what it has written and begins again, or with --follow and --resume, which keeps it"
    )]
    Unfinished {
        /// The prefix of the keys.
        prefix: String,
        /// The time at which it began, in RFC 3339.
        begun: String,
    },
    /// Another import was started over this one. Not retryable.
    #[error("another import into the etcd was started over this one, and this one has ended")]
    TakenOver,
    /// The revision of the destination is too small, by too much. Not retryable.
    #[error(
        "the etcd is at revision {present}, and must be at {needed}: clients that know revisions of the source would take \
         others for them. Raise it while it is empty: `etcdctl snapshot save empty.db`, then `etcdutl snapshot restore empty.db \
         --bump-revision {bump} --mark-compacted --data-dir NEW`, and start etcd with NEW"
    )]
    Behind {
        /// The revision of the destination.
        present: Revision,
        /// The least revision that it must have.
        needed: Revision,
        /// The difference.
        bump: Revision,
    },
}

/// Fails if an import into this prefix of an etcd has not finished: a server must not serve a part of the objects.
///
/// # Errors
/// [`EtcdMoveError::Unfinished`], or the error of etcd.
pub async fn refuse_unfinished_import(etcd: &Etcd3, prefix: &str) -> Result<(), EtcdMoveError> {
    match etcd.get(&mark_key(prefix)).await?.key_value {
        Some(mark) => Err(unfinished(prefix, &mark.value)),
        None => Ok(()),
    }
}

/// Fails if keys cannot be imported into this prefix of an etcd: it has keys, or another import has not finished and this one
/// does not restart it. Changes nothing.
///
/// # Errors
/// [`EtcdMoveError::Occupied`], [`EtcdMoveError::Unfinished`], or the error of etcd.
pub async fn check_import(etcd: &Etcd3, prefix: &str, restarts: bool) -> Result<(), EtcdMoveError> {
    if let Some(mark) = etcd.get(&mark_key(prefix)).await?.key_value {
        return if restarts { Ok(()) } else { Err(unfinished(prefix, &mark.value)) };
    }
    match etcd.count(prefix, &prefix_end(prefix)).await? {
        0 => Ok(()),
        keys => Err(EtcdMoveError::Occupied { keys, prefix: prefix.to_owned() }),
    }
}

/// Returns the key of the mark for a prefix such as `/registry/`.
fn mark_key(prefix: &str) -> String {
    format!("{MARK}{prefix}")
}

/// Returns a key as text.
fn text_key(key: &[u8]) -> Result<String, EtcdMoveError> {
    match std::str::from_utf8(key) {
        Ok(key) => Ok(key.to_owned()),
        Err(_) => Err(EtcdMoveError::ForeignKey(String::from_utf8_lossy(key).into_owned())),
    }
}

fn unfinished(prefix: &str, mark: &[u8]) -> EtcdMoveError {
    let mark = String::from_utf8_lossy(mark);
    let begun = mark.split_once(' ').map_or("an unknown time", |(begun, _)| begun).to_owned();
    EtcdMoveError::Unfinished { prefix: prefix.to_owned(), begun }
}

// === impl EtcdMoveError ===

impl From<Failure> for EtcdMoveError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Compacted => Self::Compacted,
            failure => Self::Engine(failure.into()),
        }
    }
}

// === impl EtcdImport ===

impl EtcdImport {
    /// Begins an import of keys below a prefix such as `/registry/`, which must not have keys, unless an earlier import that has
    /// not finished is resumed.
    ///
    /// # Errors
    /// Fails if the prefix has keys, or another import has not finished.
    pub async fn begin(
        etcd: Arc<Etcd3>,
        prefix: &str,
        earlier: Earlier,
        now: &str,
    ) -> Result<Self, EtcdMoveError> {
        let content = format!("{now} {}", Uuid::new_v4());
        let key = mark_key(prefix);
        let range_is_empty =
            Compare::create_revision(prefix, CompareOp::Equal, 0).with_range(prefix_end(prefix));
        let free = [range_is_empty, Compare::create_revision(key.as_str(), CompareOp::Equal, 0)];
        let begin = Txn::new()
            .when(free)
            .and_then([TxnOp::put(key.as_str(), content.as_str(), None)])
            .or_else([TxnOp::get(key.as_str(), None)]);
        let revision = match transact(&etcd, &begin).await? {
            Ok(revision) => revision,
            Err(Some(mark)) if mark.value == content.as_bytes() => mark.revision,
            Err(Some(mark)) => {
                let present = Mark { key: key.clone(), revision: mark.revision };
                match earlier {
                    Earlier::Refused => return Err(unfinished(prefix, &mark.value)),
                    Earlier::Removed => take_over(&etcd, &present, &content, Some(all_below(prefix))).await?,
                    Earlier::Resumed => take_over(&etcd, &present, &content, None).await?,
                }
            }
            Err(None) => {
                let keys = etcd.count(prefix, &prefix_end(prefix)).await?;
                return Err(EtcdMoveError::Occupied { keys, prefix: prefix.to_owned() });
            }
        };
        let mark = Mark { key, revision };
        let (prefix, leases) = (prefix.to_owned(), GrantedLeases::default());
        Ok(Self { etcd, prefix, mark, leases, newest: revision })
    }

    /// Raises the revision to this one at least, by writes, before the first key is written.
    ///
    /// # Errors
    /// Fails if that takes too many writes. The mark is removed then: nothing has been imported.
    pub async fn raise(
        &mut self,
        needed: Revision,
        progress: &mut (dyn FnMut(u64) + Send),
    ) -> Result<(), EtcdMoveError> {
        let present = self.etcd.current_revision().await?;
        let bump = needed.saturating_sub(present);
        if bump > MAX_RAISE {
            self.remove_mark(Vec::new()).await?;
            return Err(EtcdMoveError::Behind { present, needed, bump });
        }
        self.newest = self.newest.max(present);
        self.keep_up(needed, progress).await
    }

    /// Raises the revision to this one at least, by however many writes.
    ///
    /// # Errors
    /// Fails if etcd does, or if another import was started over this one.
    pub async fn keep_up(
        &mut self,
        needed: Revision,
        progress: &mut (dyn FnMut(u64) + Send),
    ) -> Result<(), EtcdMoveError> {
        let bump = needed.saturating_sub(self.newest);
        let key = format!("{RAISE}{}", self.prefix);
        let write = || self.transact(vec![TxnOp::put(key.as_str(), "", None)]);
        let mut writes = futures::stream::iter((0..bump).map(|_| write())).buffer_unordered(RAISES_AT_ONCE);
        let (mut done, mut newest) = (0, self.newest);
        while let Some(written) = writes.next().await {
            newest = newest.max(written?);
            done += 1;
            progress(done);
        }
        drop(writes);
        self.newest = newest;
        Ok(())
    }

    /// Writes keys, in as few transactions as etcd allows. Several keys then have the same revision.
    ///
    /// # Errors
    /// Fails if etcd does, or if another import was started over this one.
    pub async fn write(&mut self, keys: &[MovingKey]) -> Result<(), EtcdMoveError> {
        let mut batch = Vec::new();
        let mut bytes = 0;
        for key in keys {
            if !batch.is_empty() && (batch.len() >= BATCH_KEYS || bytes + key.size_bytes() > BATCH_BYTES) {
                bytes = 0;
                self.commit(std::mem::take(&mut batch)).await?;
            }
            bytes += key.size_bytes();
            batch.push(self.put(key).await?);
        }
        self.commit(batch).await
    }

    async fn delete(&mut self, key: &str) -> Result<(), EtcdMoveError> {
        self.commit(vec![TxnOp::delete(key, None)]).await
    }

    async fn put(&mut self, key: &MovingKey) -> Result<TxnOp, EtcdMoveError> {
        let options = match key.expires_at_seconds {
            Some(end) => Some(self.leases.until(&self.etcd, end).await?),
            None => None,
        };
        Ok(TxnOp::put(key.key.as_str(), key.value.to_vec(), options))
    }

    async fn commit(&mut self, operations: Vec<TxnOp>) -> Result<(), EtcdMoveError> {
        if !operations.is_empty() {
            self.newest = self.newest.max(self.transact(operations).await?);
        }
        Ok(())
    }

    /// Reads the keys below the prefix back, and returns what is there.
    ///
    /// # Errors
    /// Fails if etcd does.
    pub async fn read_back(&self, progress: &mut dyn FnMut(u64)) -> Result<Tally, EtcdMoveError> {
        let revision = self.etcd.current_revision().await?;
        let mut reader = EtcdReader::at(self.etcd.clone(), &self.prefix, revision);
        let mut tally = Tally::default();
        loop {
            let page = reader.read_page().await?;
            if page.is_empty() {
                return Ok(tally);
            }
            for found in page {
                let expires = found.lease() != 0;
                let (key, value) = found.into_key_value();
                tally.add(&String::from_utf8_lossy(&key), &value, expires);
            }
            progress(tally.keys());
        }
    }

    /// Compacts the history, and removes the mark: from here on servers start. Returns the newest revision.
    ///
    /// # Errors
    /// Fails if etcd does, or if another import was started over this one.
    pub async fn finish(self) -> Result<Revision, EtcdMoveError> {
        let newest = self.etcd.current_revision().await?;
        self.etcd.compact(newest).await?;
        let raise = format!("{RAISE}{}", self.prefix);
        self.remove_mark([TxnOp::delete(raise, None)].into()).await?;
        Ok(self.etcd.current_revision().await?)
    }

    /// Executes operations if the mark is still that of this import. They can be repeated without harm. Returns the newest
    /// revision.
    async fn transact(&self, operations: Vec<TxnOp>) -> Result<Revision, EtcdMoveError> {
        match transact(&self.etcd, &self.guarded(operations)).await? {
            Ok(revision) => Ok(revision),
            Err(_) => Err(EtcdMoveError::TakenOver),
        }
    }

    /// Executes operations and removes the mark.
    async fn remove_mark(&self, mut operations: Vec<TxnOp>) -> Result<(), EtcdMoveError> {
        operations.push(TxnOp::delete(self.mark.key.as_str(), None));
        match transact(&self.etcd, &self.guarded(operations)).await? {
            // Without a mark, an answer was lost and the transaction repeated.
            Ok(_) | Err(None) => Ok(()),
            Err(Some(_)) => Err(EtcdMoveError::TakenOver),
        }
    }

    /// Returns the transaction that executes operations if the mark is that of this import, and reads the mark otherwise.
    fn guarded(&self, operations: Vec<TxnOp>) -> Txn {
        let Mark { key, revision } = &self.mark;
        Txn::new()
            .when([Compare::mod_revision(key.as_str(), CompareOp::Equal, signed(*revision))])
            .and_then(operations)
            .or_else([TxnOp::get(key.as_str(), None)])
    }
}

/// Returns the operation that removes all keys below a prefix.
fn all_below(prefix: &str) -> TxnOp {
    TxnOp::delete(prefix, Some(DeleteOptions::new().with_range(prefix_end(prefix))))
}

/// Takes an unfinished import over. Returns the revision of the new mark.
async fn take_over(
    etcd: &Etcd3,
    present: &Mark,
    content: &str,
    removal: Option<TxnOp>,
) -> Result<Revision, EtcdMoveError> {
    let Mark { key, revision } = present;
    let is_unchanged = Compare::mod_revision(key.as_str(), CompareOp::Equal, signed(*revision));
    let mut operations = Vec::from_iter(removal);
    operations.push(TxnOp::put(key.as_str(), content, None));
    let take = Txn::new().when([is_unchanged]).and_then(operations).or_else([TxnOp::get(key.as_str(), None)]);
    match transact(etcd, &take).await? {
        Ok(revision) => Ok(revision),
        Err(Some(mark)) if mark.value == content.as_bytes() => Ok(mark.revision),
        Err(_) => Err(EtcdMoveError::TakenOver),
    }
}

/// The content of a mark that is there.
struct Found {
    value: Vec<u8>,
    revision: Revision,
}

/// Executes a transaction that can be repeated. Returns its revision, or what it reads if its condition does not hold.
async fn transact(etcd: &Etcd3, transaction: &Txn) -> Result<Result<Revision, Option<Found>>, EtcdMoveError> {
    let connection = &etcd.connection;
    let response = connection
        .call(Safety::Read, || {
            let mut kv = connection.kv();
            let transaction = transaction.clone();
            async move { kv.txn(transaction).await }
        })
        .await?;
    if response.succeeded() {
        return Ok(Ok(revision_of(response.header())?));
    }
    let found = match response.op_responses().pop() {
        Some(TxnOpResponse::Get(mut present)) => present.take_kvs().pop(),
        _ => None,
    };
    Ok(Err(found.map(|found| {
        let revision = unsigned(found.mod_revision());
        Found { value: found.into_key_value().1, revision }
    })))
}
