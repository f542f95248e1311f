//! The data directory of the server, used by one server at a time.

use std::fs::DirBuilder;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use registry_core::directory_lock::{DirectoryLock, LockError};
use registry_core::durable_file;
use rustix::process::geteuid;
use tokio::time::{Instant, sleep};

/// The mode bits that allow the group and others to replace files, and the sticky bit, which restricts that
/// to their own.
const WRITABLE_BY_OTHERS: u32 = 0o022;
const STICKY: u32 = 0o1000;
/// The mode bits that the owner needs.
const USABLE: u32 = 0o700;

const NAME_ANOTHER: &str = "name another directory (--data-dir)";

/// Maximum time to wait for a process that has the directory or the port and is ending: one that was just killed has both
/// for a moment.
pub(super) const ENDING_PATIENCE: Duration = Duration::from_secs(2);
/// Time between two attempts.
pub(super) const ENDING_PAUSE: Duration = Duration::from_millis(20);

/// The lock of a data directory; released when dropped.
#[derive(Debug)]
pub struct DataDirectory {
    _lock: DirectoryLock,
    /// Removed after the lock.
    temporary: Option<TemporaryDirectory>,
}

/// A directory that is removed when it is dropped.
#[derive(Debug)]
struct TemporaryDirectory(PathBuf);

/// The data directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DataDirectoryError {
    /// Another process uses it. Retryable, once that process has ended.
    #[error(
        "the data directory {} is in use by another process (id {holder}): stop that process, or use another directory \
         (--data-dir)",
        path.display()
    )]
    Locked {
        /// The directory.
        path: PathBuf,
        /// The other process's id, if known.
        holder: String,
    },
    /// The operating system refuses access. Retryable, once the cause is resolved.
    #[error("the data directory {} cannot be used: {source}; {advice}", path.display())]
    Io {
        /// The directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
        /// The next step of the user.
        advice: String,
    },
}

// === impl DataDirectoryError ===

impl DataDirectoryError {
    fn refused(path: &Path, source: io::Error) -> Self {
        let advice = advice(path, source.kind(), geteuid().as_raw());
        Self::Io { path: path.to_owned(), source, advice }
    }
}

// === impl DataDirectory ===

impl DataDirectory {
    /// Creates the directory if it does not exist, accessible to its owner only, and locks it. Waits a moment for a process
    /// that is ending. Logs a warning if other users can replace its contents.
    pub async fn acquire(path: &Path) -> Result<Self, DataDirectoryError> {
        let io = |source| DataDirectoryError::refused(path, source);
        durable_file::create_directory(path).map_err(io)?;
        let mode = path.metadata().map_err(io)?.permissions().mode();
        if mode & WRITABLE_BY_OTHERS != 0 && mode & STICKY == 0 {
            tracing::warn!(
                directory = %path.display(), mode = %format!("{:o}", mode & 0o7777),
                "other users can replace the files in the data directory: chmod go-w it"
            );
        }
        let deadline = Instant::now() + ENDING_PATIENCE;
        let mut has_said = false;
        loop {
            match DirectoryLock::acquire(path) {
                Ok(lock) => return Ok(Self { _lock: lock, temporary: None }),
                Err(LockError::Held { holder }) if Instant::now() >= deadline => {
                    return Err(DataDirectoryError::Locked { path: path.to_owned(), holder });
                }
                Err(LockError::Held { holder }) if !has_said => {
                    has_said = true;
                    tracing::info!("waiting for process {holder}, which uses the data directory, to end");
                }
                Err(LockError::Held { .. }) => {}
                Err(LockError::Io(source)) => return Err(io(source)),
            }
            sleep(ENDING_PAUSE).await;
        }
    }

    /// Creates a directory for temporary files that is removed when it is dropped, accessible to its owner only.
    pub async fn temporary() -> Result<(Self, PathBuf), DataDirectoryError> {
        let path = new_temporary_path();
        create_private(&path).map_err(|source| DataDirectoryError::refused(&path, source))?;
        let temporary = TemporaryDirectory(path.clone());
        let locked = Self::acquire(&path).await?;
        Ok((Self { temporary: Some(temporary), ..locked }, path))
    }

    /// Returns the process that has locked the directory, if there is one. Changes nothing on disk.
    pub(super) fn holder(path: &Path) -> Option<String> {
        match DirectoryLock::acquire_to_read(path) {
            Err(LockError::Held { holder }) => Some(holder),
            Ok(_) | Err(LockError::Io(_)) => None,
        }
    }

    /// Returns the path of the directory if it is temporary.
    pub(super) fn temporary_path(&self) -> Option<&Path> {
        self.temporary.as_ref().map(|temporary| temporary.0.as_path())
    }
}

/// Returns what a user does about a directory that this user of the process cannot use.
fn advice(path: &Path, kind: ErrorKind, process: u32) -> String {
    let is_denied = kind == ErrorKind::PermissionDenied;
    let Ok(metadata) = path.metadata() else { return advice_on_parent(path, is_denied, process) };
    if !is_denied {
        return NAME_ANOTHER.to_owned();
    }
    let (owner, mode, path) = (metadata.uid(), metadata.mode() & 0o7777, path.display());
    if owner != process {
        return format!(
            "it belongs to uid {owner}, and this process is uid {process}: start as that user, run `chown -R {process} \
             {path}` as root, or {NAME_ANOTHER}"
        );
    }
    if mode & USABLE != USABLE {
        return format!("its mode is {mode:o}: run `chmod u+rwx {path}`, or {NAME_ANOTHER}");
    }
    format!(
        "it has files of another user, as after a start with sudo: run `chown -R {process} {path}` as root, or \
         {NAME_ANOTHER}"
    )
}

/// Returns what a user does about a directory that cannot be created.
fn advice_on_parent(path: &Path, is_denied: bool, process: u32) -> String {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let existing =
        absolute.ancestors().skip(1).find_map(|parent| Some((parent, parent.metadata().ok()?.uid())));
    let Some((parent, owner)) = existing else { return NAME_ANOTHER.to_owned() };
    let parent = parent.display();
    if is_denied && owner != process {
        return format!(
            "nothing can be created in {parent}, which belongs to uid {owner}, by this process, which is uid {process}: \
             {NAME_ANOTHER}"
        );
    }
    format!("nothing can be created in {parent}: {NAME_ANOTHER}")
}

/// Returns the path of a new directory for temporary files.
pub(crate) fn new_temporary_path() -> PathBuf {
    std::env::temp_dir().join(format!("orlop-{}", uuid::Uuid::new_v4()))
}

/// Creates a directory that is accessible to its owner only.
///
/// # Errors
/// Fails if it cannot be created, for example because it exists.
pub(crate) fn create_private(path: &Path) -> std::io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        // What cannot be removed stays where temporary files are removed some day.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_who_is_another_user_is_named() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().display();
        let owner = home.path().metadata().unwrap().uid();
        let other = owner + 1000;
        assert_eq!(
            advice(home.path(), ErrorKind::PermissionDenied, other),
            format!(
                "it belongs to uid {owner}, and this process is uid {other}: start as that user, run `chown -R {other} \
                 {path}` as root, or name another directory (--data-dir)"
            )
        );
        let absent = home.path().join("a/b");
        assert_eq!(
            advice(&absent, ErrorKind::PermissionDenied, other),
            format!(
                "nothing can be created in {path}, which belongs to uid {owner}, by this process, which is uid {other}: \
                 name another directory (--data-dir)"
            )
        );
    }

    #[test]
    fn an_owner_is_told_about_the_mode_or_about_the_files_of_others() {
        let home = tempfile::tempdir().unwrap();
        let owner = home.path().metadata().unwrap().uid();
        let advice = |kind| advice(home.path(), kind, owner);
        assert!(advice(ErrorKind::PermissionDenied).starts_with("it has files of another user"));
        assert_eq!(advice(ErrorKind::StorageFull), NAME_ANOTHER);
        let set_mode =
            |mode| std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(mode)).unwrap();
        set_mode(0o500);
        let message = advice(ErrorKind::PermissionDenied);
        assert!(message.starts_with("its mode is 500: run `chmod u+rwx "), "{message}");
        set_mode(0o700);
    }

    #[tokio::test]
    async fn a_directory_that_cannot_be_created_is_told_with_its_parent() {
        for (path, parent) in [("/proc/x", "/proc"), ("/proc/x/y", "/proc"), ("/dev/null/x", "/dev/null")] {
            let message = DataDirectory::acquire(Path::new(path)).await.expect_err(path).to_string();
            assert!(
                message.contains(&format!("nothing can be created in {parent}: name another")),
                "{message}"
            );
        }
    }
}
