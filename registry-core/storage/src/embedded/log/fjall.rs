//! The log on disk, in a fjall database with one keyspace: record under big-endian revision.
//!
//! fjall refuses all work after a failed write or fsync ([`fjall::Error::Poisoned`]); [`reopen`](Log::reopen) then
//! drops the database and recovers it from its files, as a restarted process would.

mod copy;
mod journal;
mod manifest;

use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::ops::{ControlFlow, RangeInclusive};
use std::os::unix::fs::OpenOptionsExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use self::copy::DatabaseCopy;
use super::{Commit, Log, Revision};
use crate::durable_file;
use crate::embedded::directory::{HighWaterMark, LOG, NEW_LOG, probe_disk};
use crate::embedded::log_error::{AccessError, LogError};
use bytes::Bytes;
use fjall::config::BlockSizePolicy;
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use parking_lot::{RwLock, RwLockReadGuard};

/// The database's only keyspace.
const KEYSPACE: &str = "log";

/// Maximum size of the journals, in bytes. Sealed journals are kept until their memtables are flushed; fjall's
/// minimum is 64 MiB.
const MAX_JOURNAL_BYTES: u64 = 128 * 1024 * 1024;

/// Flushes wait for a compaction to end (the memtable grows slightly meanwhile), but with two threads one of them
/// would spin while the other compacts.
const WORKER_THREADS: usize = 1;

/// Time that the threads of a dropped database get to release its files.
const DROP_GRACE: Duration = Duration::from_millis(50);

/// Limits of the memory and disk that the database uses beside the data.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct FjallOptions {
    pub(in super::super) block_cache_bytes: u64,
    pub(in super::super) memtable_bytes: u64,
    /// Space is reclaimed if removed records take at least this many bytes, and more than the remaining ones.
    pub(in super::super) reclaim_bytes_min: u64,
}

/// The log on disk.
pub(in super::super) struct FjallLog {
    directory: PathBuf,
    options: FjallOptions,
    /// Write-locked only to close or reopen it; a commit's fsync holds a read lock, as reads do. The error is the
    /// reason that it is not open.
    open: RwLock<Result<Handles, LogError>>,
    acknowledged: HighWaterMark,
    removed_since_reclaim: AtomicU64,
    /// The database opened instead of the directory's own if that is only read. After `open`, so that it is dropped
    /// later.
    _copy: Option<DatabaseCopy>,
}

/// A log that is being created. It is in its directory once [`publish`](Self::publish) has returned; a crash before
/// that leaves no log.
pub(in super::super) struct NewFjallLog {
    directory: PathBuf,
    open: Handles,
}

// The keyspace is dropped first: the database stops its threads when it is dropped last.
struct Handles {
    keyspace: Keyspace,
    database: Database,
}

// === impl FjallLog ===

impl FjallLog {
    /// Opens the log in an existing, locked directory.
    pub(in super::super) fn open(directory: &Path, options: FjallOptions) -> Result<Self, LogError> {
        let open = Handles::open(&directory.join(LOG), options)?;
        Ok(Self::new(directory, options, open, HighWaterMark::open(directory)?, None))
    }

    /// Opens a log for reading. Changes nothing in its directory; writes are lost.
    pub(in super::super) fn open_to_read(directory: &Path, options: FjallOptions) -> Result<Self, LogError> {
        let acknowledged = HighWaterMark::open_to_read(directory)?;
        let database = directory.join(LOG);
        Handles::verify(&database)?;
        let copy = DatabaseCopy::new(&database)?;
        let open = Handles::open_with(&copy.database(), options, 0)?;
        Ok(Self::new(directory, options, open, acknowledged, Some(copy)))
    }

    /// Returns the files in a directory that are missing or damaged.
    pub(in super::super) fn damaged_files(directory: &Path) -> Vec<LogError> {
        Handles::problems(&directory.join(LOG))
    }

    fn new(
        directory: &Path,
        options: FjallOptions,
        open: Handles,
        acknowledged: HighWaterMark,
        copy: Option<DatabaseCopy>,
    ) -> Self {
        Self {
            directory: directory.to_owned(),
            options,
            open: RwLock::new(Ok(open)),
            acknowledged,
            removed_since_reclaim: AtomicU64::new(0),
            _copy: copy,
        }
    }

    fn with<T>(&self, work: impl FnOnce(&Handles) -> Result<T, LogError>) -> Result<T, LogError> {
        let open: RwLockReadGuard<'_, _> = self.open.read();
        work(open.as_ref().map_err(Clone::clone)?)
    }
}

impl Log for FjallLog {
    fn read(&self, revision: Revision) -> Result<Option<Bytes>, LogError> {
        self.with(|open| {
            let value = open.keyspace.get(revision.to_be_bytes()).map_err(log_error)?;
            Ok(value.map(Bytes::from_owner))
        })
    }

    fn scan(
        &self,
        range: RangeInclusive<Revision>,
        visit: &mut dyn FnMut(Revision, Bytes) -> ControlFlow<()>,
    ) -> Result<(), LogError> {
        self.with(|open| open.scan(range, visit))
    }

    fn commit(&self, commit: &Commit) -> Result<(), LogError> {
        self.with(|open| {
            open.commit(commit)?;
            self.removed_since_reclaim.fetch_add(commit.removals.len() as u64, Ordering::Relaxed);
            Ok(())
        })
    }

    fn acknowledged(&self) -> Result<Revision, LogError> {
        Ok(self.acknowledged.read())
    }

    fn note_acknowledged(&self, revision: Revision) {
        self.acknowledged.write(revision);
    }

    fn reopen(&self) -> Result<(), LogError> {
        // While the disk is full the broken database can still be read from, so keep it.
        probe_disk(&self.directory)?;
        let mut open = self.open.write();
        // Dropped first: the buffered rest of the failed batch must reach the file before the file is read again, or
        // never.
        *open = Err(LogError::Closed);
        std::thread::sleep(DROP_GRACE);
        let database = self.directory.join(LOG);
        // After a failed flush, what can be read may not be on the disk.
        let reopened = journal::write_again(&database).and_then(|()| Handles::open(&database, self.options));
        *open = reopened.map_err(|error| match error {
            LogError::Io(reason) => LogError::Io(AccessError::Reopening(reason.into())),
            other => other,
        });
        open.as_ref().map(|_| ()).map_err(Clone::clone)
    }

    fn reclaim(&self, live_bytes: u64) {
        let outcome = self.with(|open| {
            let removed = self.removed_since_reclaim.load(Ordering::Relaxed);
            let used = open.keyspace.disk_space();
            let dead = used.saturating_sub(live_bytes);
            if removed == 0 || dead < self.options.reclaim_bytes_min.max(live_bytes) {
                return Ok(());
            }
            tracing::info!(
                used,
                live_bytes,
                "rewriting the embedded log to free the space of removed records"
            );
            self.removed_since_reclaim.store(0, Ordering::Relaxed);
            open.keyspace.major_compact().map_err(log_error)
        });
        if let Err(error) = outcome {
            tracing::warn!(%error, "the embedded log's space could not be reclaimed");
        }
    }

    fn disk_bytes(&self) -> u64 {
        self.with(|open| open.database.disk_space().map_err(log_error)).unwrap_or_default()
    }

    fn close(&self) {
        *self.open.write() = Err(LogError::Closed);
        self.acknowledged.sync();
    }
}

// === impl NewFjallLog ===

impl NewFjallLog {
    /// Starts to create a log in an existing, locked directory without a log. Removes the remains of an earlier
    /// attempt.
    pub(in super::super) fn create(directory: &Path, options: FjallOptions) -> Result<Self, LogError> {
        let database = directory.join(NEW_LOG);
        let io = |error| LogError::Io(AccessError::file(&database, error));
        match std::fs::remove_dir_all(&database) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(io(error)),
            _ => {}
        }
        durable_file::create_directory(&database).map_err(io)?;
        let open = Handles::create(&database, options)?;
        Ok(Self { directory: directory.to_owned(), open })
    }

    /// Commits all changes.
    pub(in super::super) fn commit(&self, commit: &Commit) -> Result<(), LogError> {
        self.open.commit(commit)
    }

    /// Visits all records, in order, until the visitor stops.
    pub(in super::super) fn scan(
        &self,
        visit: &mut dyn FnMut(Revision, Bytes) -> ControlFlow<()>,
    ) -> Result<(), LogError> {
        self.open.scan(0..=Revision::MAX, visit)
    }

    /// Flushes all files to disk and renames the log to its final name.
    pub(in super::super) fn publish(self) -> Result<(), LogError> {
        let Self { directory, open } = self;
        drop(open);
        let database = directory.join(NEW_LOG);
        let outcome = sync_all(&database)
            .and_then(|()| std::fs::rename(&database, directory.join(LOG)))
            .and_then(|()| durable_file::sync_directory(&directory));
        outcome.map_err(|error| LogError::Io(AccessError::file(&database, error)))
    }
}

/// Flushes a directory and all files below it to disk, and makes them accessible to their owner only.
fn sync_all(directory: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            sync_all(&path)?;
        } else {
            durable_file::restrict(&path)?;
            File::open(&path)?.sync_all()?;
        }
    }
    durable_file::restrict(directory)?;
    durable_file::sync_directory(directory)
}

// === impl Handles ===

impl Handles {
    /// Opens a database, which must be complete.
    fn open(database: &Path, options: FjallOptions) -> Result<Self, LogError> {
        Self::verify(database)?;
        let lock = database.join("lock");
        // The file has no content; nothing is lost if it is missing.
        let outcome = OpenOptions::new().append(true).create(true).mode(0o600).open(&lock);
        outcome.map_err(|error| AccessError::file(&lock, error))?;
        Self::open_with(database, options, WORKER_THREADS)
    }

    /// Creates a database in an empty directory.
    fn create(database: &Path, options: FjallOptions) -> Result<Self, LogError> {
        Self::open_with(database, options, WORKER_THREADS)
    }

    /// Fails if the database's files differ from those that were written. Changes nothing.
    fn verify(database: &Path) -> Result<(), LogError> {
        Self::problems(database).into_iter().next().map_or(Ok(()), Err)
    }

    fn problems(database: &Path) -> Vec<LogError> {
        let mut problems = manifest::problems(database);
        problems.extend(journal::problems(database));
        problems
    }

    fn open_with(database: &Path, options: FjallOptions, threads: usize) -> Result<Self, LogError> {
        // fjall asserts properties of its files; damage must be an error, not a panic.
        let opened = catch_unwind(AssertUnwindSafe(|| Self::open_or_panic(database, options, threads)));
        opened.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason given");
            Err(LogError::Damaged(format!("the log's files are inconsistent: {text}")))
        })
    }

    fn open_or_panic(database: &Path, options: FjallOptions, threads: usize) -> Result<Self, LogError> {
        let database = Database::builder(database)
            .cache_size(options.block_cache_bytes)
            // None for a log that is only read: it has nothing to flush or compact.
            .worker_threads_unchecked(threads)
            .max_cached_files(Some(64))
            .max_journaling_size(MAX_JOURNAL_BYTES)
            // Data is passed to the operating system only by the commit that then waits for the disk.
            .manual_journal_persist(true)
            .open()
            .map_err(log_error)?;
        let keyspace = database
            .keyspace(KEYSPACE, || {
                KeyspaceCreateOptions::default()
                    .manual_journal_persist(true)
                    .max_memtable_size(options.memtable_bytes)
                    .data_block_size_policy(BlockSizePolicy::all(8 * 1024))
                    // Only existing revisions are looked up: in the last level a filter would never exclude any.
                    .expect_point_read_hits(true)
            })
            .map_err(log_error)?;
        Ok(Self { keyspace, database })
    }

    fn scan(
        &self,
        range: RangeInclusive<Revision>,
        visit: &mut dyn FnMut(Revision, Bytes) -> ControlFlow<()>,
    ) -> Result<(), LogError> {
        for guard in self.keyspace.range(range.start().to_be_bytes()..=range.end().to_be_bytes()) {
            let (key, value) = guard.into_inner().map_err(log_error)?;
            let revision = <[u8; 8]>::try_from(&*key)
                .map_err(|_| LogError::Damaged("a record's key is not a revision".to_owned()))?;
            if visit(Revision::from_be_bytes(revision), Bytes::from_owner(value)).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn commit(&self, commit: &Commit) -> Result<(), LogError> {
        let mut batch = self.database.batch().durability(Some(PersistMode::SyncData));
        for revision in &commit.removals {
            batch.remove(&self.keyspace, revision.to_be_bytes());
        }
        for (revision, bytes) in &commit.records {
            batch.insert(&self.keyspace, revision.to_be_bytes(), &**bytes);
        }
        batch.commit().map_err(log_error)
    }
}

/// Classifies fjall's errors by whether they are retryable.
fn log_error(error: fjall::Error) -> LogError {
    match error {
        fjall::Error::Io(error) => io_error(error),
        fjall::Error::Storage(fjall::LsmError::Io(error)) => io_error(error),
        fjall::Error::Poisoned => LogError::Io(AccessError::Poisoned),
        fjall::Error::Locked => LogError::Locked,
        fjall::Error::InvalidVersion(version) => {
            LogError::OtherVersion(format!("its log has another version of the format, {version:?}"))
        }
        other => LogError::Damaged(format!("the log cannot be read: {other}")),
    }
}

fn io_error(error: std::io::Error) -> LogError {
    match error.kind() {
        // The data directory exists, and the requests depend on the content of its files.
        ErrorKind::NotFound | ErrorKind::InvalidInput | ErrorKind::InvalidData | ErrorKind::UnexpectedEof => {
            LogError::Damaged(format!("a file of the log is missing, cut short or malformed: {error}"))
        }
        ErrorKind::StorageFull => LogError::Io(AccessError::Full(error.into())),
        _ => LogError::Io(AccessError::Log(error.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a log whose records are partly in tables.
    pub(super) fn log_with_tables(directory: &Path) -> FjallLog {
        let options = FjallOptions {
            block_cache_bytes: 1 << 20,
            memtable_bytes: 32 * 1024,
            reclaim_bytes_min: 256 * 1024,
        };
        NewFjallLog::create(directory, options).unwrap().publish().unwrap();
        let log = FjallLog::open(directory, options).unwrap();
        let record = Bytes::from(vec![b'x'; 10_000]);
        for revision in 0..400 {
            log.commit(&Commit { records: vec![(revision, record.clone())], ..Commit::default() }).unwrap();
        }
        log.with(|open| open.keyspace.rotate_memtable_and_wait().map_err(log_error)).unwrap();
        log
    }

    #[test]
    fn a_check_goes_on_behind_damaged_blocks() {
        let directory = tempfile::tempdir().unwrap();
        let log = log_with_tables(directory.path());
        // As the restores of a store leave them: far from each other.
        let sparse = |number: u64| 400 + number * 1_000_000_000;
        let record = Bytes::from(vec![b'x'; 10_000]);
        let records = (0..200).map(|number| (sparse(number), record.clone())).collect();
        log.commit(&Commit { records, ..Commit::default() }).unwrap();
        log.with(|open| open.keyspace.rotate_memtable_and_wait().map_err(log_error)).unwrap();
        log.with(|open| open.keyspace.major_compact().map_err(log_error)).unwrap();
        log.note_acknowledged(sparse(199));
        log.close();
        drop(log);
        let tables = directory.path().join("log/keyspaces/1/tables");
        let tables = std::fs::read_dir(tables).unwrap().map(|entry| entry.unwrap().path());
        let table = tables.max_by_key(|path| path.metadata().unwrap().len()).unwrap();
        let mut bytes = std::fs::read(&table).unwrap();
        for at in [bytes.len() / 3, bytes.len() * 5 / 6] {
            bytes[at] ^= 1;
        }
        std::fs::write(&table, bytes).unwrap();
        let options =
            FjallOptions { block_cache_bytes: 1 << 20, memtable_bytes: 1 << 20, reclaim_bytes_min: 1 << 20 };
        let log = FjallLog::open_to_read(directory.path(), options).unwrap();
        let mut visited = Vec::new();
        let problems = crate::embedded::maintenance::damage::scan_past_damage(&log, &mut |revision, _| {
            visited.push(revision);
        });
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(visited.len() < 600 && visited.len() > 580, "{} of 600", visited.len());
        assert!(visited.contains(&0) && visited.contains(&sparse(199)) && visited.is_sorted());
    }

    #[test]
    fn space_of_removed_records_is_given_back() {
        let directory = tempfile::tempdir().unwrap();
        let log = log_with_tables(directory.path());
        let used = || log.with(|open| Ok(open.keyspace.disk_space())).unwrap();
        let record = Bytes::from(vec![b'x'; 10_000]);
        for revision in 0..390 {
            log.commit(&Commit { removals: vec![revision], ..Commit::default() }).unwrap();
        }
        // Records in memory, including removals, are not in the tables yet.
        log.with(|open| open.keyspace.rotate_memtable_and_wait().map_err(log_error)).unwrap();
        log.reclaim(100_000);
        assert!(used() < 300_000, "{} bytes", used());
        assert!(log.read(389).unwrap().is_none());
        assert_eq!(log.read(390).unwrap(), Some(record));
    }
}
