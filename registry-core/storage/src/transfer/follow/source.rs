//! The store that is followed: an etcd, or an embedded store.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::Revision;
use crate::embedded::moving::{FollowedStore, StoreFollower, StorePages};
use crate::etcd3::Etcd3;
use crate::etcd3::moving::{EtcdFollower, EtcdMoveError, EtcdReader};
use crate::moving_key::{FollowedChanges, KeyPages, MovingKey};
use crate::mvcc::Mvcc as _;
use crate::transfer::TransferError;

/// The store that is followed.
pub enum FollowSource {
    /// An etcd.
    Etcd(Arc<Etcd3>),
    /// An embedded store that a server uses.
    Embedded(FollowedStore),
}

/// Reads its keys at one revision.
pub(super) enum Pages {
    Etcd(EtcdReader),
    Embedded(StorePages),
}

/// Reads its changes.
pub(super) enum Follower {
    Etcd(Box<EtcdFollower>),
    Embedded(StoreFollower),
}

// === impl FollowSource ===

impl FollowSource {
    /// Begins to read the keys below a prefix such as `/registry/`, in their present state.
    pub(super) async fn pages(&self, prefix: &str) -> Result<Pages, TransferError> {
        match self {
            Self::Etcd(etcd) => Ok(Pages::Etcd(EtcdReader::open(etcd.clone(), prefix).await?)),
            Self::Embedded(store) => Ok(Pages::Embedded(store.pages(prefix).await?)),
        }
    }

    /// Begins to follow the keys below a prefix such as `/registry/`, after a revision.
    pub(super) fn follower(&self, prefix: &str, after: Revision) -> Follower {
        match self {
            Self::Etcd(etcd) => Follower::Etcd(Box::new(EtcdFollower::new(etcd.clone(), prefix, after))),
            Self::Embedded(store) => Follower::Embedded(store.follower(prefix, after)),
        }
    }

    /// Returns the newest revision.
    pub(super) async fn newest(&self) -> Result<Revision, TransferError> {
        match self {
            Self::Etcd(etcd) => Ok(etcd.current_revision().await.map_err(EtcdMoveError::from)?),
            Self::Embedded(store) => Ok(store.newest().await?),
        }
    }

    /// Returns the newest revision for a report, without waiting for a source that does not answer; `None` then.
    pub(super) async fn newest_known(&self) -> Option<Revision> {
        match self {
            Self::Etcd(etcd) => etcd.current_revision().await.ok(),
            Self::Embedded(store) => Some(store.newest_known().await),
        }
    }

    /// Whether the source answers. The watch of an etcd waits for it by itself.
    pub(super) async fn is_reached(&self) -> bool {
        match self {
            Self::Etcd(_) => true,
            Self::Embedded(store) => store.is_reached().await,
        }
    }
}

// === impl Pages ===

impl Pages {
    /// Returns the revision that is read.
    pub(super) fn revision(&self) -> Revision {
        match self {
            Self::Etcd(reader) => reader.revision(),
            Self::Embedded(pages) => pages.revision(),
        }
    }

    /// Begins again with the first key, of the same revision.
    pub(super) fn rewind(&mut self) {
        match self {
            Self::Etcd(reader) => reader.rewind(),
            Self::Embedded(pages) => pages.rewind(),
        }
    }
}

impl KeyPages for Pages {
    type Error = TransferError;

    async fn next_page(&mut self) -> Result<Vec<MovingKey>, TransferError> {
        match self {
            Self::Etcd(reader) => Ok(reader.next_page().await?),
            Self::Embedded(pages) => Ok(pages.next_page().await?),
        }
    }
}

// === impl Follower ===

impl Follower {
    /// Returns the next changes, or none if there are none within about this time.
    pub(super) async fn next(&mut self, wait: Duration) -> Result<FollowedChanges, TransferError> {
        match self {
            Self::Etcd(follower) => Ok(follower.next(wait).await?),
            Self::Embedded(follower) => Ok(follower.next(wait).await?),
        }
    }

    /// Whether all changes up to a revision that was read at some time have been returned.
    pub(super) fn has_reached(&self, revision: Revision, read_at: Instant) -> bool {
        match self {
            Self::Etcd(follower) => follower.has_reached(revision, read_at),
            Self::Embedded(follower) => follower.has_reached(revision),
        }
    }
}
