//! Backups of what has changed since another backup: *increments*.
//!
//! | bytes | content |
//! |---|---|
//! | 8 | `ORLOPIN1` |
//! | 8 + 32 + 4 + … | the backup that it follows: its revision, the SHA-256 of its file, the length of its name, its name (UTF-8) |
//! | 32 | the SHA-256 of the full backup that the chain begins with |
//! | 8 + 4 + … | per record that was written after that backup: its revision, its length, its bytes |
//! | 8 + 4 | the end: revision 2⁶⁴−1, length 0 |
//! | 8 | the revision of the store |
//! | 8 | number of keys |
//! | 8 + 8 | per key that exists: the revision of its record, and the checksum at the end of that record |
//! | 8 | XXH3 of all bytes before |
//!
//! Files may follow as in a full backup ([`format`](super::format)). All numbers are big-endian.
//!
//! A store gives each revision to one record. The revisions of the keys that exist are therefore the whole state: a key that is not
//! among them was deleted, however long ago, and no history is needed to know that. The checksums tell a store whose past is
//! another one, such as a restored one, that has given the same revisions to other records.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use ring::digest::{Context, SHA256};

use super::super::Revision;
use super::super::load::Loaded;
use super::super::record::{Damage, META_REVISION, Record};
use super::format::{BackupError, OnRecord, ReadError, Summed};
use super::{BackupFile, MaintenanceError, io};
use crate::mvcc::prefix_end;

const INCREMENT_MAGIC: &[u8; 8] = b"ORLOPIN1";
/// Maximum length of the name of a backup, in bytes.
const MAX_NAME_BYTES: usize = 4096;

/// The SHA-256 of a file.
pub(super) type Digest = [u8; 32];
/// The checksums of the records of the keys that exist, by their revisions.
pub(super) type Present = BTreeMap<Revision, u64>;

/// The backup that an increment follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Follows {
    /// The name that its file had, without a directory.
    name: String,
    revision: Revision,
    digest: Digest,
}

/// A full backup or an increment, which was read and verified as a whole.
pub(super) struct Link {
    pub(super) path: PathBuf,
    pub(super) revision: Revision,
    digest: Digest,
    /// The digest of the full backup of the chain.
    full: Digest,
    /// `None` if it is a full backup.
    pub(super) follows: Option<Follows>,
    pub(super) present: Present,
    /// Those of `present` whose records are in an earlier backup of the chain.
    pub(super) inherited: Present,
    /// Number of records.
    pub(super) records: u64,
    pub(super) files: Vec<BackupFile>,
    /// The content of a full backup.
    pub(super) loaded: Option<Loaded>,
}

/// A file that is read, with the digest of what was read.
struct Digested {
    file: File,
    context: Context,
}

/// The records that were seen while a store was read.
#[derive(Default)]
pub(super) struct Seen {
    checksums: HashMap<Revision, u64>,
    pub(super) written: u64,
}

// === impl Follows ===

impl std::fmt::Display for Follows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { name, revision, digest } = self;
        write!(f, "{name:?} (revision {revision}, SHA-256 ")?;
        digest.iter().take(8).try_for_each(|byte| write!(f, "{byte:02x}"))?;
        write!(f, "…)")
    }
}

// === impl Digested ===

impl Read for Digested {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = self.file.read(buffer)?;
        self.context.update(buffer.get(..length).unwrap_or_default());
        Ok(length)
    }
}

type Input = Summed<BufReader<Digested>>;

// === impl Link ===

impl Link {
    /// Reads and verifies a backup, passing on every record.
    pub(super) fn read(
        path: &Path,
        visit: &mut dyn FnMut(Revision, Bytes) -> Result<(), MaintenanceError>,
    ) -> Result<Self, MaintenanceError> {
        let file = File::open(path).map_err(|error| io(path, error))?;
        let mut input = BufReader::new(Digested { file, context: Context::new(&SHA256) });
        let beginning = input.fill_buf().map_err(|error| io(path, error))?;
        // In any version of the format.
        let is_increment = beginning.get(..7).is_some_and(|start| INCREMENT_MAGIC.starts_with(start));
        let mut stream = Summed::new(input);
        let read =
            if is_increment { read_increment(&mut stream, visit) } else { read_full(&mut stream, visit) };
        let finished = read.and_then(|mut link| {
            link.files = stream.read_files()?;
            let digested = stream.read_to_end()?;
            link.digest.copy_from_slice(digested.into_inner().context.finish().as_ref());
            Ok(link)
        });
        let mut link = finished.map_err(|error| error.into_error_for(path))?;
        if link.follows.is_none() {
            link.full = link.digest;
        }
        path.clone_into(&mut link.path);
        Ok(link)
    }

    /// Returns how an increment names this backup.
    pub(super) fn as_followed(&self) -> Follows {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Follows { name, revision: self.revision, digest: self.digest }
    }

    /// Whether an increment follows this backup.
    pub(super) fn is_before(&self, follows: &Follows) -> bool {
        self.digest == follows.digest && self.revision == follows.revision
    }

    /// Whether both are of the same chain.
    pub(super) fn is_of_chain_of(&self, other: &Self) -> bool {
        self.full == other.full
    }
}

fn read_full(
    stream: &mut Input,
    visit: &mut dyn FnMut(Revision, Bytes) -> Result<(), MaintenanceError>,
) -> Result<Link, ReadError<MaintenanceError>> {
    let mut seen = Seen::default();
    let loaded = stream.read_store(&mut |revision, bytes| {
        seen.note(revision, &bytes);
        visit(revision, bytes)
    })?;
    let present = seen.present(&loaded).map_err(|problem| ReadError::damaged_record(&problem))?;
    let (revision, records) = (loaded.current, loaded.records);
    Ok(Link { present, loaded: Some(loaded), ..Link::unfinished(revision, records) })
}

fn read_increment(
    stream: &mut Input,
    visit: &mut dyn FnMut(Revision, Bytes) -> Result<(), MaintenanceError>,
) -> Result<Link, ReadError<MaintenanceError>> {
    stream.read_magic(*INCREMENT_MAGIC)?;
    let revision_before = Revision::from_be_bytes(stream.read()?);
    let digest = stream.read()?;
    let name = stream.read_limited(MAX_NAME_BYTES)?;
    let name = String::from_utf8_lossy(&name).into_owned();
    let full = stream.read()?;
    let mut seen = Seen::default();
    stream.read_records(&mut |revision, bytes| {
        Record::decode(revision, &bytes).map_err(|problem| ReadError::damaged_record(&problem))?;
        seen.note(revision, &bytes);
        visit(revision, bytes).map_err(ReadError::Reader)
    })?;
    let revision = Revision::from_be_bytes(stream.read()?);
    let mut present = Present::new();
    // Grows with the actual content, not with the number, which may be damaged.
    for _ in 0..u64::from_be_bytes(stream.read()?) {
        let revision = Revision::from_be_bytes(stream.read()?);
        present.insert(revision, u64::from_be_bytes(stream.read()?));
    }
    if !stream.read_checksum()? {
        return Err(ReadError::Damaged("the increment does not match its checksum".to_owned()));
    }
    let mut inherited = present.clone();
    inherited.retain(|revision, checksum| seen.checksums.get(revision) != Some(checksum));
    let follows = Some(Follows { name, revision: revision_before, digest });
    let unfinished = Link::unfinished(revision, seen.checksums.len() as u64);
    Ok(Link { full, follows, present, inherited, ..unfinished })
}

impl Link {
    fn unfinished(revision: Revision, records: u64) -> Self {
        Self {
            path: PathBuf::new(),
            revision,
            digest: Digest::default(),
            full: Digest::default(),
            follows: None,
            present: Present::new(),
            inherited: Present::new(),
            records,
            files: Vec::new(),
            loaded: None,
        }
    }
}

// === impl Seen ===

impl Seen {
    fn note(&mut self, revision: Revision, bytes: &Bytes) {
        if let Some(checksum) = Record::checksum(bytes).filter(|_| revision != META_REVISION) {
            self.checksums.insert(revision, checksum);
        }
    }

    /// Returns the records of the keys that exist.
    fn present(&self, loaded: &Loaded) -> Result<Present, Damage> {
        let keys = loaded.index.present("", &prefix_end(""));
        let checksum = |(_, revision)| match self.checksums.get(&revision) {
            Some(checksum) => Ok((revision, *checksum)),
            None => Err(Damage::Missing { first: revision, last: revision }),
        };
        keys.into_iter().map(checksum).collect()
    }
}

/// Writes the store that a function reads and verifies, as an increment that follows a backup. Returns `None` if the store is not
/// the one of that backup; what was written is of no use then.
pub(super) fn write_increment<Stream: Write>(
    stream: &mut Summed<Stream>,
    previous: &Link,
    read: impl FnOnce(OnRecord<'_>) -> Result<Loaded, BackupError>,
) -> Result<Option<(Loaded, u64)>, BackupError> {
    write_beginning(stream, previous).map_err(BackupError::Written)?;
    let mut seen = Seen::default();
    let loaded = read(&mut |revision, bytes| {
        seen.note(revision, bytes);
        if revision <= previous.revision || Record::is_deletion(bytes) {
            return Ok(());
        }
        seen.written += 1;
        stream.write_record(revision, bytes)
    })?;
    let present = seen.present(&loaded).map_err(std::io::Error::other).map_err(BackupError::Written)?;
    let mut earlier = present.range(..=previous.revision);
    let is_known = earlier.all(|(revision, checksum)| previous.present.get(revision) == Some(checksum));
    if !is_known || loaded.current < previous.revision {
        return Ok(None);
    }
    write_end(stream, loaded.current, &present).map_err(BackupError::Written)?;
    Ok(Some((loaded, seen.written)))
}

fn write_beginning<Stream: Write>(stream: &mut Summed<Stream>, previous: &Link) -> std::io::Result<()> {
    let Follows { name, revision, digest } = previous.as_followed();
    stream.write(INCREMENT_MAGIC)?;
    stream.write(&revision.to_be_bytes())?;
    stream.write(&digest)?;
    stream.write_limited(name.as_bytes(), MAX_NAME_BYTES)?;
    stream.write(&previous.full)
}

fn write_end<Stream: Write>(
    stream: &mut Summed<Stream>,
    revision: Revision,
    present: &Present,
) -> std::io::Result<()> {
    stream.write_last_record()?;
    stream.write(&revision.to_be_bytes())?;
    stream.write(&(present.len() as u64).to_be_bytes())?;
    for (revision, checksum) in present {
        stream.write(&revision.to_be_bytes())?;
        stream.write(&checksum.to_be_bytes())?;
    }
    stream.write_checksum()
}
