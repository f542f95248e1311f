//! A full backup and the increments that follow it, each of which names the one before.

use std::path::{Path, PathBuf};

use super::super::Revision;
use super::super::load::Loaded;
use super::super::record::{META_REVISION, Record};
use super::increment::{Follows, Link};
use super::unpublished::UnpublishedLog;
use super::{BackupFile, MaintenanceError, Report, damaged, report};
use crate::moving_key::raised;

/// The content of an increment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Increment {
    /// The revision of the store.
    pub revision: Revision,
    /// The number of keys of the store.
    pub keys: u64,
    /// The number of records that were written after the backup that it follows.
    pub records: u64,
}

/// The result of a restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The content of the backup, which the increments follow.
    pub backup: Report,
    /// The content of the increments.
    pub increments: Vec<Increment>,
    /// The content of the store that was made of it.
    pub store: Report,
}

/// Files are no chain of backups. Not retryable with the same files.
#[derive(Debug, thiserror::Error)]
pub enum ChainError {
    /// The first file is an increment.
    #[error("{} is an increment, which follows the backup {follows}: name that file before it", path.display())]
    NotFirst {
        /// The file.
        path: PathBuf,
        /// The file that is missing before it.
        follows: Follows,
    },
    /// An increment follows another file than the one before it.
    #[error(
        "{} does not follow {}, but the backup {follows}: name that file between them, or leave out what does not belong there",
        path.display(), before.display()
    )]
    OtherLink {
        /// The file.
        path: PathBuf,
        /// The file before it.
        before: PathBuf,
        /// The file that is expected before it.
        follows: Follows,
    },
    /// An increment is of another full backup.
    #[error("{} is of another chain than {}: it follows the backup {follows}", path.display(), before.display())]
    OtherChain {
        /// The file.
        path: PathBuf,
        /// The file before it.
        before: PathBuf,
        /// The file that is expected before it.
        follows: Follows,
    },
    /// A full backup is not the first file.
    #[error("{} is a full backup, which follows no other one: name it first, and increments only after it", path.display())]
    FullBackup {
        /// The file.
        path: PathBuf,
    },
    /// The store has another past than the backup that an increment is to follow.
    #[error(
        "the store in {} is not the one that {} was written of, or is older: write a full backup, without --since",
        directory.display(), previous.display()
    )]
    OtherStore {
        /// The directory of the store.
        directory: PathBuf,
        /// The backup.
        previous: PathBuf,
    },
    /// An increment would replace the backup that it follows.
    #[error("{} would replace the backup that it follows: choose another file", path.display())]
    SameFile {
        /// The file.
        path: PathBuf,
    },
}

/// A chain of at least two backups that were read and verified.
pub(super) struct Chain {
    full: Link,
    increments: Vec<Link>,
}

// === impl ChainError ===

impl From<ChainError> for MaintenanceError {
    fn from(error: ChainError) -> Self {
        Self::Chain(Box::new(error))
    }
}

// === impl Increment ===

impl Increment {
    fn new(link: &Link) -> Self {
        Self { revision: link.revision, keys: link.present.len() as u64, records: link.records }
    }
}

// === impl Chain ===

impl Chain {
    /// Reads and verifies a backup and the increments that follow it.
    pub(super) fn read(full: &Path, increments: &[&Path]) -> Result<Self, MaintenanceError> {
        let full = Link::read(full, &mut |_, _| Ok(()))?;
        let mut chain = Self { full: first(full)?, increments: Vec::new() };
        for path in increments {
            let next = Link::read(path, &mut |_, _| Ok(()))?;
            check_order(chain.last(), &next)?;
            chain.increments.push(next);
        }
        Ok(chain)
    }

    fn last(&self) -> &Link {
        self.increments.last().unwrap_or(&self.full)
    }

    /// Returns the files that belong to the store.
    pub(super) fn files(&self) -> &[BackupFile] {
        &self.last().files
    }

    /// Creates a store in a directory. It has no history before its revision.
    pub(super) fn restore(self, directory: &Path, bump_revision: u64) -> Result<Restored, MaintenanceError> {
        let last = self.last();
        let revision = raised(last.revision, bump_revision)?;
        let mut needed = last.present.clone();
        let mut log = UnpublishedLog::create(directory)?;
        let mut store = Loaded::default();
        let mut add = |at, bytes, path: &Path| {
            store.take(at, &bytes).map_err(|problem| damaged(path, problem.to_string()))?;
            log.add(at, bytes)
        };
        add(META_REVISION, Record::meta(revision).encode(), &last.path)?;
        for link in std::iter::once(&self.full).chain(&self.increments) {
            let again = Link::read(&link.path, &mut |at, bytes| {
                if needed.get(&at).copied() != Record::checksum(&bytes) || needed.remove(&at).is_none() {
                    return Ok(());
                }
                add(at, bytes, &link.path)
            })?;
            if !again.is_before(&link.as_followed()) {
                return Err(damaged(&link.path, "it has changed while it was read".to_owned()));
            }
        }
        if let Some(lost) = needed.keys().next() {
            return Err(damaged(&last.path, format!("no file has the record of revision {lost}")));
        }
        log.publish(revision)?;
        let increments = self.increments.iter().map(Increment::new).collect();
        let backup = report(self.full.loaded.as_ref().unwrap_or(&Loaded::default()));
        Ok(Restored { backup, increments, store: report(&store) })
    }
}

/// Fails unless it is a full backup.
pub(super) fn first(link: Link) -> Result<Link, ChainError> {
    match link.follows {
        None => Ok(link),
        Some(follows) => Err(ChainError::NotFirst { path: link.path, follows }),
    }
}

/// Fails unless an increment follows a backup.
fn check_order(before: &Link, next: &Link) -> Result<(), MaintenanceError> {
    let path = next.path.clone();
    let Some(follows) = next.follows.clone() else { return Err(ChainError::FullBackup { path }.into()) };
    if !next.is_of_chain_of(before) {
        return Err(ChainError::OtherChain { path, before: before.path.clone(), follows }.into());
    }
    if !before.is_before(&follows) {
        return Err(ChainError::OtherLink { path, before: before.path.clone(), follows }.into());
    }
    let is_known = |(revision, checksum): (&Revision, &u64)| before.present.get(revision) == Some(checksum);
    if next.inherited.iter().all(is_known) {
        return Ok(());
    }
    Err(damaged(&path, "it names records that the backups before it do not have".to_owned()))
}
