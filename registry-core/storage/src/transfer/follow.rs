//! Moves the keys of a store whose servers go on, until they are stopped.
//!
//! 1. *Synchronizing*: the keys are read at one revision and written to the destination. The history after that revision may be
//!    compacted meanwhile; then the keys are read again, and those that differ are written.
//! 2. *Following*: the changes after that revision are written in their order. A key gets a revision that is not smaller than in
//!    the source, so that a client never knows another state of it by the same revision.
//! 3. *Finishing*, which the operator asks for when the servers of the source are stopped: the source is read to its newest
//!    revision, and compared with the destination, key by key. Whatever is written to the source from then on is an error.
//!
//! The destination is not served until the end, and its history begins there.
//!
//! An etcd goes on without its servers. The server of an embedded store answers for it while it runs; when it has been stopped, and
//! the move is to be finished, the directory is read, and no server can use it any more ([`FollowedStore`]).

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::{Destination, Moved, Stage, TransferError};
use crate::Revision;
#[cfg(doc)]
use crate::embedded::moving::FollowedStore;
use crate::embedded::moving::FollowingStore;
use crate::etcd3::Etcd3;
use crate::etcd3::moving::EtcdImport;
use crate::moving_key::{Earlier, FollowedChanges};

mod source;
mod target;

pub use source::FollowSource;
use source::{Follower, Pages};
use target::{Report, Target};

/// Time for which changes are waited for at once; a request to finish is seen after it.
const WAIT: Duration = Duration::from_millis(200);
/// The same when the source is stopped and the move is to end.
const LAST_WAIT: Duration = Duration::from_millis(20);
/// Time without an answer of the destination after which it counts as gone.
const GONE_AFTER: Duration = Duration::from_secs(30);
/// Time between two questions for the newest revision of the source.
const LAG_PERIOD: Duration = Duration::from_secs(1);

/// An event of a move, for its display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowEvent {
    /// A stage of the work, and the number of keys done in it.
    Stage(Stage, u64),
    /// The history of the source was compacted before it was read: its keys are compared again.
    Compacted,
    /// Changes are followed.
    Following(Position),
    /// The server of the source has ended. It is waited for, and for the request to finish.
    Unserved,
    /// The request to finish was seen.
    Finishing,
}

/// The progress of a source that is followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// The number of keys when they were last read as a whole.
    pub keys: u64,
    /// The number of changes that were written since the command began.
    pub changes: u64,
    /// The revision of the source that the destination has reached.
    pub revision: Revision,
    /// The number of revisions that it is behind; 0 if it has caught up.
    pub behind: u64,
}

/// The operator's side of a move.
pub struct Control<'c> {
    /// Whether the servers of the source are stopped, and the move is to be finished.
    pub finish: watch::Receiver<bool>,
    /// Receives events.
    pub report: &'c mut (dyn FnMut(FollowEvent) + Send),
}

struct Follow<'c> {
    source: FollowSource,
    prefix: String,
    target: Target,
    position: Position,
    asked: Instant,
    /// Whether the source answered the last time.
    is_served: bool,
    control: Control<'c>,
}

/// Moves the keys of a store, below a prefix such as `/registry/`, while its servers write, until the move is to be finished.
///
/// # Errors
/// Fails if the destination is not empty or either store fails, and if the source is written while the move is finished. Nothing
/// is served then. An etcd keeps what was written to it, for a move that resumes this one.
pub async fn follow(
    source: FollowSource,
    prefix: &str,
    destination: &Destination,
    earlier: Earlier,
    control: Control<'_>,
) -> Result<Moved, TransferError> {
    // Before anything is written.
    let mut follower = source.follower(prefix, 0);
    let needed = source.pages(prefix).await?.revision();
    let target = match destination {
        Destination::Embedded(directory) => Target::Embedded(Box::new(FollowingStore::create(directory)?)),
        Destination::Etcd(etcd) => begin(etcd, prefix, earlier, needed, control.report).await?,
    };
    let (prefix, position, asked) = (prefix.to_owned(), Position::default(), Instant::now());
    let mut follow = Follow { source, prefix, target, position, asked, is_served: true, control };
    loop {
        follow.synchronize(&mut follower).await?;
        match follow.run(&mut follower).await {
            Err(error) if error.is_compacted() => {
                (follow.control.report)(FollowEvent::Compacted);
            }
            Err(error) => return Err(error),
            Ok(Moved { keys, revision }) => return follow.target.finish(keys, revision).await,
        }
    }
}

/// Begins or resumes an import into an etcd, whose revision becomes that of the source at least.
async fn begin(
    etcd: &Arc<Etcd3>,
    prefix: &str,
    earlier: Earlier,
    needed: Revision,
    report: Report<'_>,
) -> Result<Target, TransferError> {
    let now = registry_meta::time::now();
    let mut import = EtcdImport::begin(etcd.clone(), prefix, earlier, &now).await?;
    if earlier != Earlier::Resumed {
        import.raise(needed, &mut |done| report(FollowEvent::Stage(Stage::Raising, done))).await?;
    }
    Ok(Target::Etcd(Box::new(import)))
}

// === impl Follow ===

impl Follow<'_> {
    /// Makes the keys of the destination those of the source at its newest revision, after which changes are followed.
    async fn synchronize(&mut self, follower: &mut Follower) -> Result<(), TransferError> {
        loop {
            let mut reader = self.source.pages(&self.prefix).await?;
            let revision = reader.revision();
            match self.target.reconcile(&mut reader, self.control.report).await {
                Err(error) if error.is_compacted() => {
                    (self.control.report)(FollowEvent::Compacted);
                }
                Err(error) => return Err(error),
                Ok(keys) => {
                    *follower = self.source.follower(&self.prefix, revision);
                    self.position = Position { keys, revision, ..self.position };
                    return Ok(());
                }
            }
        }
    }

    /// Follows the source until the move is to be finished, and compares the stores then. Returns the number of keys, and the
    /// newest revision of the source.
    async fn run(&mut self, follower: &mut Follower) -> Result<Moved, TransferError> {
        while !*self.control.finish.borrow() {
            let followed = follower.next(WAIT).await?;
            self.apply(&followed).await?;
            self.report_position(&followed).await;
            self.report_end_of_server().await;
        }
        (self.control.report)(FollowEvent::Finishing);
        let mut reader = self.source.pages(&self.prefix).await?;
        let (last, read_at) = (reader.revision(), Instant::now());
        let mut ended = 0;
        while !follower.has_reached(last, read_at) {
            let followed = follower.next(LAST_WAIT).await?;
            let (before, late): (Vec<_>, Vec<_>) =
                followed.changes.into_iter().partition(|change| change.revision() <= last);
            self.apply(&FollowedChanges { revision: followed.revision.min(last), changes: before }).await?;
            self.target.refuse(&late).await?;
            ended += late.len() as u64;
        }
        let keys = self.target.verify(&mut reader, self.control.report).await?;
        self.refuse_late_writes(&reader, follower, keys - ended.min(keys)).await?;
        let revision = self.source.newest().await?;
        Ok(Moved { keys, revision })
    }

    /// Fails if the source was written after its last state was read, other than by the ends of keys with a time to live.
    async fn refuse_late_writes(
        &mut self,
        pages: &Pages,
        follower: &mut Follower,
        mut keys: u64,
    ) -> Result<(), TransferError> {
        let Pages::Etcd(reader) = pages else {
            let (newest, read_at) = (self.source.newest().await?, Instant::now());
            while !follower.has_reached(newest, read_at) {
                self.target.refuse(&follower.next(LAST_WAIT).await?.changes).await?;
            }
            return Ok(());
        };
        let (written, present) = reader.since().await.map_err(TransferError::from)?;
        if let Some((key, revision)) = written {
            return Err(TransferError::SourceWritten { key, revision });
        }
        // Nothing was written: each key that is missing was deleted, once.
        while keys > present {
            let followed = follower.next(LAST_WAIT).await?;
            self.target.refuse(&followed.changes).await?;
            keys = keys.saturating_sub(followed.changes.len() as u64);
        }
        Ok(())
    }

    /// Writes changes. They can be written again without harm while the destination does not answer.
    async fn apply(&mut self, followed: &FollowedChanges) -> Result<(), TransferError> {
        let deadline = Instant::now() + GONE_AFTER;
        loop {
            match self.target.apply(&followed.changes).await {
                Ok(()) => break,
                Err(error) if error.is_transient() && Instant::now() < deadline => sleep(WAIT).await,
                Err(error) => return Err(error),
            }
        }
        self.position.changes += followed.changes.len() as u64;
        self.position.revision = followed.revision;
        Ok(())
    }

    /// Reports that the server of the source has ended, once.
    async fn report_end_of_server(&mut self) {
        let was_served = std::mem::replace(&mut self.is_served, self.source.is_reached().await);
        if was_served && !self.is_served {
            (self.control.report)(FollowEvent::Unserved);
        }
    }

    /// Reports the position of the destination. Changes that have just come do not say how many follow: the source is asked, now and
    /// then.
    async fn report_position(&mut self, followed: &FollowedChanges) {
        if self.asked.elapsed() < LAG_PERIOD {
            return;
        }
        self.asked = Instant::now();
        // A source that does not answer is told when its watch fails.
        if let Some(newest) = self.source.newest_known().await {
            let is_idle = followed.changes.is_empty();
            self.position.behind = if is_idle { 0 } else { newest.saturating_sub(followed.revision) };
            (self.control.report)(FollowEvent::Following(self.position));
        }
    }
}
