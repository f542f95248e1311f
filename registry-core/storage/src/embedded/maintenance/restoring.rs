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
use std::path::Path;

use super::super::Revision;
use super::super::load::Loaded;
use super::super::record::{META_REVISION, Record};
use super::unpublished::UnpublishedLog;
use super::{MaintenanceError, Report, damaged, read_backup, report};
use crate::moving_key::raised;
use crate::mvcc::prefix_end;

/// The result of a restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The content of the backup.
    pub backup: Report,
    /// The content of the store that was made of it.
    pub store: Report,
}

/// Creates a store in a directory from a backup, which is verified as a whole before anything is written. The store
/// appears when it is complete: an interrupted restore leaves none and can be repeated.
///
/// Its revision is that of the backup plus `bump_revision`, which should exceed the number of writes after the backup, and it
/// has no history before that revision. 0 keeps revision and history, so that clients resume where they are: they miss
/// changes if anything was written after the backup.
///
/// # Errors
/// Fails if the backup is damaged, the directory is not empty or in use, the revision would be too great, or the disk refuses.
pub fn restore(file: &Path, directory: &Path, bump_revision: u64) -> Result<Restored, MaintenanceError> {
    let (saved, _) = read_backup(file, &mut |_, _| Ok(()))?;
    let backup = report(&saved);
    let revision = raised(saved.current, bump_revision)?;
    let present = (bump_revision > 0).then(|| present_revisions(&saved));
    drop(saved);
    let mut log = UnpublishedLog::create(directory)?;
    let mut store = Loaded::default();
    let (again, _) = read_backup(file, &mut |at, bytes| {
        let bytes = match &present {
            Some(_) if at == META_REVISION => Record::meta(revision).encode(),
            Some(present) if !present.contains(&at) => return Ok(()),
            _ => bytes,
        };
        store.take(at, &bytes).map_err(|problem| damaged(file, problem.to_string()))?;
        log.add(at, bytes)
    })?;
    if report(&again) != backup {
        return Err(damaged(file, "it has changed while it was read".to_owned()));
    }
    log.publish(revision)?;
    Ok(Restored { backup, store: report(&store) })
}

/// Returns the newest revisions of the keys that are there.
fn present_revisions(loaded: &Loaded) -> HashSet<Revision> {
    let keys = loaded.index.present("", &prefix_end(""));
    keys.into_iter().map(|(_, revision)| revision).collect()
}
