//! A store that is made of a backup.
//!
//! Clients may have seen revisions that were written after the backup. If the store continued at the revision of the backup,
//! these revisions would get another meaning: a watch that resumes after one of them would miss what is written until the
//! store reaches it. The revision of the store is therefore raised above all that clients may have seen, and its history
//! begins there, so that such watches end with [`MvccError::Compacted`](crate::mvcc::MvccError::Compacted). Keys keep their
//! revisions.
//!
//! Kubernetes concept: `etcdutl snapshot restore --bump-revision --mark-compacted`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::super::Revision;
use super::super::load::Loaded;
use super::super::record::{META_REVISION, Record};
use super::chain::{self, Chain, Restored};
use super::format::read_backup;
use super::increment::Link;
use super::unpublished::UnpublishedLog;
use super::{BackupFile, MaintenanceError, damaged, report};
use crate::moving_key::raised;
use crate::mvcc::prefix_end;

/// A backup that was read and verified as a whole, with the increments that follow it.
pub struct Backup(Content);

enum Content {
    Full(Full),
    Chain(Box<Chain>),
}

/// A full backup alone.
struct Full {
    path: PathBuf,
    loaded: Loaded,
    files: Vec<BackupFile>,
}

// === impl Backup ===

impl Backup {
    /// Reads and verifies a backup, and the increments that follow it, in their order.
    ///
    /// # Errors
    /// Fails if a file is damaged, was written by another version of the program, or cannot be read; and if the files are no chain
    /// that begins with a full backup.
    pub fn read(path: &Path, increments: &[impl AsRef<Path>]) -> Result<Self, MaintenanceError> {
        if increments.is_empty() {
            let link = chain::first(Link::read(path, &mut |_, _| Ok(()))?)?;
            let Link { path, loaded, files, .. } = link;
            let loaded = loaded.unwrap_or_default();
            return Ok(Self(Content::Full(Full { path, loaded, files })));
        }
        let increments: Vec<&Path> = increments.iter().map(AsRef::as_ref).collect();
        Ok(Self(Content::Chain(Box::new(Chain::read(path, &increments)?))))
    }

    /// Returns the files that belong to the store.
    pub fn files(&self) -> &[BackupFile] {
        match &self.0 {
            Content::Full(full) => &full.files,
            Content::Chain(chain) => chain.files(),
        }
    }

    /// Creates a store in a directory from the backup. The store appears when it is complete: an interrupted restore leaves
    /// none and can be repeated.
    ///
    /// Its revision is that of the backup plus `bump_revision`, which should exceed the number of writes after the backup, and
    /// it has no history before that revision. 0 keeps revision and history, so that clients resume where they are: they miss
    /// changes if anything was written after the backup. A store that is made with increments has no history in any case.
    ///
    /// The records are read again, because they may need more memory than there is: which of them are kept, and the revision of
    /// the first one, is known only when all have been read.
    ///
    /// # Errors
    /// Fails if the backup has changed, the directory is not empty or in use, the revision would be too great, or the disk
    /// refuses.
    pub fn restore(self, directory: &Path, bump_revision: u64) -> Result<Restored, MaintenanceError> {
        match self.0 {
            Content::Full(full) => full.restore(directory, bump_revision),
            Content::Chain(chain) => chain.restore(directory, bump_revision),
        }
    }
}

// === impl Full ===

impl Full {
    fn restore(self, directory: &Path, bump_revision: u64) -> Result<Restored, MaintenanceError> {
        let Self { path, loaded, .. } = self;
        let backup = report(&loaded);
        let revision = raised(loaded.current, bump_revision)?;
        let present = (bump_revision > 0).then(|| present_revisions(&loaded));
        drop(loaded);
        let mut log = UnpublishedLog::create(directory)?;
        let mut store = Loaded::default();
        let (again, _) = read_backup(&path, &mut |at, bytes| {
            let bytes = match &present {
                Some(_) if at == META_REVISION => Record::meta(revision).encode(),
                Some(present) if !present.contains(&at) => return Ok(()),
                _ => bytes,
            };
            store.take(at, &bytes).map_err(|problem| damaged(&path, problem.to_string()))?;
            log.add(at, bytes)
        })?;
        if report(&again) != backup {
            return Err(damaged(&path, "it has changed while it was read".to_owned()));
        }
        log.publish(revision)?;
        Ok(Restored { backup, increments: Vec::new(), store: report(&store) })
    }
}

/// Creates a store in a directory from a backup: see [`Backup::restore`].
///
/// # Errors
/// As [`Backup::read`] and [`Backup::restore`].
pub fn restore(file: &Path, directory: &Path, bump_revision: u64) -> Result<Restored, MaintenanceError> {
    Backup::read(file, &[] as &[&Path])?.restore(directory, bump_revision)
}

/// Returns the newest revisions of the keys that are there.
fn present_revisions(loaded: &Loaded) -> HashSet<Revision> {
    let keys = loaded.index.present("", &prefix_end(""));
    keys.into_iter().map(|(_, revision)| revision).collect()
}
