//! The store that is written while a source is followed.

use crate::Revision;
use crate::embedded::moving::FollowingStore;
use crate::etcd3::moving::{Differences, EtcdImport};
use crate::moving_key::{FollowedChange, KeyPages as _, Tally};
use crate::transfer::{Moved, Stage, TransferError, compare};

use super::FollowEvent;
use super::source::Pages;

/// Receives events.
pub(super) type Report<'t> = &'t mut (dyn FnMut(FollowEvent) + Send);

/// The store that is written.
pub(super) enum Target {
    Embedded(Box<FollowingStore>),
    Etcd(Box<EtcdImport>),
}

// === impl Target ===

impl Target {
    /// Makes the keys those of the source at the revision that is read. Returns their number.
    pub(super) async fn reconcile(
        &mut self,
        source: &mut Pages,
        report: Report<'_>,
    ) -> Result<u64, TransferError> {
        match self {
            Self::Etcd(import) => {
                import
                    .keep_up(source.revision(), &mut |done| report(FollowEvent::Stage(Stage::Raising, done)))
                    .await?;
                let mut writing = |done| report(FollowEvent::Stage(Stage::Writing, done));
                Ok(import.reconcile(source, &mut writing).await?.keys)
            }
            Self::Embedded(store) => reconcile_embedded(store, source, report).await,
        }
    }

    /// Writes changes.
    pub(super) async fn apply(&mut self, changes: &[FollowedChange]) -> Result<(), TransferError> {
        match self {
            Self::Etcd(import) => Ok(import.apply(changes).await?),
            Self::Embedded(store) => {
                for change in changes {
                    match change {
                        FollowedChange::Put(put) => store.put(put)?,
                        FollowedChange::Delete { key, .. } => store.delete(key)?,
                    }
                }
                Ok(())
            }
        }
    }

    /// Fails if there are changes other than the ends of keys with a time to live.
    pub(super) async fn refuse(&self, late: &[FollowedChange]) -> Result<(), TransferError> {
        for change in late {
            let is_end = match (change, self) {
                (FollowedChange::Put(_), _) => false,
                (FollowedChange::Delete { key, .. }, Self::Etcd(import)) => !import.is_lasting(key).await?,
                (FollowedChange::Delete { key, .. }, Self::Embedded(store)) => !store.is_lasting(key),
            };
            if !is_end {
                let (key, revision) = (change.key().to_owned(), change.revision());
                return Err(TransferError::SourceWritten { key, revision });
            }
        }
        Ok(())
    }

    /// Fails if the keys are not those of the source at the revision that is read. Returns their number.
    pub(super) async fn verify(
        &mut self,
        source: &mut Pages,
        report: Report<'_>,
    ) -> Result<u64, TransferError> {
        match self {
            Self::Etcd(import) => {
                let mut reading = |done| report(FollowEvent::Stage(Stage::ReadingBack, done));
                match import.compare(source, &mut reading).await? {
                    Differences { keys, different: 0, .. } => Ok(keys),
                    Differences { different, first, .. } => {
                        let first = first.unwrap_or_else(|| "unknown".to_owned());
                        Err(TransferError::Unequal { different, first })
                    }
                }
            }
            Self::Embedded(store) => {
                store.move_to(source.revision())?;
                let mut sent = Tally::default();
                loop {
                    let page = source.next_page().await?;
                    if page.is_empty() {
                        break;
                    }
                    for key in &page {
                        sent.add(&key.key, &key.value, key.expires_at_seconds.is_some());
                    }
                    report(FollowEvent::Stage(Stage::ReadingBack, sent.keys()));
                }
                compare(&sent, &store.read_back()?)?;
                Ok(sent.keys())
            }
        }
    }

    /// Ends the move: the revision becomes that of the source at least, and servers start from here on.
    pub(super) async fn finish(self, keys: u64, revision: Revision) -> Result<Moved, TransferError> {
        match self {
            Self::Etcd(mut import) => {
                import.outrun(revision).await?;
                Ok(Moved { keys, revision: import.finish().await? })
            }
            Self::Embedded(mut store) => {
                let revision = store.move_to(revision)?;
                store.publish()?;
                Ok(Moved { keys, revision })
            }
        }
    }
}

async fn reconcile_embedded(
    store: &mut FollowingStore,
    source: &mut Pages,
    report: Report<'_>,
) -> Result<u64, TransferError> {
    let revisions = if store.is_empty() { Some(revisions(source, report).await?) } else { None };
    store.begin_reading(revisions);
    let mut keys = 0;
    loop {
        let page = source.next_page().await?;
        if page.is_empty() {
            store.end_reading()?;
            return Ok(keys);
        }
        store.take(&page)?;
        keys += page.len() as u64;
        report(FollowEvent::Stage(Stage::Writing, keys));
    }
}

/// Reads the revisions of all keys, and rewinds.
async fn revisions(source: &mut Pages, report: Report<'_>) -> Result<Vec<Revision>, TransferError> {
    let mut revisions = Vec::new();
    loop {
        let page = source.next_page().await?;
        if page.is_empty() {
            source.rewind();
            return Ok(revisions);
        }
        revisions.extend(page.iter().map(|key| key.mod_revision));
        report(FollowEvent::Stage(Stage::Reading, revisions.len() as u64));
    }
}
