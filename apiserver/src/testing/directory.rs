//! The directories of servers for tests.

use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::Duration;

use registry_core::directory_lock::{DirectoryLock, LOCK_FILE};

use crate::server::data_directory::create_private;
use crate::server::error::ServerError;

const PREFIX: &str = "orlop-test-";
/// The age from which a directory can be abandoned: a younger one may belong to a server that is about to lock it.
const MIN_AGE: Duration = Duration::from_mins(1);

/// A directory that is removed with the last server that uses it. If the process is killed, the next one that creates a
/// directory in the same place removes it.
#[derive(Debug)]
pub struct TestDirectory(PathBuf);

// === impl TestDirectory ===

impl TestDirectory {
    pub(super) fn create() -> Result<Self, ServerError> {
        static REMOVE_ABANDONED: Once = Once::new();
        let parent = std::env::temp_dir();
        REMOVE_ABANDONED.call_once(|| remove_abandoned(&parent));
        let path = parent.join(format!("{PREFIX}{}", uuid::Uuid::new_v4()));
        create_private(&path).map_err(|source| ServerError::Write { path: path.clone(), source })?;
        Ok(Self(path))
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TestDirectory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Removes the directories of processes that have ended without removing them. A directory that cannot be read or removed
/// stays.
fn remove_abandoned(parent: &Path) {
    let Ok(entries) = parent.read_dir() else { return };
    for entry in entries.flatten() {
        let is_ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        if is_ours && is_abandoned(&entry.path()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Whether the process of a directory has ended: the file that it locked is there, and neither locked nor that of a
/// process that runs. A process that has stopped its server, and may start another one in the directory, runs.
fn is_abandoned(directory: &Path) -> bool {
    let lock = directory.join(LOCK_FILE);
    let age = lock.metadata().and_then(|metadata| metadata.modified()).map(|time| time.elapsed());
    let is_old = age.is_ok_and(|age| age.is_ok_and(|age| age >= MIN_AGE));
    let holder = std::fs::read_to_string(&lock).ok().and_then(|text| text.trim().parse().ok());
    let Some(holder) = holder.and_then(rustix::process::Pid::from_raw) else { return false };
    let has_ended = rustix::process::test_kill_process(holder) == Err(rustix::io::Errno::SRCH);
    is_old && has_ended && DirectoryLock::acquire_to_read(directory).is_ok()
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::process::Command;
    use std::time::SystemTime;

    use super::*;

    /// Makes a directory that a process locked two minutes ago.
    fn locked_by(parent: &Path, name: &str, process: u32) -> PathBuf {
        let directory = parent.join(name);
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join(LOCK_FILE), format!("{process}\n")).unwrap();
        let lock = File::options().write(true).open(directory.join(LOCK_FILE)).unwrap();
        lock.set_modified(SystemTime::now() - 2 * MIN_AGE).unwrap();
        directory
    }

    #[test]
    fn directories_of_processes_that_were_killed_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let mut ended = Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        let abandoned = locked_by(parent.path(), "orlop-test-abandoned", ended.id());
        let stopped = locked_by(parent.path(), "orlop-test-stopped", std::process::id());
        let foreign = locked_by(parent.path(), "other", ended.id());
        let young = locked_by(parent.path(), "orlop-test-young", ended.id());
        fs::write(young.join(LOCK_FILE), ended.id().to_string()).unwrap();
        let held = locked_by(parent.path(), "orlop-test-held", ended.id());
        let lock = File::open(held.join(LOCK_FILE)).unwrap();
        lock.lock().unwrap();
        remove_abandoned(parent.path());
        assert!(!abandoned.exists());
        for kept in [stopped, foreign, young, held] {
            assert!(kept.exists(), "{}", kept.display());
        }
    }
}
