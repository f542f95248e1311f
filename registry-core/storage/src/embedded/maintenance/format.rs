//! The format of backups.
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

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::ops::ControlFlow;
use std::path::Path;

use bytes::Bytes;
use xxhash_rust::xxh3::Xxh3;

use super::super::load::Loaded;
use super::super::log::Log;
use super::super::log_error::LogError;
use super::super::record::{Damage, META_REVISION};
use super::super::{OpenError, Revision};
use super::{BackupFile, MaintenanceError, damaged, io};

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

/// A backup cannot be written.
pub(super) enum BackupError {
    /// The store cannot be read. Retryable as the error says.
    Store(MaintenanceError),
    /// The backup cannot be written. Retryable, once the cause is gone.
    Written(std::io::Error),
}

/// A backup cannot be read, or its reader has failed.
pub(super) enum ReadError<Failure> {
    /// It is not a backup, or it is damaged. Not retryable.
    Damaged(String),
    /// Another version of the program has written it. Not retryable.
    OtherVersion,
    /// It is cut short, or cannot be read. Retryable, once the cause is gone.
    Io(std::io::Error),
    /// The reader has failed with a record. Retryable as the failure says.
    Reader(Failure),
}

/// A stream that computes the checksum of its content.
pub(super) struct Summed<Stream> {
    stream: Stream,
    checksum: Xxh3,
}

/// Reads and verifies a backup, passing on every record.
pub(super) fn read_backup(
    path: &Path,
    visit: &mut dyn FnMut(Revision, Bytes) -> Result<(), MaintenanceError>,
) -> Result<(Loaded, Vec<BackupFile>), MaintenanceError> {
    let file = File::open(path).map_err(|error| io(path, error))?;
    let mut stream = Summed::new(BufReader::new(file));
    let read = stream.read_store(visit).and_then(|loaded| Ok((loaded, stream.read_files()?)));
    read.map_err(|error| error.into_error_for(path))
}

// === impl BackupError ===

impl BackupError {
    /// Returns the error of writing a backup to a file.
    pub(super) fn into_error_for(self, path: &Path) -> MaintenanceError {
        match self {
            Self::Store(error) => error,
            Self::Written(error) => io(path, error),
        }
    }
}

// === impl ReadError ===

impl ReadError<MaintenanceError> {
    fn into_error_for(self, path: &Path) -> MaintenanceError {
        match self {
            Self::Damaged(reason) => damaged(path, reason),
            Self::OtherVersion => MaintenanceError::OtherVersion { path: path.to_owned() },
            Self::Io(error) => match error.kind() {
                std::io::ErrorKind::UnexpectedEof => damaged(path, "the backup is cut short".to_owned()),
                std::io::ErrorKind::InvalidData => damaged(path, error.to_string()),
                _ => io(path, error),
            },
            Self::Reader(error) => error,
        }
    }
}

impl<Failure> From<std::io::Error> for ReadError<Failure> {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

// === impl Summed ===

impl<Stream> Summed<Stream> {
    pub(super) fn new(stream: Stream) -> Self {
        Self { stream, checksum: Xxh3::new() }
    }
}

impl<Inner: Write> Summed<BufWriter<Inner>> {
    /// Writes what is buffered, and returns the stream below.
    pub(super) fn into_inner(self) -> std::io::Result<Inner> {
        self.stream.into_inner().map_err(std::io::IntoInnerError::into_error)
    }
}

impl<Stream: Write> Summed<Stream> {
    /// Writes a store, and verifies it. Returns what it contains.
    pub(super) fn write_log(&mut self, log: &dyn Log, directory: &Path) -> Result<Loaded, BackupError> {
        let mut loaded = Loaded::default();
        let acknowledged = self.write_records(log, directory, |revision, bytes| {
            loaded.take(revision, bytes).map_err(|problem| damaged(directory, problem.to_string()))
        })?;
        let finished = loaded.finish(acknowledged);
        finished.map_err(|problem| BackupError::Store(damaged(directory, problem.to_string())))?;
        self.write_end(loaded.records + 1).map_err(BackupError::Written)?;
        Ok(loaded)
    }

    /// Writes a store as it is; its reader verifies it.
    pub(super) fn write_unverified(&mut self, log: &dyn Log, directory: &Path) -> Result<(), BackupError> {
        let mut records = 0;
        self.write_records(log, directory, |_, _| {
            records += 1;
            Ok(())
        })?;
        self.write_end(records).and_then(|()| self.stream.flush()).map_err(BackupError::Written)
    }

    /// Writes the store of another backup, and verifies it. Returns what it contains.
    pub(super) fn write_store_of<Other: Read>(
        &mut self,
        backup: &mut Summed<Other>,
    ) -> Result<Loaded, ReadError<std::io::Error>> {
        self.write(MAGIC).map_err(ReadError::Reader)?;
        let loaded = backup.read_store(&mut |revision, bytes| self.write_record(revision, &bytes))?;
        self.write_end(loaded.records + 1).map_err(ReadError::Reader)?;
        Ok(loaded)
    }

    /// Writes the beginning and all records. Returns the revision that was acknowledged before.
    fn write_records(
        &mut self,
        log: &dyn Log,
        directory: &Path,
        mut visit: impl FnMut(Revision, &Bytes) -> Result<(), MaintenanceError>,
    ) -> Result<Revision, BackupError> {
        let unreadable =
            |error: LogError| BackupError::Store(MaintenanceError::Open(OpenError::new(directory, error)));
        self.write(MAGIC).map_err(BackupError::Written)?;
        // Revisions acknowledged by now are in the scan that begins afterwards.
        let acknowledged = log.acknowledged().map_err(unreadable)?;
        let mut outcome = Ok(());
        log.scan(META_REVISION..=Revision::MAX, &mut |revision, bytes| {
            outcome = visit(revision, &bytes)
                .map_err(BackupError::Store)
                .and_then(|()| self.write_record(revision, &bytes).map_err(BackupError::Written));
            if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
        .map_err(unreadable)?;
        outcome.map(|()| acknowledged)
    }

    fn write_end(&mut self, records: u64) -> std::io::Result<()> {
        self.write_record(END, &[])?;
        self.write(&records.to_be_bytes())?;
        self.write_checksum()
    }

    /// Writes the files that follow a store.
    pub(super) fn write_files(&mut self, files: &[BackupFile]) -> std::io::Result<()> {
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

    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.checksum.update(bytes);
        self.stream.write_all(bytes)
    }

    /// Writes the checksum of what was written since the last one.
    fn write_checksum(&mut self) -> std::io::Result<()> {
        let checksum = std::mem::take(&mut self.checksum).digest();
        self.stream.write_all(&checksum.to_be_bytes())
    }

    fn write_record(&mut self, revision: Revision, bytes: &[u8]) -> std::io::Result<()> {
        let length = u32::try_from(bytes.len()).map_err(std::io::Error::other)?;
        self.write(&revision.to_be_bytes())?;
        self.write(&length.to_be_bytes())?;
        self.write(bytes)
    }
}

impl<Stream: Read> Summed<Stream> {
    /// Reads and verifies the store of a backup, passing on every record.
    fn read_store<Failure>(
        &mut self,
        visit: &mut dyn FnMut(Revision, Bytes) -> Result<(), Failure>,
    ) -> Result<Loaded, ReadError<Failure>> {
        let magic: [u8; MAGIC.len()] = self.read()?;
        if magic != *MAGIC && magic.starts_with(MAGIC_OF_ALL_VERSIONS) {
            return Err(ReadError::OtherVersion);
        }
        if magic != *MAGIC {
            return Err(ReadError::Damaged("it is no backup of an embedded store".to_owned()));
        }
        let mut loaded = Loaded::default();
        loop {
            let revision = Revision::from_be_bytes(self.read()?);
            let length = u32::from_be_bytes(self.read()?);
            if revision == END {
                break;
            }
            if length > MAX_RECORD_BYTES {
                return Err(ReadError::Damaged(format!("revision {revision} has an impossible length")));
            }
            let bytes = self.read_bytes(length)?;
            loaded.take(revision, &bytes).map_err(|problem| match problem {
                Damage::NewerFormat(_) | Damage::NewerKind(_) => ReadError::OtherVersion,
                _ => ReadError::Damaged(problem.to_string()),
            })?;
            visit(revision, bytes).map_err(ReadError::Reader)?;
        }
        let records = u64::from_be_bytes(self.read()?);
        if !self.read_checksum()? || records != loaded.records + 1 {
            return Err(ReadError::Damaged("the backup does not match its checksum".to_owned()));
        }
        loaded.finish(0).map_err(|problem| ReadError::Damaged(problem.to_string()))?;
        Ok(loaded)
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

/// Returns a number that must not exceed a maximum.
fn limited(number: usize, max: u32) -> std::io::Result<u32> {
    let number = u32::try_from(number).ok().filter(|number| *number <= max);
    number.ok_or_else(|| std::io::Error::other("the files beside the store are too many or too large"))
}
