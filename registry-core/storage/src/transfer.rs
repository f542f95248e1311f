//! Moves the keys of a store into another one, or into a file and back, byte for byte: for operators, while no server uses
//! either store. A store can be moved while servers use it ([`follow()`]).
//!
//! | part | purpose |
//! |---|---|
//! | `export` | the file: JSON lines with a checksum |
//! | `follow` | moves the keys of a store while its servers go on |
//! | `source` | where keys come from: an embedded store, an etcd, a file |
//!
//! A source is read twice: at first as a whole, so that a damaged one is refused before anything is written, and then while its
//! keys are written. At the end the destination is read back and compared with what was sent.
//!
//! - **All or nothing.** An embedded store gets its name when it has been read back ([`NewStore`]); an etcd has a mark until then,
//!   because of which servers do not start ([`etcd3::moving`](crate::etcd3::moving)).
//! - **Revisions.** The newest revision of the destination is not smaller than that of the source, and its history begins there: a
//!   client that knows an older revision is answered with 410, as after every compaction. In an embedded store, keys keep their
//!   revisions. In an etcd they get new ones, which are newer than all of the source.
//! - **Times to live.** A key that was to be deleted at some time is deleted then.
//!
//! Kubernetes concept: there is none. For etcd, `etcdctl snapshot save` and `etcdutl snapshot restore --bump-revision
//! --mark-compacted` do a part of it.

use std::path::{Path, PathBuf};
#[cfg(feature = "etcd3")]
use std::sync::Arc;

use crate::Revision;
use crate::embedded::maintenance::{MaintenanceError, check_restore};
use crate::embedded::moving::{FollowedStoreError, NewStore, Renumbering};
#[cfg(feature = "etcd3")]
use crate::etcd3::{
    Etcd3,
    moving::{EtcdImport, EtcdMoveError, check_import},
};
#[cfg(feature = "etcd3")]
use crate::moving_key::Earlier;
use crate::moving_key::{MovingKey, Tally, TooManyRevisions, raised};
#[cfg(feature = "etcd3")]
use crate::mvcc::MvccError;

mod export;
#[cfg(feature = "etcd3")]
mod follow;
mod source;

pub use export::{ExportError, ExportedFrom};
#[cfg(feature = "etcd3")]
pub use follow::{Control, FollowEvent, FollowSource, Position, follow};
pub use source::Source;

/// The store that keys are moved into. It must be empty.
pub enum Destination {
    /// The directory of an embedded store.
    Embedded(PathBuf),
    /// An etcd.
    #[cfg(feature = "etcd3")]
    Etcd(Arc<Etcd3>),
}

/// The way in which keys are moved.
#[derive(Clone, Copy, Debug, Default)]
pub struct ImportOptions {
    /// Added to the revision of the source: the number of revisions that clients may have seen since it was read.
    pub bump_revision: u64,
    /// Whether an unfinished import into an etcd is begun again. That into an embedded store always is.
    pub restarts: bool,
}

/// The stage of long work, for its display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Keys of the source are read and verified.
    Reading,
    /// The revision of an etcd is raised.
    Raising,
    /// Keys are written.
    Writing,
    /// The keys of the destination are read back.
    ReadingBack,
}

/// Receives the stage of the work, and the number of keys (or revisions) done in it.
pub type OnProgress<'p> = &'p mut (dyn FnMut(Stage, u64) + Send);

/// The result of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The number of keys.
    pub keys: u64,
    /// The newest revision of the destination.
    pub revision: Revision,
}

/// Keys cannot be moved.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// An embedded store. Retryable as [`MaintenanceError`] says.
    #[error(transparent)]
    Embedded(#[from] MaintenanceError),
    /// An etcd. Retryable as [`EtcdMoveError`] says.
    #[cfg(feature = "etcd3")]
    #[error(transparent)]
    Etcd(#[from] EtcdMoveError),
    /// An embedded store that is followed. Retryable as [`FollowedStoreError`] says.
    #[error(transparent)]
    Followed(#[from] FollowedStoreError),
    /// The file. Retryable as [`ExportError`] says.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// The revision of the destination would be too great. Not retryable with the same number.
    #[error(transparent)]
    TooManyRevisions(#[from] TooManyRevisions),
    /// The destination does not have what was written. Not retryable.
    #[error(
        "{read_back} keys were read back from the destination, which are not the {sent} keys that were written to it; they are \
         not served: remove the destination, check its disk, and repeat the command"
    )]
    Different {
        /// The number of keys written.
        sent: u64,
        /// The number of keys read back.
        read_back: u64,
    },
    /// The destination of a source that was followed is not equal to it. Not retryable.
    #[error(
        "{different} keys of the destination are not those of the source, the first of them {first}: they are not served"
    )]
    Unequal {
        /// The number of keys that are missing, surplus, or have another value.
        different: u64,
        /// The first of them.
        first: String,
    },
    /// The source was written when the move was to end. Retryable, once nobody writes.
    #[error(
        "the source was written after its last state was read ({key}, at revision {revision}): stop all servers that use it; the \
         destination is not served"
    )]
    SourceWritten {
        /// The key.
        key: String,
        /// The revision.
        revision: Revision,
    },
}

// === impl TransferError ===

impl TransferError {
    /// Whether the history of the source was compacted before it was read.
    #[cfg(feature = "etcd3")]
    fn is_compacted(&self) -> bool {
        matches!(self, Self::Etcd(EtcdMoveError::Compacted) | Self::Followed(FollowedStoreError::Compacted))
    }

    /// Whether an etcd does not answer now.
    #[cfg(feature = "etcd3")]
    fn is_transient(&self) -> bool {
        matches!(self, Self::Etcd(EtcdMoveError::Engine(MvccError::Unavailable(_) | MvccError::Overloaded)))
    }
}

/// A source that was read as a whole.
struct Survey {
    tally: Tally,
    /// The revisions of its keys, in the order of the keys.
    revisions: Vec<Revision>,
}

/// A source that was read as a whole, and is written to a destination whose newest revision is at least `revision`.
struct Import<'a> {
    source: &'a mut Source,
    survey: Survey,
    revision: Revision,
    on_progress: OnProgress<'a>,
}

/// Writes the keys of a source to a file, atomically and durably, and readable by its owner only. A file that exists is replaced.
///
/// # Errors
/// Fails if the source cannot be read or the file cannot be written.
pub async fn export(
    source: &mut Source,
    file: &Path,
    server: &str,
    on_progress: OnProgress<'_>,
) -> Result<Moved, TransferError> {
    let from = ExportedFrom {
        prefix: source.prefix().to_owned(),
        revision: source.revision(),
        server: server.to_owned(),
        written: registry_meta::time::now(),
    };
    let mut writer = export::Writer::create(file, &from)?;
    loop {
        let page = source.next_page().await?;
        if page.is_empty() {
            break;
        }
        for key in &page {
            writer.write(key)?;
        }
        on_progress(Stage::Reading, writer.keys());
    }
    Ok(Moved { keys: writer.finish()?, revision: from.revision })
}

/// Writes the keys of a source to a destination, and reads them back.
///
/// # Errors
/// Fails if the destination is not empty, the source is damaged, or either fails. Nothing is served then; the command can be
/// repeated.
pub async fn import(
    source: &mut Source,
    destination: &Destination,
    options: ImportOptions,
    on_progress: OnProgress<'_>,
) -> Result<Moved, TransferError> {
    match destination {
        Destination::Embedded(directory) => check_restore(directory)?,
        #[cfg(feature = "etcd3")]
        Destination::Etcd(etcd) => check_import(etcd, source.prefix(), options.restarts).await?,
    }
    let survey = survey(source, on_progress).await?;
    let revision = raised(source.revision(), options.bump_revision)?;
    let import = Import { source, survey, revision, on_progress };
    match destination {
        Destination::Embedded(directory) => import.into_embedded(directory).await,
        #[cfg(feature = "etcd3")]
        Destination::Etcd(etcd) => import.into_etcd(etcd, options.restarts).await,
    }
}

async fn survey(source: &mut Source, on_progress: OnProgress<'_>) -> Result<Survey, TransferError> {
    let mut survey = Survey { tally: Tally::default(), revisions: Vec::new() };
    loop {
        let page = source.next_page().await?;
        if page.is_empty() {
            source.rewind()?;
            return Ok(survey);
        }
        for key in &page {
            survey.tally.add(&key.key, &key.value, key.expires_at_seconds.is_some());
            survey.revisions.push(key.mod_revision);
        }
        on_progress(Stage::Reading, survey.tally.keys());
    }
}

// === impl Import ===

impl Import<'_> {
    /// Returns the next keys of the source; `None` at its end.
    async fn next_page(&mut self) -> Result<Option<Vec<MovingKey>>, TransferError> {
        let page = self.source.next_page().await?;
        Ok(Some(page).filter(|page| !page.is_empty()))
    }

    async fn into_embedded(mut self, directory: &Path) -> Result<Moved, TransferError> {
        let renumbering = Renumbering::new(std::mem::take(&mut self.survey.revisions));
        // Clients do not learn other revisions of their keys unless they list again.
        let beyond = Revision::from(renumbering.changes_some());
        let revision = self.revision.max(renumbering.newest()).saturating_add(beyond);
        let mut store = NewStore::create(directory, revision, renumbering)?;
        let mut keys = 0;
        while let Some(page) = self.next_page().await? {
            store.write(&page)?;
            keys += page.len() as u64;
            (self.on_progress)(Stage::Writing, keys);
        }
        (self.on_progress)(Stage::ReadingBack, 0);
        compare(&self.survey.tally, &store.read_back()?)?;
        store.publish()?;
        Ok(Moved { keys, revision })
    }

    #[cfg(feature = "etcd3")]
    async fn into_etcd(mut self, etcd: &Arc<Etcd3>, restarts: bool) -> Result<Moved, TransferError> {
        let now = registry_meta::time::now();
        let earlier = if restarts { Earlier::Removed } else { Earlier::Refused };
        let mut import = EtcdImport::begin(etcd.clone(), self.source.prefix(), earlier, &now).await?;
        import.raise(self.revision, &mut |done| (self.on_progress)(Stage::Raising, done)).await?;
        let mut keys = 0;
        while let Some(page) = self.next_page().await? {
            import.write(&page).await?;
            keys += page.len() as u64;
            (self.on_progress)(Stage::Writing, keys);
        }
        import.outrun(self.revision).await?;
        let read_back = import.read_back(&mut |done| (self.on_progress)(Stage::ReadingBack, done)).await?;
        compare(&self.survey.tally, &read_back)?;
        Ok(Moved { keys, revision: import.finish().await? })
    }
}

fn compare(sent: &Tally, read_back: &Tally) -> Result<(), TransferError> {
    if sent.arrived_as(read_back) {
        return Ok(());
    }
    Err(TransferError::Different { sent: sent.keys(), read_back: read_back.keys() })
}
