//! Maintenance by an operator: check, backup and restore.
//!
//! A backup is a stream:
//!
//! | bytes | content |
//! |---|---|
//! | 8 | `ORLOPBK1` |
//! | 8 + 4 + … | per record: its revision, its length, its bytes; each has its own checksum |
//! | 8 + 4 | the end: revision 2⁶⁴−1, length 0 |
//! | 8 | number of records |
//! | 8 | XXH3 of all bytes before |
//!
//! Files that belong to the store, such as keys, may follow it. Readers that do not know them ignore them:
//!
//! | bytes | content |
//! |---|---|
//! | 8 | `ORLOPFL1` |
//! | 4 | number of files |
//! | 4 + … + 4 + … | per file: the length of its name, its name (UTF-8), its length, its content |
//! | 8 | XXH3 of the bytes from `ORLOPFL1` on |
//!
//! All numbers are big-endian. A backup contains the history back to the compaction revision.

pub(super) mod damage;
mod restoring;
pub(super) mod unpublished;

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use xxhash_rust::xxh3::Xxh3;

use super::directory::{has_log, lock_to_read};
use super::load::Loaded;
use super::log::Log;
use super::log::fjall::FjallLog;
use super::log_error::LogError;
use super::record::{Damage, FORMAT_VERSION, META_REVISION, Record};
use super::{Embedded, EmbeddedOptions, OpenError, Revision};
use crate::directory_lock::DirectoryLock;
use crate::durable_file::DurableFile;
use crate::moving_key::TooManyRevisions;
use damage::{scan_past_damage, with_other_damage};
pub use restoring::{Backup, Restored, restore};
use unpublished::check_empty;

const MAGIC: &[u8; 8] = b"ORLOPBK1";
/// The part of it that all versions of the format have in common.
const MAGIC_OF_ALL_VERSIONS: &[u8; 7] = b"ORLOPBK";
const END: Revision = Revision::MAX;
const FILES_MAGIC: &[u8; 8] = b"ORLOPFL1";

/// Maximum number of files in a backup; more are damage, or refused.
const MAX_FILES: u32 = 256;
/// Maximum length of a file and of its name, in bytes.
const MAX_FILE_BYTES: u32 = 1 << 20;

/// Maximum length of a record, in bytes; a longer length in a backup is damage.
const MAX_RECORD_BYTES: u32 = 1 << 30;

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
    /// A store that no process uses.
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
    /// A restore goes into a new directory only. Not retryable.
    #[error("{} is not empty: choose a new directory, or move this one away first", directory.display())]
    Occupied {
        /// The directory.
        directory: PathBuf,
    },
    /// The revision of the restored store would be too great. Not retryable with the same number.
    #[error(transparent)]
    TooManyRevisions(#[from] TooManyRevisions),
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
/// exists is replaced. A damaged store is not backed up. Changes nothing in the store.
///
/// # Errors
/// Fails as the store's [`check`] does, or if the file is a symbolic link or another special file.
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
    match source {
        Source::Directory(directory) => {
            let store = ClosedStore::open(directory)?;
            write_backup(&store.log, directory, file, files)
        }
        Source::Engine(engine) => write_backup(&*engine.shared.log, &engine.options.directory, file, files),
    }
}

/// Checks that a store can be restored into a directory: that there is nothing in it.
pub fn check_restore(directory: &Path) -> Result<(), MaintenanceError> {
    check_empty(directory)
}

/// The log of a store that no process uses.
pub(super) struct ClosedStore {
    pub(super) log: FjallLog,
    _lock: DirectoryLock,
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
        let store = Self { log, _lock: lock };
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

/// A stream that computes the checksum of its content.
struct Summed<Stream> {
    stream: Stream,
    checksum: Xxh3,
}

// === impl Summed ===

impl<Stream: Write> Summed<Stream> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.checksum.update(bytes);
        self.stream.write_all(bytes)
    }

    /// Writes the checksum of what was written since the last one.
    fn write_checksum(&mut self) -> std::io::Result<()> {
        let checksum = std::mem::take(&mut self.checksum).digest();
        self.stream.write_all(&checksum.to_be_bytes())
    }

    fn write_files(&mut self, files: &[BackupFile]) -> std::io::Result<()> {
        self.write(FILES_MAGIC)?;
        self.write(&limited(files.len(), MAX_FILES)?.to_be_bytes())?;
        for file in files {
            for bytes in [file.name.as_bytes(), &file.content] {
                self.write(&limited(bytes.len(), MAX_FILE_BYTES)?.to_be_bytes())?;
                self.write(bytes)?;
            }
        }
        self.write_checksum()
    }

    fn write_record(&mut self, revision: Revision, bytes: &[u8]) -> std::io::Result<()> {
        let length = u32::try_from(bytes.len()).map_err(std::io::Error::other)?;
        self.write(&revision.to_be_bytes())?;
        self.write(&length.to_be_bytes())?;
        self.write(bytes)
    }
}

impl<Stream: Read> Summed<Stream> {
    fn read<const LENGTH: usize>(&mut self) -> std::io::Result<[u8; LENGTH]> {
        let mut bytes = [0; LENGTH];
        self.stream.read_exact(&mut bytes)?;
        self.checksum.update(&bytes);
        Ok(bytes)
    }

    /// Reads a checksum, and returns whether it matches the bytes that were read since the last checksum.
    fn read_checksum(&mut self) -> std::io::Result<bool> {
        let checksum = std::mem::take(&mut self.checksum).digest();
        let mut bytes = [0; 8];
        self.stream.read_exact(&mut bytes)?;
        Ok(bytes == checksum.to_be_bytes())
    }

    /// Reads the files that follow a store; none if nothing follows.
    fn read_files(&mut self) -> std::io::Result<Vec<BackupFile>> {
        let wrong = |text: &str| std::io::Error::new(std::io::ErrorKind::InvalidData, text.to_owned());
        let mut magic = Vec::new();
        self.stream.by_ref().take(FILES_MAGIC.len() as u64).read_to_end(&mut magic)?;
        if magic.is_empty() {
            return Ok(Vec::new());
        }
        if magic != FILES_MAGIC {
            return Err(wrong("what follows the store is not known"));
        }
        self.checksum.update(&magic);
        let count = u32::from_be_bytes(self.read()?);
        if count > MAX_FILES {
            return Err(wrong("it has too many files"));
        }
        let mut files = Vec::new();
        for _ in 0..count {
            let name = self.read_limited()?;
            let name =
                String::from_utf8(name.to_vec()).map_err(|_| wrong("the name of a file is no text"))?;
            files.push(BackupFile { name, content: self.read_limited()? });
        }
        if !self.read_checksum()? {
            return Err(wrong("the files do not match their checksum"));
        }
        Ok(files)
    }

    fn read_limited(&mut self) -> std::io::Result<Bytes> {
        let length = u32::from_be_bytes(self.read()?);
        if length > MAX_FILE_BYTES {
            return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, "a file is too large"));
        }
        self.read_bytes(length)
    }

    fn read_bytes(&mut self, length: u32) -> std::io::Result<Bytes> {
        let mut bytes = Vec::new();
        // Grows with the actual content, not with the length field, which may be damaged.
        self.stream.by_ref().take(u64::from(length)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 != u64::from(length) {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        self.checksum.update(&bytes);
        Ok(bytes.into())
    }
}

fn write_backup(
    log: &dyn Log,
    directory: &Path,
    path: &Path,
    files: &[BackupFile],
) -> Result<Report, MaintenanceError> {
    let failed = |error| io(path, error);
    let file = DurableFile::create(path).map_err(failed)?;
    let mut stream = Summed { stream: BufWriter::new(file), checksum: Xxh3::new() };
    stream.write(MAGIC).map_err(failed)?;
    let mut loaded = Loaded::default();
    let mut outcome = Ok(());
    // Revisions acknowledged by now are in the scan that begins afterwards.
    let acknowledged = log.acknowledged().map_err(|error| OpenError::new(directory, error))?;
    log.scan(META_REVISION..=Revision::MAX, &mut |revision, bytes| {
        outcome = loaded
            .take(revision, &bytes)
            .map_err(|problem| damaged(directory, problem.to_string()))
            .and_then(|()| stream.write_record(revision, &bytes).map_err(failed));
        if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })
    .map_err(|error| OpenError::new(directory, error))?;
    outcome?;
    loaded.finish(acknowledged).map_err(|problem| damaged(directory, problem.to_string()))?;
    let records = loaded.records + 1;
    let mut end = || -> std::io::Result<()> {
        stream.write_record(END, &[])?;
        stream.write(&records.to_be_bytes())?;
        stream.write_checksum()?;
        if !files.is_empty() {
            stream.write_files(files)?;
        }
        stream.stream.flush()
    };
    end().map_err(failed)?;
    // Flushed above: nothing is left in the buffer.
    let (file, _) = stream.stream.into_parts();
    file.publish().map_err(failed)?;
    Ok(report(&loaded))
}

/// Returns a number that must not exceed a maximum.
fn limited(number: usize, max: u32) -> std::io::Result<u32> {
    let number = u32::try_from(number).ok().filter(|number| *number <= max);
    number.ok_or_else(|| std::io::Error::other("the files beside the store are too many or too large"))
}

/// Reads and verifies a backup, passing on every record.
fn read_backup(
    path: &Path,
    visit: &mut dyn FnMut(Revision, Bytes) -> Result<(), MaintenanceError>,
) -> Result<(Loaded, Vec<BackupFile>), MaintenanceError> {
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof => damaged(path, "the backup is cut short".to_owned()),
        std::io::ErrorKind::InvalidData => damaged(path, error.to_string()),
        _ => io(path, error),
    };
    let stream = BufReader::new(File::open(path).map_err(failed)?);
    let mut stream = Summed { stream, checksum: Xxh3::new() };
    let magic: [u8; MAGIC.len()] = stream.read().map_err(failed)?;
    if magic != *MAGIC && magic.starts_with(MAGIC_OF_ALL_VERSIONS) {
        return Err(MaintenanceError::OtherVersion { path: path.to_owned() });
    }
    if magic != *MAGIC {
        return Err(damaged(path, "it is no backup of an embedded store".to_owned()));
    }
    let mut loaded = Loaded::default();
    loop {
        let revision = Revision::from_be_bytes(stream.read().map_err(failed)?);
        let length = u32::from_be_bytes(stream.read().map_err(failed)?);
        if revision == END {
            break;
        }
        if length > MAX_RECORD_BYTES {
            return Err(damaged(path, format!("revision {revision} has an impossible length")));
        }
        let bytes = stream.read_bytes(length).map_err(failed)?;
        loaded.take(revision, &bytes).map_err(|problem| match problem {
            Damage::NewerFormat(_) | Damage::NewerKind(_) => {
                MaintenanceError::OtherVersion { path: path.to_owned() }
            }
            _ => damaged(path, problem.to_string()),
        })?;
        visit(revision, bytes)?;
    }
    let records = u64::from_be_bytes(stream.read().map_err(failed)?);
    if !stream.read_checksum().map_err(failed)? || records != loaded.records + 1 {
        return Err(damaged(path, "the backup does not match its checksum".to_owned()));
    }
    loaded.finish(0).map_err(|problem| damaged(path, problem.to_string()))?;
    let files = stream.read_files().map_err(failed)?;
    Ok((loaded, files))
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
