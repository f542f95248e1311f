//! Implements the engine's contract on etcd, with the `etcd-client` crate.
//!
//! | part | purpose |
//! |---|---|
//! | [`options`] | endpoints, credentials and timeouts |
//! | `connection` | shared connections, deadlines, retries of safe requests |
//! | `errors` | maps etcd's errors to the contract's errors, in one table |
//! | `channel` | connections over Unix sockets, and by connectors of the options |
//! | `lease` | shares a lease among keys with a similar time to live |
//! | [`moving`] | keys on their way to and from another store |
//! | `watch` | one gRPC stream per watch, converted into whole revisions |
//! | `compactor` | one of several servers compacts per interval, with the protocol of kube-apiserver |

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use etcd_client::{
    Compare, CompareOp, GetOptions, GetResponse, PutOptions, Txn, TxnOp, TxnOpResponse, TxnResponse,
};
use tokio_util::task::AbortOnDropHandle;

use super::Revision;
use super::mvcc::{ChangeStream, Committed, Got, KeyValue, Mvcc, MvccError, NotReady, RangeRequest, Ranged};

mod channel;
mod compactor;
mod connection;
mod errors;
mod lease;
pub mod moving;
pub mod options;
mod watch;

use compactor::COMPACT_REVISION_KEY;
use connection::{Connection, Safety};
pub use errors::Failure;
use errors::unavailable;
use lease::LeasePool;
pub use options::{ConnectError, Etcd3Options, Unanswered};

/// The key that health checks read; it may be absent.
const HEALTH_KEY: &str = "health";

/// An engine on etcd.
pub struct Etcd3 {
    connection: Arc<Connection>,
    leases: LeasePool,
    watches: watch::Watches,
    _compactor: Option<AbortOnDropHandle<()>>,
}

// === impl Etcd3 ===

impl Etcd3 {
    /// Connects to an etcd cluster. Waits until a member responds, up to the connect timeout.
    pub async fn connect(options: Etcd3Options) -> Result<Arc<Self>, ConnectError> {
        let connection = Arc::new(Connection::open(&options).await?);
        let progress = connection.reports_progress_safely().await;
        let compactor = (!options.compaction_interval.is_zero()).then(|| {
            let task = compactor::run(Arc::clone(&connection), options.compaction_interval);
            AbortOnDropHandle::new(tokio::spawn(task))
        });
        Ok(Arc::new(Self {
            leases: LeasePool::default(),
            watches: watch::Watches::new(Arc::clone(&connection), progress),
            connection,
            _compactor: compactor,
        }))
    }

    /// Returns the size of a member's database on disk, in bytes; `None` if the member does not report it.
    pub async fn size_bytes(&self) -> Option<u64> {
        self.connection.database_bytes().await
    }

    async fn fetch(&self, key: &str, options: GetOptions) -> Result<GetResponse, Failure> {
        self.connection
            .call(Safety::Read, || {
                let mut kv = self.connection.kv();
                let key = key.to_owned();
                let options = options.clone();
                async move { kv.get(key, Some(options)).await }
            })
            .await
    }

    /// Commits an operation if the key's newest revision is `expected`; otherwise reads the key.
    async fn commit(
        &self,
        key: &str,
        expected: Revision,
        operation: impl Fn() -> TxnOp,
    ) -> Result<TxnResponse, Failure> {
        self.connection
            .call(Safety::Write, || {
                let transaction = Txn::new()
                    .when([Compare::mod_revision(key, CompareOp::Equal, signed(expected))])
                    .and_then([operation()])
                    .or_else([TxnOp::get(key, None)]);
                let mut kv = self.connection.kv();
                async move { kv.txn(transaction).await }
            })
            .await
    }

    /// Converts a failure into an error, completing its revisions by another read.
    async fn explain(&self, failure: Failure, requested: Revision) -> MvccError {
        match failure {
            Failure::Compacted => {
                MvccError::Compacted { requested, oldest: self.oldest_revision(requested).await }
            }
            Failure::Future => match self.current_revision().await {
                Ok(current) => MvccError::FutureRevision { requested, current },
                Err(error) => error,
            },
            other => other.into(),
        }
    }

    /// Returns the oldest revision that can still be read: as recorded by compactors, or at least more than
    /// `compacted`.
    async fn oldest_revision(&self, compacted: Revision) -> Revision {
        let noted = match self.get(COMPACT_REVISION_KEY).await {
            Ok(Got { key_value: Some(noted), .. }) => {
                std::str::from_utf8(&noted.value).ok().and_then(|text| text.parse::<Revision>().ok())
            }
            _ => None,
        };
        noted.unwrap_or_default().max(compacted + 1)
    }
}

#[async_trait]
impl Mvcc for Etcd3 {
    async fn get(&self, key: &str) -> Result<Got, MvccError> {
        let mut response = self.fetch(key, GetOptions::new()).await?;
        let revision = revision_of(response.header())?;
        Ok(Got { revision, key_value: response.take_kvs().pop().map(key_value) })
    }

    async fn range(&self, range: RangeRequest<'_>) -> Result<Ranged, MvccError> {
        let options = GetOptions::new()
            .with_range(range.end)
            .with_limit(signed(range.limit))
            .with_revision(signed(range.revision.unwrap_or_default()));
        let mut response = match self.fetch(range.start, options).await {
            Ok(response) => response,
            Err(failure) => return Err(self.explain(failure, range.revision.unwrap_or_default()).await),
        };
        Ok(Ranged {
            revision: revision_of(response.header())?,
            count: unsigned(response.count()),
            key_values: response.take_kvs().into_iter().map(key_value).collect(),
        })
    }

    async fn count(&self, start: &str, end: &str) -> Result<u64, MvccError> {
        let response = self.fetch(start, GetOptions::new().with_range(end).with_count_only()).await?;
        Ok(unsigned(response.count()))
    }

    async fn put_if(
        &self,
        key: &str,
        expected: Revision,
        value: Bytes,
        ttl: Option<Duration>,
    ) -> Result<Committed, MvccError> {
        let Some(ttl) = ttl else {
            let response = self.commit(key, expected, || TxnOp::put(key, value.clone(), None)).await?;
            return committed(&response);
        };
        // A pooled lease may have been revoked externally: then request a new one, once.
        for _ in 0..2 {
            let lease = self.leases.lease(&self.connection, ttl).await?;
            let put = || TxnOp::put(key, value.clone(), Some(PutOptions::new().with_lease(lease)));
            match self.commit(key, expected, put).await {
                Ok(response) => return committed(&response),
                Err(Failure::LeaseNotFound) => self.leases.forget(lease),
                Err(failure) => return Err(failure.into()),
            }
        }
        Err(Failure::LeaseNotFound.into())
    }

    async fn delete_if(&self, key: &str, expected: Revision) -> Result<Committed, MvccError> {
        committed(&self.commit(key, expected, || TxnOp::delete(key, None)).await?)
    }

    async fn watch(&self, start: &str, end: &str, after: Revision) -> Result<ChangeStream, MvccError> {
        self.watches.open(start, end, after).await
    }

    /// # Errors
    /// [`MvccError::Unavailable`] on an etcd whose response may overtake changes (before 3.4.31 and 3.5.13, see
    /// [etcd#15220](https://github.com/etcd-io/etcd/issues/15220)): the caller must then read from etcd itself.
    async fn request_progress(&self) -> Result<(), MvccError> {
        self.watches.request_progress()
    }

    async fn current_revision(&self) -> Result<Revision, MvccError> {
        let response = self.fetch(HEALTH_KEY, GetOptions::new().with_count_only()).await?;
        revision_of(response.header())
    }

    async fn compact(&self, revision: Revision) -> Result<(), MvccError> {
        match compactor::compact(&self.connection, revision).await {
            // Another compactor has already compacted to a later revision.
            Ok(()) | Err(Failure::Compacted) => Ok(()),
            Err(failure) => Err(self.explain(failure, revision).await),
        }
    }

    async fn health(&self) -> Result<(), NotReady> {
        let read = self.fetch(HEALTH_KEY, GetOptions::new());
        match tokio::time::timeout(self.connection.health_timeout(), read).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(failure)) => Err(NotReady::Etcd(failure.to_string())),
            Err(_) => Err(NotReady::EtcdTimeout),
        }
    }
}

fn committed(response: &TxnResponse) -> Result<Committed, MvccError> {
    let revision = revision_of(response.header())?;
    if response.succeeded() {
        return Ok(Committed::At(revision));
    }
    match response.op_responses().pop() {
        Some(TxnOpResponse::Get(mut present)) => {
            let key_value = present.take_kvs().pop().map(key_value);
            Ok(Committed::ConditionFailed(Got { revision, key_value }))
        }
        _ => Err(unavailable("etcd answered a transaction without the state it was asked for")),
    }
}

fn revision_of(header: Option<&etcd_client::ResponseHeader>) -> Result<Revision, MvccError> {
    header
        .map(|header| unsigned(header.revision()))
        .ok_or_else(|| unavailable("etcd answered without a header"))
}

fn key_value(etcd: etcd_client::KeyValue) -> KeyValue {
    let mod_revision = unsigned(etcd.mod_revision());
    let create_revision = unsigned(etcd.create_revision());
    let (key, value) = etcd.into_key_value();
    KeyValue { key: text(&key), value: Bytes::from(value), mod_revision, create_revision }
}

/// Returns a key as text. Keys of this server are always UTF-8; in other keys invalid bytes are replaced.
fn text(key: &[u8]) -> Arc<str> {
    String::from_utf8_lossy(key).into()
}

/// Converts etcd's `i64` numbers, which are never negative.
fn unsigned(number: i64) -> u64 {
    number.try_into().unwrap_or_default()
}

fn signed(number: u64) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}
