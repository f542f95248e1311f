//! The data directory: who may use it, and how far it had come.
//!
//! | file | what |
//! |---|---|
//! | `LOCK` | locked by the process that uses the directory; holds its process id |
//! | `acknowledged` | the newest acknowledged revision, to find out a log that lost its end |
//! | `log/` | the log itself |

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use xxhash_rust::xxh3::xxh3_64;

use super::log::LogError;
use super::{OpenError, Revision};

/// How much must fit onto the disk before a failed log is opened again.
const PROBE_BYTES: usize = 1024 * 1024;

/// The right to use a data directory; given up when dropped.
#[derive(Debug)]
pub(super) struct DirectoryLock {
    _file: File,
}

/// The file that remembers the newest acknowledged revision. Written without fsync: it outlives the process, and
/// after a power loss it is at most old, never ahead.
#[derive(Debug)]
pub(super) struct HighWaterMark {
    path: PathBuf,
    file: Mutex<File>,
    at_open: Revision,
}

// === impl DirectoryLock ===

impl DirectoryLock {
    /// Makes the directory if there is none, readable by its owner only, and locks it.
    pub(super) fn acquire(directory: &Path) -> Result<Self, OpenError> {
        let io = |source| OpenError::Io { directory: directory.to_owned(), source };
        create_private(directory).map_err(io)?;
        let path = directory.join("LOCK");
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let _unreadable_is_unknown = file.read_to_string(&mut holder);
                let holder = holder.trim().parse::<u32>().map_or("unknown".to_owned(), |id| id.to_string());
                return Err(OpenError::Locked { directory: directory.to_owned(), holder });
            }
            Err(TryLockError::Error(source)) => return Err(io(source)),
        }
        // The process id is only for the message above.
        file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id())).map_err(io)?;
        Ok(Self { _file: file })
    }
}

fn create_private(directory: &Path) -> std::io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

// === impl HighWaterMark ===

impl HighWaterMark {
    /// Opens the file, or makes it.
    pub(super) fn open(directory: &Path) -> Result<Self, LogError> {
        let path = directory.join("acknowledged");
        let io = |error: std::io::Error| LogError::Io(format!("{}: {error}", path.display()));
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(io)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(io)?;
        let at_open = Self::decode(&bytes)
            .ok_or_else(|| LogError::Damaged(format!("{} does not match its checksum", path.display())))?;
        Ok(Self { path, file: Mutex::new(file), at_open })
    }

    /// What the file said when it was opened; 0 in a new directory.
    pub(super) fn read(&self) -> Revision {
        self.at_open
    }

    /// Overwrites the revision. A failure costs only the check it is for.
    pub(super) fn write(&self, revision: Revision) {
        let mut bytes = [0; 16];
        let (number, checksum) = bytes.split_at_mut(8);
        number.copy_from_slice(&revision.to_be_bytes());
        checksum.copy_from_slice(&xxh3_64(number).to_be_bytes());
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = file.seek(SeekFrom::Start(0)).and_then(|_| file.write_all(&bytes)) {
            tracing::warn!(path = %self.path.display(), %error, "cannot note the newest revision");
        }
    }

    fn decode(bytes: &[u8]) -> Option<Revision> {
        if bytes.is_empty() {
            return Some(0);
        }
        let (number, checksum) = bytes.split_first_chunk::<8>()?;
        (checksum == xxh3_64(number).to_be_bytes()).then(|| Revision::from_be_bytes(*number))
    }
}

/// Whether the disk takes data at all; the error says why not.
pub(super) fn probe_disk(directory: &Path) -> Result<(), LogError> {
    let path = directory.join("probe");
    let attempt = || -> std::io::Result<()> {
        let mut file = File::create(&path)?;
        file.write_all(&vec![0x5a; PROBE_BYTES])?;
        file.sync_data()
    };
    let outcome = attempt();
    let _absent_is_fine = std::fs::remove_file(&path);
    outcome.map_err(|error| {
        LogError::Io(format!("{} takes no data ({error}): free some space there", directory.display()))
    })
}

/// Whether there is a store, or anything else, in the directory.
pub(super) fn is_occupied(directory: &Path) -> std::io::Result<bool> {
    match std::fs::read_dir(directory) {
        Ok(mut entries) => Ok(entries.next().is_some()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
