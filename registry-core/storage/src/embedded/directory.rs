//! The data directory: the right to use it, and the newest acknowledged revision.
//!
//! | file | content |
//! |---|---|
//! | `LOCK` | locked by the process that uses the directory; contains its process id |
//! | `acknowledged` | the newest acknowledged revision, to detect a log that lost its end |
//! | `log/` | the log itself |
//! | `log.new/` | a log that is being created, or that a crash left behind |

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use xxhash_rust::xxh3::xxh3_64;

use super::log_error::{AccessError, LogError};
use super::{OpenError, Revision};
use crate::directory_lock::{DirectoryLock, LOCK_FILE};
use crate::durable_file::{self, DurableFile};

/// The log's directory in the data directory.
pub(super) const LOG: &str = "log";

/// The directory in which a log is created. It is renamed to [`LOG`] when it is complete.
pub(super) const NEW_LOG: &str = "log.new";

const ACKNOWLEDGED: &str = "acknowledged";

/// Number of bytes that must fit onto the disk before a failed log is opened again.
const PROBE_BYTES: usize = 1024 * 1024;

/// The file with the newest acknowledged revision.
///
/// It is flushed to disk when it is created and when the store is closed. In between it is overwritten without a flush:
/// the content survives the end of the process, and after a power loss it is at most old, never ahead.
#[derive(Debug)]
pub(super) struct HighWaterMark {
    path: PathBuf,
    /// `None` if the store is only read.
    file: Option<Mutex<File>>,
    at_open: Revision,
}

/// Creates a data directory if it does not exist, makes it accessible to its owner only, and locks it.
pub(super) fn lock(directory: &Path) -> Result<DirectoryLock, OpenError> {
    let io = |source| OpenError::Io { directory: directory.to_owned(), source };
    durable_file::create_directory(directory).map_err(io)?;
    restrict_directory(directory).map_err(io)?;
    DirectoryLock::acquire(directory).map_err(|error| OpenError::locking(directory, error))
}

/// Locks a data directory against processes that write to it. Changes nothing on disk.
pub(super) fn lock_to_read(directory: &Path) -> Result<DirectoryLock, OpenError> {
    DirectoryLock::acquire_to_read(directory).map_err(|error| OpenError::locking(directory, error))
}

/// Makes a directory accessible to its owner only. The files in it need no check of their own then.
///
/// # Errors
/// Fails if other users have access and the process may not change that. Access of the group alone is tolerated in
/// that case: administrators set up container volumes that way.
fn restrict_directory(directory: &Path) -> std::io::Result<()> {
    let directory = directory.canonicalize()?;
    match durable_file::restrict(&directory) {
        Ok(false) => {}
        Ok(true) => tracing::warn!(
            directory = %directory.display(),
            "other users had access to the store's directory; it is now accessible to its owner only"
        ),
        Err(error) => {
            let is_open_to_all = directory.metadata()?.permissions().mode() & 0o007 != 0;
            if is_open_to_all {
                let text = format!("all users have access to it, and that cannot be changed: {error}");
                return Err(std::io::Error::new(error.kind(), text));
            }
            tracing::warn!(
                directory = %directory.display(), %error,
                "the group has access to the store's directory, and that cannot be changed"
            );
        }
    }
    Ok(())
}

// === impl HighWaterMark ===

impl HighWaterMark {
    /// Opens or creates the file.
    pub(super) fn open(directory: &Path) -> Result<Self, LogError> {
        let path = directory.join(ACKNOWLEDGED);
        let io = |error| AccessError::file(&path, error);
        let at_open = Self::read_file(&path)?;
        if at_open.is_none() {
            // With its full length, so that later writes only overwrite.
            durable_file::write(&path, &Self::encode(0)).map_err(io)?;
        }
        let file = OpenOptions::new().write(true).open(&path).map_err(io)?;
        Ok(Self { path, file: Some(Mutex::new(file)), at_open: at_open.unwrap_or(0) })
    }

    /// Reads the file. Changes nothing on disk; [`write`](Self::write) has no effect.
    pub(super) fn open_to_read(directory: &Path) -> Result<Self, LogError> {
        let path = directory.join(ACKNOWLEDGED);
        let at_open = Self::read_file(&path)?.unwrap_or(0);
        Ok(Self { path, file: None, at_open })
    }

    /// Returns the content as of when the file was opened; 0 if it is unknown.
    pub(super) fn read(&self) -> Revision {
        self.at_open
    }

    /// Overwrites the revision. A failure is logged: it only weakens the check that the file is for.
    pub(super) fn write(&self, revision: Revision) {
        let Some(file) = &self.file else { return };
        let mut file = file.lock();
        let outcome = file.seek(SeekFrom::Start(0)).and_then(|_| file.write_all(&Self::encode(revision)));
        if let Err(error) = outcome {
            tracing::warn!(path = %self.path.display(), %error, "cannot write the newest acknowledged revision");
        }
    }

    /// Flushes the file to disk. A failure is logged.
    pub(super) fn sync(&self) {
        let Some(file) = &self.file else { return };
        let outcome = file.lock().sync_data();
        if let Err(error) = outcome {
            tracing::warn!(path = %self.path.display(), %error, "cannot flush the newest acknowledged revision");
        }
    }

    /// `None` if there is no file, or if it has no content: earlier versions did not flush the file when they created
    /// it, so that after a power loss it can be empty or zero.
    fn read_file(path: &Path) -> Result<Option<Revision>, LogError> {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(AccessError::file(path, error).into()),
        };
        if bytes.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let revision = Self::decode(&bytes);
        revision.map(Some).ok_or_else(|| {
            LogError::Damaged(format!(
                "{} does not match its checksum (the file only detects a log that lost its end: if the log is known to \
                 be complete, remove the file)",
                path.display()
            ))
        })
    }

    fn encode(revision: Revision) -> [u8; 16] {
        let mut bytes = [0; 16];
        let (number, checksum) = bytes.split_at_mut(8);
        number.copy_from_slice(&revision.to_be_bytes());
        checksum.copy_from_slice(&xxh3_64(number).to_be_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Revision> {
        let (number, checksum) = bytes.split_first_chunk::<8>()?;
        (checksum == xxh3_64(number).to_be_bytes()).then(|| Revision::from_be_bytes(*number))
    }
}

/// Checks that the disk accepts data. The error contains the reason if it does not.
pub(super) fn probe_disk(directory: &Path) -> Result<(), LogError> {
    let attempt = || -> std::io::Result<()> {
        let mut file = DurableFile::create(&directory.join("probe"))?;
        file.write_all(&vec![0x5a; PROBE_BYTES])?;
        // Not published: the file disappears when it is dropped.
        file.sync()
    };
    attempt().map_err(|error| {
        LogError::Io(AccessError::Probe { path: directory.to_owned(), source: error.into() })
    })
}

/// Whether there is a log in a data directory.
///
/// # Errors
/// Fails if there is none although revisions were acknowledged.
pub(super) fn has_log(directory: &Path) -> Result<bool, LogError> {
    let log = directory.join(LOG);
    match log.symlink_metadata() {
        Ok(_) => return Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(AccessError::file(&log, error).into()),
    }
    match HighWaterMark::open_to_read(directory)?.read() {
        0 => Ok(false),
        revision => Err(LogError::Damaged(format!(
            "{} is missing, although revision {revision} was acknowledged",
            log.display()
        ))),
    }
}

/// Whether a directory contains anything but what an interrupted creation of a store leaves behind.
pub(super) fn is_occupied(directory: &Path) -> std::io::Result<bool> {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let name = entry?.file_name();
        if name != LOCK_FILE && name != NEW_LOG && !durable_file::is_temporary(&name) {
            return Ok(true);
        }
    }
    Ok(false)
}
