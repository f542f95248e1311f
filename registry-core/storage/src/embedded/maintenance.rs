//! Maintenance by an operator: check, backup and restore.
//!
//! | module | contents |
//! |---|---|
//! | `format` | the format of backups |
//! | `increment` | backups of what has changed since another one |
//! | `chain` | a backup and the increments that follow it |
//! | `restoring` | a store that is made of a backup |
//! | `unpublished` | a log that is being made |
//! | `damage` | what can be read of a damaged log |

mod chain;
pub(super) mod damage;
pub(super) mod format;
mod increment;
mod restoring;
pub(super) mod unpublished;

use std::io::{BufReader, BufWriter};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use self::format::{BackupError, OnRecord, ReadError, Summed, read_log};
use super::directory::{has_log, lock_to_read};
use super::load::Loaded;
use super::log::Log as _;
use super::log::fjall::FjallLog;
use super::log_error::LogError;
use super::record::{Damage, FORMAT_VERSION, META_REVISION, Record};
use super::socket::{GreetingError, Purpose, SOCKET, connect};
use super::{Embedded, EmbeddedOptions, OpenError, Revision};
use crate::directory_lock::DirectoryLock;
use crate::durable_file::DurableFile;
use crate::moving_key::TooManyRevisions;
use crate::mvcc::prefix_end;
pub use chain::{ChainError, Increment, Restored};
use damage::{scan_past_damage, with_other_damage};
pub use increment::Follows;
use increment::{Link, write_increment};
pub use restoring::{Backup, restore};
use unpublished::check_empty;

/// Maximum number of problems in a report.
const MAX_PROBLEMS: usize = 20;

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The newest revision.
    pub revision: Revision,
    /// The compaction revision.
    pub compacted_revision: Revision,
    /// Number of records in the log.
    pub records: u64,
    /// Number of keys of the records.
    pub keys: usize,
    /// Size of the records without overhead, in bytes.
    pub record_bytes: u64,
    /// The first 20 problems; empty if there are none.
    pub problems: Vec<String>,
}

/// A store to back up.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// A store that no process uses, or one that [is served to commands](Embedded::serve_commands).
    Directory(&'a Path),
    /// A store that is open in this process; it continues to serve.
    Engine(&'a Embedded),
}

/// A file that belongs to a store, in its backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupFile {
    /// Its name, without a directory.
    pub name: String,
    /// Its content.
    pub content: Bytes,
}

/// The reason that maintenance failed.
#[derive(Debug, thiserror::Error)]
pub enum MaintenanceError {
    /// The store cannot be opened. Retryable as [`OpenError`] says.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The store or the backup has a problem. Not retryable.
    #[error("{} is damaged: {reason}", path.display())]
    Damaged {
        /// The directory or file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// Another version of the program has written the backup. Not retryable.
    #[error("{} is a backup of another version of this program: restore it with the version that wrote it", path.display())]
    OtherVersion {
        /// The file.
        path: PathBuf,
    },
    /// The server that uses the store sent a part of the backup only. Retryable.
    #[error(
        "the backup of {} is incomplete, because the server that uses it has ended or cannot read its store: repeat the \
         command; the server's log has the reason",
        directory.display()
    )]
    Interrupted {
        /// The directory of the store.
        directory: PathBuf,
    },
    /// The server that uses the store is of another version. Not retryable.
    #[error(
        "the server that uses the store in {} is of another version of this program, and does not send it to this one: use the \
         version of the server, or stop the server",
        directory.display()
    )]
    OtherServer {
        /// The directory of the store.
        directory: PathBuf,
    },
    /// A restore goes into a new directory only. Not retryable.
    #[error("{} is not empty: choose a new directory, or move this one away first", directory.display())]
    Occupied {
        /// The directory.
        directory: PathBuf,
    },
    /// The revision of the restored store would be too great. Not retryable with the same number.
    #[error(transparent)]
    TooManyRevisions(#[from] TooManyRevisions),
    /// The files are no chain of backups. Not retryable with the same files.
    #[error(transparent)]
    Chain(Box<ChainError>),
    /// The operating system returned an error. Retryable, once its cause is removed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The directory or file.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
}

/// Reads a whole store that no process uses and returns its statistics and problems. Changes nothing: a working copy
/// of the log, without its tables, is made in the directory for temporary files.
pub fn check(directory: &Path) -> Result<Report, MaintenanceError> {
    ClosedStore::open(directory).map(|store| check_store(&store).1)
}

/// Reads a whole store, and returns what can be read of it too.
pub(super) fn check_store(store: &ClosedStore) -> (Loaded, Report) {
    let mut loaded = Loaded::default();
    let mut problems = Vec::new();
    let mut note = |problem| {
        if problems.len() < MAX_PROBLEMS {
            problems.push(problem);
        }
    };
    let mut revisions = Vec::new();
    let unreadable = scan_past_damage(&store.log, &mut |revision, bytes| {
        if let Err(problem) = loaded.take(revision, &bytes) {
            let key = Record::key_despite_damage(&bytes);
            let key = key.map(|key| format!(" (its key reads {key:?})"));
            note(format!("{problem}{}", key.unwrap_or_default()));
        }
        revisions.push(revision);
    });
    unreadable.into_iter().for_each(&mut note);
    // Reads of single records use other parts of the files than scans.
    for revision in revisions {
        if let Err(error) = store.log.read(revision) {
            note(format!("the record of revision {revision} cannot be read by itself: {error}"));
        }
    }
    match store.log.acknowledged() {
        Ok(acknowledged) => {
            loaded.finish(acknowledged).unwrap_or_else(|problem| note(problem.to_string()));
        }
        Err(error) => note(error.to_string()),
    }
    let report = Report { problems, ..report(&loaded) };
    (loaded, report)
}

/// Writes a consistent copy of a store to a file, atomically and durably, and readable by its owner only. A backup that
/// exists is replaced. A damaged store is not backed up. Changes nothing in the store. If a server uses the store, it is asked
/// for the copy, and serves on.
///
/// # Errors
/// Fails as the store's [`check`] does, or if the file is a symbolic link or another special file, or the server ends.
pub fn backup(source: Source<'_>, file: &Path) -> Result<Report, MaintenanceError> {
    backup_with_files(source, file, &[])
}

/// Writes a copy of a store as [`backup`], and these files with it.
///
/// # Errors
/// As [`backup`]; and if the files are too many or too large.
pub fn backup_with_files(
    source: Source<'_>,
    file: &Path,
    files: &[BackupFile],
) -> Result<Report, MaintenanceError> {
    let opened = Opened::open(source)?;
    write_file(file, files, |stream| stream.write_store(|visit| opened.read(visit)))
        .map(|loaded| report(&loaded))
}

/// Writes a backup to a file, with the store that a function writes, and files beside it.
fn write_file<Written>(
    path: &Path,
    files: &[BackupFile],
    write_store: impl FnOnce(&mut Summed<BufWriter<DurableFile>>) -> Result<Written, BackupError>,
) -> Result<Written, MaintenanceError> {
    let failed = |error| io(path, error);
    let file = DurableFile::create(path).map_err(failed)?;
    let mut stream = Summed::new(BufWriter::new(file));
    let written = write_store(&mut stream).map_err(|error| error.into_error_for(path))?;
    if !files.is_empty() {
        stream.write_files(files).map_err(failed)?;
    }
    stream.into_inner().map_err(failed)?.publish().map_err(failed)?;
    Ok(written)
}

/// Writes what has changed since an earlier backup, which may be such an *increment* too, as [`backup_with_files`] writes everything.
/// All records are read, and those that were written after that backup are written, with 16 bytes for each key that exists.
/// Returns what the store and the increment contain.
///
/// # Errors
/// As [`backup_with_files`] and [`Backup::read`]; and if the store is not the one of the earlier backup.
pub fn backup_since(
    source: Source<'_>,
    previous: &Path,
    file: &Path,
    files: &[BackupFile],
) -> Result<(Report, Increment), MaintenanceError> {
    if is_same_file(previous, file) {
        return Err(ChainError::SameFile { path: file.to_owned() }.into());
    }
    let link = Link::read(previous, &mut |_, _| Ok(()))?;
    let opened = Opened::open(source)?;
    let directory = opened.directory().to_owned();
    let (loaded, records) = write_file(file, files, |stream| {
        let written = write_increment(stream, &link, |visit| opened.read(visit))?;
        let other = || ChainError::OtherStore { directory, previous: previous.to_owned() };
        written.ok_or_else(|| BackupError::Store(other().into()))
    })?;
    let report = report(&loaded);
    let keys = loaded.index.present("", &prefix_end("")).len() as u64;
    Ok((report, Increment { revision: loaded.current, keys, records }))
}

fn is_same_file(left: &Path, right: &Path) -> bool {
    let identity = |path: &Path| path.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()));
    identity(left).is_some() && identity(left) == identity(right)
}

/// Checks that a store can be restored into a directory: that there is nothing in it.
pub fn check_restore(directory: &Path) -> Result<(), MaintenanceError> {
    check_empty(directory)
}

/// The log of a store that no process uses.
pub(super) struct ClosedStore {
    pub(super) log: FjallLog,
    pub(super) lock: DirectoryLock,
}

/// A store that is open for a backup.
enum Opened<'a> {
    Closed(ClosedStore, &'a Path),
    /// A server that uses the store sends it.
    Server(UnixStream, &'a Path),
    Engine(&'a Embedded),
}

// === impl Opened ===

impl<'a> Opened<'a> {
    fn open(source: Source<'a>) -> Result<Self, MaintenanceError> {
        match source {
            Source::Directory(directory) => match ClosedStore::open(directory) {
                Ok(store) => Ok(Self::Closed(store, directory)),
                Err(MaintenanceError::Open(locked @ OpenError::Locked { .. })) => {
                    let server = reach_server(directory, Purpose::Backup)?;
                    Ok(Self::Server(server.ok_or(locked)?, directory))
                }
                Err(error) => Err(error),
            },
            Source::Engine(engine) => Ok(Self::Engine(engine)),
        }
    }

    fn directory(&self) -> &Path {
        match self {
            Self::Closed(_, directory) | Self::Server(_, directory) => directory,
            Self::Engine(engine) => &engine.options.directory,
        }
    }

    /// Visits all records at one revision, and verifies them. Returns what they contain.
    fn read(self, visit: OnRecord<'_>) -> Result<Loaded, BackupError> {
        match self {
            Self::Closed(store, directory) => read_log(&store.log, directory, visit),
            Self::Server(server, directory) => receive_backup(server, directory, visit),
            Self::Engine(engine) => read_log(&*engine.shared.log, &engine.options.directory, visit),
        }
    }
}

/// Connects to the server that uses the store in a directory; `None` if none listens.
///
/// # Errors
/// Fails if the server is of another version, or ends meanwhile.
pub(super) fn reach_server(
    directory: &Path,
    purpose: Purpose,
) -> Result<Option<UnixStream>, MaintenanceError> {
    connect(directory, purpose).map_err(|error| match error {
        GreetingError::OtherVersion => MaintenanceError::OtherServer { directory: directory.to_owned() },
        GreetingError::Ended => MaintenanceError::Interrupted { directory: directory.to_owned() },
    })
}

/// Visits all records of the store that a server sends, and verifies them. Returns what they contain.
fn receive_backup(server: UnixStream, directory: &Path, visit: OnRecord<'_>) -> Result<Loaded, BackupError> {
    let mut received = Summed::new(BufReader::new(server));
    received.read_store(&mut |revision, bytes| visit(revision, &bytes)).map_err(|error| match error {
        ReadError::Damaged(reason) => BackupError::Store(damaged(directory, reason)),
        ReadError::OtherVersion => {
            BackupError::Store(MaintenanceError::OtherVersion { path: directory.join(SOCKET) })
        }
        ReadError::Io(_) => {
            BackupError::Store(MaintenanceError::Interrupted { directory: directory.to_owned() })
        }
        ReadError::Reader(error) => BackupError::Written(error),
    })
}

// === impl ClosedStore ===

impl ClosedStore {
    /// Opens a store for reading. Changes nothing.
    pub(super) fn open(directory: &Path) -> Result<Self, MaintenanceError> {
        let open_error = |error| OpenError::new(directory, error);
        let lock = lock_to_read(directory)?;
        if !has_log(directory).map_err(open_error)? {
            let source = std::io::Error::new(std::io::ErrorKind::NotFound, "there is no store");
            return Err(io(directory, source));
        }
        let options = EmbeddedOptions::new(directory).disk();
        let opened = FjallLog::open_to_read(directory, options);
        let log = opened.map_err(|error| open_error(with_other_damage(directory, error)))?;
        let store = Self { log, lock };
        store.refuse_newer_format().map_err(open_error)?;
        Ok(store)
    }

    /// Fails if a newer version of the program has written the store. Any other problem is left to the reader of the records.
    fn refuse_newer_format(&self) -> Result<(), LogError> {
        let first = self.log.read(META_REVISION)?;
        let format = first.and_then(|bytes| Record::decode(META_REVISION, &bytes).ok()?.format());
        match format.filter(|format| *format > FORMAT_VERSION) {
            Some(format) => Err(Damage::NewerFormat(format).into()),
            None => Ok(()),
        }
    }
}

fn io(path: &Path, source: std::io::Error) -> MaintenanceError {
    MaintenanceError::Io { path: path.to_owned(), source }
}

pub(super) fn damaged(path: &Path, reason: String) -> MaintenanceError {
    MaintenanceError::Damaged { path: path.to_owned(), reason }
}

fn report(loaded: &Loaded) -> Report {
    Report {
        revision: loaded.current,
        compacted_revision: loaded.compacted,
        records: loaded.records,
        keys: loaded.index.len(),
        record_bytes: loaded.index.record_bytes(),
        problems: Vec::new(),
    }
}
