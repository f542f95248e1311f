//! A copy of a database that is opened in its place, so that the original does not change.
//!
//! fjall changes a database that it opens: it removes the remains of a crash, truncates journals after their last
//! batch, and writes tables from records that are only in journals. The copy contains the small files and the
//! journals. Tables, which never change, are symbolic links to the originals.

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use super::journal;
use crate::directory_lock::DirectoryLock;
use crate::durable_file;
use crate::embedded::directory::LOG;
use crate::embedded::log_error::{AccessError, LogError};

/// Mode of copies: they contain everything that journals contain.
const MODE: u32 = 0o700;

/// Copies that were made this long ago are removed unless a process uses them.
const ABANDONED_AGE: Duration = Duration::from_hours(1);

/// Prefix of the names of copies.
const PREFIX: &str = "orlop-check-";

/// A copy of a database. Removed when it is dropped.
pub(super) struct DatabaseCopy {
    directory: TempDir,
    /// A copy that is not locked was left behind by a process that was killed.
    _lock: DirectoryLock,
}

// === impl DatabaseCopy ===

impl DatabaseCopy {
    /// Copies a database into a new directory that only this user can access, in the directory for temporary files.
    /// Removes copies that were left behind there.
    pub(super) fn new(database: &Path) -> Result<Self, LogError> {
        let temporary = std::env::temp_dir();
        let failed = |error: std::io::Error| {
            LogError::Io(AccessError::WorkingCopy { path: temporary.clone(), source: error.into() })
        };
        let directory = tempfile::Builder::new()
            .prefix(PREFIX)
            .permissions(Permissions::from_mode(MODE))
            .tempdir_in(&temporary)
            .map_err(failed)?;
        let lock =
            DirectoryLock::acquire(directory.path()).map_err(|error| failed(std::io::Error::other(error)))?;
        remove_abandoned(&temporary, directory.path()).map_err(failed)?;
        // A link's target is relative to the link.
        let original = database.canonicalize().map_err(|error| io(database, error))?;
        copy_directory(&original, &directory.path().join(LOG))?;
        Ok(Self { directory, _lock: lock })
    }

    /// The copied database.
    pub(super) fn database(&self) -> PathBuf {
        self.directory.path().join(LOG)
    }
}

/// Removes the copies of this user that no process uses any more.
fn remove_abandoned(temporary: &Path, own: &Path) -> std::io::Result<()> {
    let user = own.metadata()?.uid();
    for entry in std::fs::read_dir(temporary)? {
        let path = entry?.path();
        let is_copy =
            path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(PREFIX.as_bytes()));
        if !is_copy {
            continue;
        }
        // A copy that has just disappeared needs no removal.
        let Ok(metadata) = path.symlink_metadata() else { continue };
        // Other users may write into the directory for temporary files: their files are ignored.
        let is_private = metadata.is_dir() && metadata.uid() == user && metadata.mode() & 0o777 == MODE;
        // A new copy is not locked yet.
        let is_old = metadata.modified()?.elapsed().is_ok_and(|age| age >= ABANDONED_AGE);
        if !is_private || !is_old {
            continue;
        }
        if let Ok(lock) = DirectoryLock::acquire(&path) {
            std::fs::remove_dir_all(&path)?;
            drop(lock);
        }
    }
    Ok(())
}

fn copy_directory(from: &Path, to: &Path) -> Result<(), LogError> {
    durable_file::create_directory(to).map_err(|error| io(to, error))?;
    let holds_tables = from.file_name().is_some_and(|name| name == "tables");
    for entry in std::fs::read_dir(from).map_err(|error| io(from, error))? {
        let entry = entry.map_err(|error| io(from, error))?;
        let path = entry.path();
        let target = to.join(entry.file_name());
        if path.is_dir() {
            copy_directory(&path, &target)?;
            continue;
        }
        let is_journal = path.extension().is_some_and(|extension| extension == "jnl");
        let outcome = if holds_tables {
            symlink(&path, &target)
        } else if is_journal {
            journal::read(&path).and_then(|bytes| std::fs::write(&target, bytes))
        } else {
            std::fs::read(&path).and_then(|bytes| std::fs::write(&target, bytes))
        };
        outcome.map_err(|error| io(&path, error))?;
    }
    Ok(())
}

fn io(path: &Path, error: std::io::Error) -> LogError {
    LogError::Io(AccessError::file(path, error))
}

#[cfg(test)]
mod tests {
    use std::fs::{File, create_dir, write};
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn only_old_private_copies_that_no_process_uses_are_removed() {
        let temporary = tempfile::tempdir().unwrap();
        let make = |name: &str, mode: u32, is_old: bool| {
            let path = temporary.path().join(name);
            create_dir(&path).unwrap();
            write(path.join("0.jnl"), "x").unwrap();
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            if is_old {
                File::open(&path).unwrap().set_modified(SystemTime::now() - 2 * ABANDONED_AGE).unwrap();
            }
            path
        };
        let own = make("orlop-check-own", MODE, false);
        let used = make("orlop-check-used", MODE, false);
        let _lock = DirectoryLock::acquire(&used).unwrap();
        File::open(&used).unwrap().set_modified(SystemTime::now() - 2 * ABANDONED_AGE).unwrap();
        make("orlop-check-abandoned", MODE, true);
        make("orlop-check-open", 0o755, true);
        make("orlop-check-new", MODE, false);
        make("other", MODE, true);
        remove_abandoned(temporary.path(), &own).unwrap();
        let mut left: Vec<_> = std::fs::read_dir(temporary.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        let expected =
            ["orlop-check-new", "orlop-check-open", "orlop-check-own", "orlop-check-used", "other"];
        assert_eq!(left, expected);
    }
}
