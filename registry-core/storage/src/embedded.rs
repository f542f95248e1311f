//! The durable engine in this process: [`Mvcc`] over a log on disk, with the key index in memory.
//!
//! Every change is a record under its revision in an append-only log; an index in memory holds the revisions of each
//! key and is rebuilt by a scan at the start. A single thread writes: it takes all queued requests, checks their
//! conditions, assigns revisions, and commits them with an fsync before it acknowledges any of them. Readers look up
//! the index and read one record; they never wait for disk writes. Watches are cursors over the log and its shared
//! tail.
//!
//! | module | contents |
//! |---|---|
//! | `serving` | the store of a running server, for commands: backups and moves |
//! | [`moving`] | the keys of a store for another one, and a new store of such keys |
//! | [`maintenance`] | check, backup, restore |
//! | `socket` | the way of a command to the server of a store |
//! | `load` | rebuilds the state from records, detects damage |
//! | `writer` | the single writer thread: group commit, expiry, compaction, recovery |
//! | `watcher` | a watch's cursor |
//! | `snapshot` | the whole state at a revision, to return to |
//! | `state` | state shared by readers, watchers and the writer |
//! | `index` | the revisions of each key |
//! | `log` | the interface of a log engine; `fjall` on disk, `memory` without, `backed` by a backend |
//! | [`backend`] | objects that are kept outside of this server |
//! | `options` | the options of a store |
//! | `directory` | the lock and the high-water mark |
//! | `log_error` | failures of the log and of its files |
//! | `record` | the encoding of a change at rest |

pub mod backend;
mod directory;
mod index;
mod load;
mod log;
mod log_error;
pub mod maintenance;
pub mod moving;
mod options;
mod record;
mod serving;
mod snapshot;
mod socket;
mod state;
mod watcher;
mod writer;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::{Semaphore, oneshot};

use self::backend::{Backend, BackendError};
use self::directory::has_log;
use self::load::Loaded;
use self::log::backed::BackedLog;
use self::log::fjall::{FjallLog, NewFjallLog};
use self::log::memory::MemoryLog;
use self::log::{Commit, Log};
use self::log_error::LogError;
pub use self::options::{AutoCompaction, EmbeddedOptions};
use self::serving::StoreService;
pub use self::snapshot::Snapshot;
use self::state::{SharedEngine, expires_at_seconds};
use self::writer::{Action, Queue, Request, Write};
use super::Revision;
use super::mvcc::{
    Change, ChangeBatch, ChangeStream, Committed, Got, KeyValue, Mvcc, MvccError, NotReady, RangeRequest,
    Ranged,
};
use crate::directory_lock::{DirectoryLock, LockError};

/// Maximum number of concurrent reads of many records. Each runs on its own thread, whose allocator keeps the memory
/// of the read: at a start every resource is read at the same time.
const RANGES_AT_ONCE: usize = 4;

/// The reason that a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process uses the directory. Retryable, once that process has ended.
    #[error(
        "the store in {} is in use by another process (id {holder}): stop that process, or use another directory",
        directory.display()
    )]
    Locked {
        /// The data directory.
        directory: PathBuf,
        /// The other process's id, if it is known.
        holder: String,
    },
    /// The data on disk differs from what was written. Not retryable.
    #[error(
        "the store in {} is damaged: {reason}. It is not opened, so that no data is lost: to recover, move the directory \
         away and restore the newest backup with `apiserver storage restore`",
        directory.display()
    )]
    Damaged {
        /// The data directory.
        directory: PathBuf,
        /// The reason.
        reason: String,
    },
    /// Another version of the program has written the store. Not retryable.
    #[error(
        "the store in {} was written by another version of this program: {reason}. It is not opened, and nothing is lost: \
         start the version that wrote it; or let that version write a backup (`apiserver storage backup`), and restore it \
         with this one into an empty directory (`apiserver storage restore`)",
        directory.display()
    )]
    OtherVersion {
        /// The data directory.
        directory: PathBuf,
        /// The difference.
        reason: String,
    },
    /// The backend of a resource cannot be loaded. Retryable, once its cause is removed.
    #[error("the objects below {prefix} cannot be loaded: {source}")]
    Backend {
        /// The prefix of the keys of the resource.
        prefix: String,
        /// The error of the backend.
        source: BackendError,
    },
    /// The operating system returned an error. Retryable, once its cause is removed.
    #[error("the data directory {} cannot be used: {source}", directory.display())]
    Io {
        /// The data directory.
        directory: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
}

/// Statistics of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// The newest revision.
    pub revision: Revision,
    /// The compaction revision: the oldest revision that can be read.
    pub compacted_revision: Revision,
    /// Number of keys in the index, including recently deleted ones.
    pub keys: usize,
    /// Size of all records without overhead, in bytes.
    pub record_bytes: u64,
    /// Size of the log on disk, in bytes.
    pub disk_bytes: u64,
}

/// An embedded store.
pub struct Embedded {
    shared: Arc<SharedEngine>,
    queue: Queue,
    ranges: Arc<Semaphore>,
    options: EmbeddedOptions,
    writer: Mutex<Option<JoinHandle<()>>>,
    lock: Mutex<Option<DirectoryLock>>,
    commands: Mutex<Option<StoreService>>,
}

// === impl OpenError ===

impl OpenError {
    fn locking(directory: &Path, error: LockError) -> Self {
        let directory = directory.to_owned();
        match error {
            LockError::Held { holder } => Self::Locked { directory, holder },
            LockError::Io(source) => Self::Io { directory, source },
        }
    }

    fn new(directory: &Path, error: LogError) -> Self {
        let directory = directory.to_owned();
        match error {
            LogError::Io(failure) => Self::Io { directory, source: std::io::Error::other(failure) },
            LogError::Damaged(reason) => Self::Damaged { directory, reason },
            LogError::OtherVersion(reason) => Self::OtherVersion { directory, reason },
            LogError::Locked => Self::Locked { directory, holder: "unknown".to_owned() },
            LogError::Closed => Self::Io { directory, source: std::io::Error::other("it was closed") },
        }
    }
}

// === impl Embedded ===

impl Embedded {
    /// Opens the store in a directory, or creates a new one. Reads the whole log to rebuild the index: about 100 ms
    /// for 100,000 objects.
    pub fn open(options: EmbeddedOptions) -> Result<Arc<Self>, OpenError> {
        let lock = directory::lock(&options.directory)?;
        let log = Self::open_log(&options).map_err(|error| OpenError::new(&options.directory, error))?;
        Self::start(Box::new(log), Some(lock), options)
    }

    fn open_log(options: &EmbeddedOptions) -> Result<FjallLog, LogError> {
        if !has_log(&options.directory)? {
            let new = NewFjallLog::create(&options.directory, options.disk())?;
            new.commit(&Commit::empty_store())?;
            new.publish()?;
        }
        FjallLog::open(&options.directory, options.disk())
    }

    /// Creates a store in memory: the same engine without a disk.
    ///
    /// # Panics
    /// Panics if the operating system cannot create a thread.
    pub fn in_memory() -> Arc<Self> {
        match Self::in_memory_with(EmbeddedOptions::new(PathBuf::new())) {
            Ok(store) => store,
            Err(error) => panic!("cannot start a store in memory: {error}"),
        }
    }

    /// Creates a store in memory, with options (those about the disk have no effect).
    pub fn in_memory_with(options: EmbeddedOptions) -> Result<Arc<Self>, OpenError> {
        Self::start(Box::new(MemoryLog::default()), None, options)
    }

    /// Creates a store of the objects of a backend, whose keys have a prefix such as `/registry/zoo.example.dev/enclosures/`.
    /// Options about the disk have no effect.
    ///
    /// # Errors
    /// Fails if the objects cannot be loaded.
    pub fn backed(
        backend: Arc<dyn Backend>,
        prefix: &str,
        options: EmbeddedOptions,
    ) -> Result<Arc<Self>, OpenError> {
        // On a thread of its own, because the backend may block, or wait for a client of the runtime.
        let loading = std::thread::scope(|scope| scope.spawn(|| BackedLog::open(backend, prefix)).join());
        let loaded = loading.unwrap_or_else(|_panic| Err("the backend panicked".into()));
        let log = loaded.map_err(|source| OpenError::Backend { prefix: prefix.to_owned(), source })?;
        Self::start(Box::new(log), None, options)
    }

    fn start(
        log: Box<dyn Log>,
        lock: Option<DirectoryLock>,
        mut options: EmbeddedOptions,
    ) -> Result<Arc<Self>, OpenError> {
        // A jump of the machine's clock ends no lease early.
        options.clock = options.clock.steady();
        let loaded = Loaded::from_log(&*log).map_err(|error| OpenError::new(&options.directory, error))?;
        // The loaded data is served from here on.
        log.note_acknowledged(loaded.current);
        let shared = SharedEngine::new(log, loaded.index, loaded.current, loaded.compacted);
        let (queue, writer) = writer::start(shared.clone(), &options, loaded.superseded, loaded.expiries)
            .map_err(|source| OpenError::Io { directory: options.directory.clone(), source })?;
        let writer = Mutex::new(Some(writer));
        let lock = Mutex::new(lock);
        let ranges = Arc::new(Semaphore::new(RANGES_AT_ONCE));
        let commands = Mutex::default();
        Ok(Arc::new(Self { shared, queue, ranges, options, writer, lock, commands }))
    }

    /// Finishes the queued requests, ends all watches, closes the log and releases the directory. Later calls fail
    /// with [`MvccError::Unavailable`]; closing again has no effect.
    pub async fn close(self: &Arc<Self>) {
        let store = self.clone();
        // Joining the thread waits for its last fsync: not on the runtime's threads. A panic of the thread is already
        // reported.
        let _ = tokio::task::spawn_blocking(move || store.close_blocking()).await;
    }

    /// Lets commands of the same user back the store up while it is in use, by [`maintenance::backup`], or follow it, by
    /// [`moving::FollowedStore`], until it is closed. Must be called within a Tokio runtime.
    ///
    /// # Errors
    /// Fails if the directory does not admit a socket: its path is longer than about 90 bytes, for example.
    pub fn serve_commands(self: &Arc<Self>) -> std::io::Result<()> {
        *self.commands.lock() = Some(StoreService::start(self)?);
        Ok(())
    }

    /// Returns statistics for metrics.
    pub fn statistics(&self) -> Statistics {
        let disk_bytes = self.shared.log.disk_bytes();
        let state = self.shared.read();
        Statistics {
            revision: state.current,
            compacted_revision: state.compacted,
            keys: state.index.len(),
            record_bytes: state.index.record_bytes(),
            disk_bytes,
        }
    }

    /// Returns the newest state, to which [`restore`](Self::restore) returns. Takes a few milliseconds for 10,000 keys.
    ///
    /// # Errors
    /// Fails if the log cannot be read.
    pub async fn snapshot(&self) -> Result<Snapshot, MvccError> {
        self.blocking(Snapshot::read).await
    }

    /// Returns to the state of a snapshot, of this store or of another one, by one commit of ordinary changes: watches see the deletions of what
    /// came after it, and then the creations and updates of what was there. Every change has a revision of its own, newer than
    /// all before. Keys that have not changed are not written. Returns the revision of the state.
    ///
    /// # Errors
    /// As a write.
    pub async fn restore(&self, snapshot: &Snapshot) -> Result<Revision, MvccError> {
        let (reply, answer) = oneshot::channel();
        self.queue.submit(Request::Restore { snapshot: snapshot.clone(), reply })?;
        answer.await.unwrap_or_else(|_gone| Err(writer::closed()))
    }

    fn close_blocking(&self) {
        drop(self.commands.lock().take());
        let thread = self.writer.lock().take();
        if let Some(thread) = thread {
            self.queue.close();
            // A panic of the thread is already reported.
            let _ = thread.join();
        }
        drop(self.lock.lock().take());
    }

    async fn write(&self, key: &str, expected: Revision, action: Action) -> Result<Committed, MvccError> {
        let (reply, answer) = oneshot::channel();
        let write = Write { key: key.into(), expected, action, reply: Some(reply) };
        self.queue.submit(Request::Write(write))?;
        answer.await.unwrap_or_else(|_gone| Err(writer::closed()))
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        self.close_blocking();
    }
}

#[async_trait]
impl Mvcc for Embedded {
    async fn get(&self, key: &str) -> Result<Got, MvccError> {
        self.shared.get(key)
    }

    async fn range(&self, range: RangeRequest<'_>) -> Result<Ranged, MvccError> {
        let start = range.start.to_owned();
        let end = range.end.to_owned();
        let limit = range.limit;
        let at = range.revision.unwrap_or(0);
        self.blocking(move |shared| shared.range(&start, &end, limit, at)).await
    }

    async fn count(&self, start: &str, end: &str) -> Result<u64, MvccError> {
        let start = start.to_owned();
        let end = end.to_owned();
        self.blocking(move |shared| shared.count(&start, &end)).await
    }

    async fn put_if(
        &self,
        key: &str,
        expected: Revision,
        value: Bytes,
        ttl: Option<Duration>,
    ) -> Result<Committed, MvccError> {
        let bytes = key.len() + value.len();
        let most = self.options.write_bytes_max;
        if bytes > most {
            let text = format!("key and value have {bytes} bytes, the store takes {most}");
            return Err(MvccError::TooLarge(text));
        }
        let expires_at_seconds = ttl.map_or(0, |ttl| expires_at_seconds(&self.options.clock, ttl));
        self.write(key, expected, Action::Put { value, expires_at_seconds }).await
    }

    async fn delete_if(&self, key: &str, expected: Revision) -> Result<Committed, MvccError> {
        self.write(key, expected, Action::Delete).await
    }

    async fn watch(&self, start: &str, end: &str, after: Revision) -> Result<ChangeStream, MvccError> {
        watcher::watch_range(&self.shared, start, end, after, self.options.progress_interval)
    }

    async fn request_progress(&self) -> Result<(), MvccError> {
        self.shared.head.send_modify(|head| head.progress_requests += 1);
        Ok(())
    }

    async fn current_revision(&self) -> Result<Revision, MvccError> {
        Ok(self.shared.read().current)
    }

    fn key_revision(&self, key: &str) -> Option<Revision> {
        Some(self.shared.read().index.key_revision(key))
    }

    async fn compact(&self, revision: Revision) -> Result<(), MvccError> {
        let (reply, answer) = oneshot::channel();
        self.queue.submit(Request::Compact { revision, reply })?;
        answer.await.unwrap_or_else(|_gone| Err(writer::closed()))
    }

    async fn health(&self) -> Result<(), NotReady> {
        let is_gone = self.writer.lock().as_ref().is_none_or(JoinHandle::is_finished);
        match &self.shared.read().failure {
            Some(reason) => Err(NotReady::ReadOnly(reason.clone())),
            None if is_gone => Err(NotReady::NoWriter),
            None => Ok(()),
        }
    }
}

impl Embedded {
    /// Reads many records outside the runtime's threads.
    async fn blocking<T: Send + 'static>(
        &self,
        read: impl FnOnce(&SharedEngine) -> Result<T, MvccError> + Send + 'static,
    ) -> Result<T, MvccError> {
        let shared = self.shared.clone();
        let permit = self.ranges.clone().acquire_owned().await;
        let permit = permit.map_err(|error| MvccError::Unavailable(error.to_string().into()))?;
        let outcome = tokio::task::spawn_blocking(move || {
            // Held until the read ends, even if its caller has gone.
            let _permit = permit;
            read(&shared)
        })
        .await;
        outcome.unwrap_or_else(|error| Err(MvccError::Unavailable(error.to_string().into())))
    }
}
