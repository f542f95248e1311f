//! A copy of a database that is opened in its place, so that the original does not change.
//!
//! fjall changes a database that it opens: it removes what a crash left behind, cuts journals off after their last batch,
//! and writes tables of what is only in journals. The copy contains the small files and the journals. Tables, which are
//! never changed, are symbolic links to the originals.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use tempfile::TempDir;

use super::journal;
use crate::durable_file;
use crate::storage::embedded::directory::LOG;
use crate::storage::embedded::log::LogError;

/// Copies a database into a new directory that only this user can access, in the directory for temporary files. The
/// directory is removed when it is dropped.
pub(super) fn copy_database(database: &Path) -> Result<TempDir, LogError> {
    let temporary = std::env::temp_dir();
    let made = tempfile::Builder::new()
        .prefix("orlop-check-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(&temporary)
        .map_err(|error| {
            LogError::Io(format!(
                "{}: {error} (a working copy needs space there; TMPDIR names another directory)",
                temporary.display()
            ))
        })?;
    // A link's target is relative to the link.
    let original = database.canonicalize().map_err(|error| io(database, &error))?;
    copy_directory(&original, &made.path().join(LOG))?;
    Ok(made)
}

fn copy_directory(from: &Path, to: &Path) -> Result<(), LogError> {
    durable_file::create_directory(to).map_err(|error| io(to, &error))?;
    let holds_tables = from.file_name().is_some_and(|name| name == "tables");
    for entry in std::fs::read_dir(from).map_err(|error| io(from, &error))? {
        let entry = entry.map_err(|error| io(from, &error))?;
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
        outcome.map_err(|error| io(&path, &error))?;
    }
    Ok(())
}

fn io(path: &Path, error: &std::io::Error) -> LogError {
    LogError::Io(format!("{}: {error}", path.display()))
}
