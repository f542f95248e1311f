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

pub(super) const MAGIC: &[u8; 8] = b"ORLOPBK1";
const END: Revision = Revision::MAX;
const FILES_MAGIC: &[u8; 8] = b"ORLOPFL1";

/// Maximum number of files in a backup; more are damage, or refused.
const MAX_FILES: u32 = 256;
/// Maximum length of a file and of its name, in bytes.
const MAX_FILE_BYTES: usize = 1 << 20;

/// Maximum length of a record, in bytes; a longer length in a backup is damage.
const MAX_RECORD_BYTES: u32 = 1 << 30;

/// Receives the records of a store.
pub(in super::super) type OnRecord<'v> = &'v mut dyn FnMut(Revision, &Bytes) -> std::io::Result<()>;

/// A backup cannot be written.
pub(in super::super) enum BackupError {
    /// The store cannot be read. Retryable as the error says.
    Store(MaintenanceError),
    /// The backup cannot be written. Retryable, once the cause is gone.
    Written(std::io::Error),
}

/// A backup cannot be read, or its reader has failed.
pub(in super::super) enum ReadError<Failure> {
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
pub(in super::super) struct Summed<Stream> {
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

/// Visits all records of a log, and verifies them. Returns what they contain.
pub(super) fn read_log(log: &dyn Log, directory: &Path, visit: OnRecord<'_>) -> Result<Loaded, BackupError> {
    let mut loaded = Loaded::default();
    let acknowledged = scan(log, directory, &mut |revision, bytes| {
        let taken = loaded.take(revision, &bytes);
        taken.map_err(|problem| BackupError::Store(damaged(directory, problem.to_string())))?;
        visit(revision, &bytes).map_err(BackupError::Written)
    })?;
    let finished = loaded.finish(acknowledged);
    finished.map_err(|problem| BackupError::Store(damaged(directory, problem.to_string())))?;
    Ok(loaded)
}

/// Visits all records of a log. Returns the revision that was acknowledged before.
fn scan(
    log: &dyn Log,
    directory: &Path,
    visit: &mut dyn FnMut(Revision, Bytes) -> Result<(), BackupError>,
) -> Result<Revision, BackupError> {
    let unreadable =
        |error: LogError| BackupError::Store(MaintenanceError::Open(OpenError::new(directory, error)));
    // Revisions acknowledged by now are in the scan that begins afterwards.
    let acknowledged = log.acknowledged().map_err(unreadable)?;
    let mut outcome = Ok(());
    log.scan(META_REVISION..=Revision::MAX, &mut |revision, bytes| {
        outcome = visit(revision, bytes);
        if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })
    .map_err(unreadable)?;
    outcome.map(|()| acknowledged)
}

// === impl BackupError ===

impl BackupError {
    /// Returns the error of writing a backup to a file.
    pub(in super::super) fn into_error_for(self, path: &Path) -> MaintenanceError {
        match self {
            Self::Store(error) => error,
            Self::Written(error) => io(path, error),
        }
    }
}

// === impl ReadError ===

impl<Failure> ReadError<Failure> {
    /// Returns the error of a damaged record.
    pub(super) fn damaged_record(problem: &Damage) -> Self {
        match problem {
            Damage::NewerFormat(_) | Damage::NewerKind(_) => Self::OtherVersion,
            _ => Self::Damaged(problem.to_string()),
        }
    }
}

impl ReadError<MaintenanceError> {
    pub(super) fn into_error_for(self, path: &Path) -> MaintenanceError {
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
    pub(in super::super) fn new(stream: Stream) -> Self {
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
    /// Writes a store, whose records a function reads and verifies. Returns what it contains.
    pub(super) fn write_store(
        &mut self,
        read: impl FnOnce(OnRecord<'_>) -> Result<Loaded, BackupError>,
    ) -> Result<Loaded, BackupError> {
        self.write(MAGIC).map_err(BackupError::Written)?;
        let loaded = read(&mut |revision, bytes| self.write_record(revision, bytes))?;
        self.write_end(loaded.records + 1).map_err(BackupError::Written)?;
        Ok(loaded)
    }

    /// Writes a store as it is; its reader verifies it.
    pub(in super::super) fn write_unverified(
        &mut self,
        log: &dyn Log,
        directory: &Path,
    ) -> Result<(), BackupError> {
        self.write(MAGIC).map_err(BackupError::Written)?;
        let mut records = 0;
        scan(log, directory, &mut |revision, bytes| {
            records += 1;
            self.write_record(revision, &bytes).map_err(BackupError::Written)
        })?;
        self.write_end(records).and_then(|()| self.stream.flush()).map_err(BackupError::Written)
    }

    fn write_end(&mut self, records: u64) -> std::io::Result<()> {
        self.write_last_record()?;
        self.write(&records.to_be_bytes())?;
        self.write_checksum()
    }

    /// Writes the files that follow a store.
    pub(super) fn write_files(&mut self, files: &[BackupFile]) -> std::io::Result<()> {
        self.write(FILES_MAGIC)?;
        let count = u32::try_from(files.len()).ok().filter(|count| *count <= MAX_FILES);
        self.write(&count.ok_or_else(too_large)?.to_be_bytes())?;
        for file in files {
            for bytes in [file.name.as_bytes(), &file.content] {
                self.write_limited(bytes, MAX_FILE_BYTES)?;
            }
        }
        self.write_checksum()
    }

    /// Writes bytes with their number before them, which must not exceed a maximum.
    pub(super) fn write_limited(&mut self, bytes: &[u8], max: usize) -> std::io::Result<()> {
        let length = u32::try_from(bytes.len()).ok().filter(|_| bytes.len() <= max);
        self.write(&length.ok_or_else(too_large)?.to_be_bytes())?;
        self.write(bytes)
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.checksum.update(bytes);
        self.stream.write_all(bytes)
    }

    /// Writes the checksum of what was written since the last one.
    pub(super) fn write_checksum(&mut self) -> std::io::Result<()> {
        let checksum = std::mem::take(&mut self.checksum).digest();
        self.stream.write_all(&checksum.to_be_bytes())
    }

    /// Writes what follows the last record.
    pub(super) fn write_last_record(&mut self) -> std::io::Result<()> {
        self.write_record(END, &[])
    }

    pub(super) fn write_record(&mut self, revision: Revision, bytes: &[u8]) -> std::io::Result<()> {
        let length = u32::try_from(bytes.len()).map_err(std::io::Error::other)?;
        self.write(&revision.to_be_bytes())?;
        self.write(&length.to_be_bytes())?;
        self.write(bytes)
    }
}

impl<Stream: Read> Summed<Stream> {
    /// Reads and verifies the store of a backup, passing on every record.
    pub(in super::super) fn read_store<Failure>(
        &mut self,
        visit: &mut dyn FnMut(Revision, Bytes) -> Result<(), Failure>,
    ) -> Result<Loaded, ReadError<Failure>> {
        self.read_magic(*MAGIC)?;
        let mut loaded = Loaded::default();
        self.read_records(&mut |revision, bytes| {
            loaded.take(revision, &bytes).map_err(|problem| ReadError::damaged_record(&problem))?;
            visit(revision, bytes).map_err(ReadError::Reader)
        })?;
        let records = u64::from_be_bytes(self.read()?);
        if !self.read_checksum()? || records != loaded.records + 1 {
            return Err(ReadError::Damaged("the backup does not match its checksum".to_owned()));
        }
        loaded.finish(0).map_err(|problem| ReadError::Damaged(problem.to_string()))?;
        Ok(loaded)
    }

    /// Reads the beginning, which is that of another version of the format if its last byte is another.
    pub(super) fn read_magic<Failure>(&mut self, expected: [u8; 8]) -> Result<(), ReadError<Failure>> {
        let magic: [u8; 8] = self.read()?;
        if magic == expected {
            return Ok(());
        }
        if magic.starts_with(expected.split_last().map_or(&[], |(_, all_versions)| all_versions)) {
            return Err(ReadError::OtherVersion);
        }
        Err(ReadError::Damaged("it is not a backup of an embedded store".to_owned()))
    }

    /// Reads records up to the last one.
    pub(super) fn read_records<Failure>(
        &mut self,
        visit: &mut dyn FnMut(Revision, Bytes) -> Result<(), ReadError<Failure>>,
    ) -> Result<(), ReadError<Failure>> {
        loop {
            let revision = Revision::from_be_bytes(self.read()?);
            let length = u32::from_be_bytes(self.read()?);
            if revision == END {
                return Ok(());
            }
            if length > MAX_RECORD_BYTES {
                return Err(ReadError::Damaged(format!("revision {revision} has an impossible length")));
            }
            let bytes = self.read_bytes(length)?;
            visit(revision, bytes)?;
        }
    }

    /// Reads the files that follow a store; none if nothing follows.
    pub(super) fn read_files(&mut self) -> std::io::Result<Vec<BackupFile>> {
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
            let name = self.read_limited(MAX_FILE_BYTES)?;
            let name =
                String::from_utf8(name.to_vec()).map_err(|_| wrong("the name of a file is not text"))?;
            files.push(BackupFile { name, content: self.read_limited(MAX_FILE_BYTES)? });
        }
        if !self.read_checksum()? {
            return Err(wrong("the files do not match their checksum"));
        }
        Ok(files)
    }

    pub(super) fn read<const LENGTH: usize>(&mut self) -> std::io::Result<[u8; LENGTH]> {
        let mut bytes = [0; LENGTH];
        self.stream.read_exact(&mut bytes)?;
        self.checksum.update(&bytes);
        Ok(bytes)
    }

    /// Reads a checksum, and returns whether it matches the bytes that were read since the last checksum.
    pub(super) fn read_checksum(&mut self) -> std::io::Result<bool> {
        let checksum = std::mem::take(&mut self.checksum).digest();
        let mut bytes = [0; 8];
        self.stream.read_exact(&mut bytes)?;
        Ok(bytes == checksum.to_be_bytes())
    }

    pub(super) fn read_limited(&mut self, max: usize) -> std::io::Result<Bytes> {
        let length = u32::from_be_bytes(self.read()?);
        if usize::try_from(length).is_ok_and(|length| length <= max) {
            return self.read_bytes(length);
        }
        Err(std::io::Error::new(std::io::ErrorKind::InvalidData, "a file or a name is too large"))
    }

    /// Reads what is left. Returns the stream below.
    pub(super) fn read_to_end(mut self) -> std::io::Result<Stream> {
        std::io::copy(&mut self.stream, &mut std::io::sink())?;
        Ok(self.stream)
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

fn too_large() -> std::io::Error {
    std::io::Error::other("the files beside the store are too many or too large, or have too long names")
}
