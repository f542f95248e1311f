//! An embedded store that a move follows: by way of the server that uses it, and in its directory when that server has ended.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::UnixStream;
use tokio::sync::{Mutex, watch};
use tokio::time::{Instant, sleep, timeout};

use super::super::directory::{has_log, lock_to_read};
use super::super::load::Loaded;
use super::super::maintenance::{ClosedStore, MaintenanceError, reach_server};
use super::super::record::{Kind, Record};
use super::super::socket::{PATIENCE, Purpose};
use super::super::state::SharedEngine;
use super::super::{OpenError, Revision};
use super::moving_key;
use super::questions::{Answer, Found, Question, QuestionKind, answer};
use crate::directory_lock::DirectoryLock;
use crate::moving_key::{FollowedChange, FollowedChanges, MovingKey};
use crate::mvcc::prefix_end;

/// Time without anybody who serves the store after which it counts as gone.
const GONE_AFTER: Duration = Duration::from_secs(30);
/// Pause between attempts to reach a store.
const PAUSE: Duration = Duration::from_millis(100);

/// A store cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum FollowedStoreError {
    /// The store cannot be read. Retryable as [`MaintenanceError`] says.
    #[error(transparent)]
    Store(#[from] MaintenanceError),
    /// No server uses the store when the move begins. Not retryable.
    #[error(
        "no server uses the store in {}, so that there is nothing to follow: leave --follow out, and it is moved at once",
        directory.display()
    )]
    NotServed {
        /// The directory of the store.
        directory: PathBuf,
    },
    /// The history was compacted before it was read. Retryable.
    #[error("the history of the store was compacted before it was read")]
    Compacted,
    /// The server has ended before all keys were read, or its store is held by another process. Retryable.
    #[error("no server sends the store in {} for {} s", directory.display(), GONE_AFTER.as_secs())]
    Gone {
        /// The directory of the store.
        directory: PathBuf,
    },
    /// The server refuses. Retryable, once the cause is gone.
    #[error("the server that uses the store in {} does not send it: {reason}", directory.display())]
    Refused {
        /// The directory of the store.
        directory: PathBuf,
        /// The reason.
        reason: String,
    },
}

/// An embedded store that a server uses, or has used until the move was to be finished. A clone shares the connection.
#[derive(Clone)]
pub struct FollowedStore {
    /// A connection carries one question at a time.
    connection: Arc<Mutex<Connection>>,
}

/// The way to a store.
struct Connection {
    directory: PathBuf,
    /// Whether the server is going to be stopped: then the directory is opened when the server has ended.
    finish: watch::Receiver<bool>,
    reached: Reached,
    newest: Revision,
}

/// The side that answers questions.
enum Reached {
    Nobody,
    Server(UnixStream),
    /// The directory, which no server can use from now on.
    Directory {
        shared: Arc<SharedEngine>,
        _lock: DirectoryLock,
    },
}

/// Reads the keys of a store below a prefix, at one revision.
pub struct StorePages {
    store: FollowedStore,
    prefix: String,
    /// The key to read next.
    next: String,
    revision: Revision,
}

/// Reads the changes of a store below a prefix.
pub struct StoreFollower {
    store: FollowedStore,
    prefix: String,
    followed: Revision,
}

// === impl FollowedStore ===

impl FollowedStore {
    /// Connects to the server that uses the store in a directory. When `finish` is true, and the server has ended, the directory
    /// itself is read.
    ///
    /// # Errors
    /// Fails if there is no store, if no server uses it, or if the server does not serve commands of this version.
    pub async fn connect(
        directory: &Path,
        finish: watch::Receiver<bool>,
    ) -> Result<Self, FollowedStoreError> {
        let directory = directory.to_owned();
        let locked = match lock_to_read(&directory) {
            Err(locked @ OpenError::Locked { .. }) => locked,
            Err(error) => return Err(MaintenanceError::from(error).into()),
            Ok(_lock) => {
                let has_log = has_log(&directory).map_err(|error| OpenError::new(&directory, error));
                if has_log.map_err(MaintenanceError::from)? {
                    return Err(FollowedStoreError::NotServed { directory });
                }
                let source = std::io::Error::new(std::io::ErrorKind::NotFound, "there is no store");
                return Err(MaintenanceError::Io { path: directory, source }.into());
            }
        };
        let reached = Reached::connect(&directory).await?;
        if matches!(reached, Reached::Nobody) {
            return Err(MaintenanceError::from(locked).into());
        }
        let connection = Connection { directory, finish, reached, newest: 0 };
        Ok(Self { connection: Arc::new(Mutex::new(connection)) })
    }

    /// Returns the newest revision.
    ///
    /// # Errors
    /// Fails if nobody serves the store for half a minute.
    pub async fn newest(&self) -> Result<Revision, FollowedStoreError> {
        let nothing =
            Question { kind: QuestionKind::Page { at: 0 }, start: String::new(), end: String::new() };
        Ok(self.connection.lock().await.ask(&nothing).await?.newest)
    }

    /// Returns the newest revision that an answer named.
    pub async fn newest_known(&self) -> Revision {
        self.connection.lock().await.newest
    }

    /// Whether somebody answers questions.
    pub async fn is_reached(&self) -> bool {
        !matches!(self.connection.lock().await.reached, Reached::Nobody)
    }

    /// Begins to read the keys below a prefix such as `/registry/`, in their present state.
    ///
    /// # Errors
    /// As [`newest`](Self::newest).
    pub async fn pages(&self, prefix: &str) -> Result<StorePages, FollowedStoreError> {
        let revision = self.newest().await?;
        let prefix = prefix.to_owned();
        Ok(StorePages { store: self.clone(), next: prefix.clone(), prefix, revision })
    }

    /// Begins to follow the keys below a prefix such as `/registry/`, after a revision.
    pub fn follower(&self, prefix: &str, after: Revision) -> StoreFollower {
        StoreFollower { store: self.clone(), prefix: prefix.to_owned(), followed: after }
    }
}

// === impl Connection ===

impl Connection {
    /// Asks until somebody answers.
    async fn ask(&mut self, question: &Question) -> Result<Found, FollowedStoreError> {
        let deadline = Instant::now() + GONE_AFTER;
        loop {
            if let Some(found) = self.try_ask(question).await? {
                return Ok(found);
            }
            if Instant::now() >= deadline {
                return Err(FollowedStoreError::Gone { directory: self.directory.clone() });
            }
            sleep(PAUSE).await;
        }
    }

    /// Asks; `None` if nobody answers now.
    async fn try_ask(&mut self, question: &Question) -> Result<Option<Found>, FollowedStoreError> {
        if matches!(self.reached, Reached::Nobody) {
            self.reached = Reached::connect(&self.directory).await?;
        }
        if matches!(self.reached, Reached::Nobody) && *self.finish.borrow() {
            self.reached = Reached::open(&self.directory).await?;
        }
        let answer = match &mut self.reached {
            Reached::Nobody => return Ok(None),
            Reached::Directory { shared, .. } => answer(shared, question.clone()).await,
            Reached::Server(stream) => match timeout(PATIENCE, question.ask(stream)).await {
                Ok(Ok(answer)) => answer,
                failed => {
                    tracing::debug!(?failed, "the server of the source does not answer");
                    self.reached = Reached::Nobody;
                    return Ok(None);
                }
            },
        };
        match answer {
            Answer::Found(found) => {
                self.newest = found.newest;
                Ok(Some(found))
            }
            Answer::Compacted => Err(FollowedStoreError::Compacted),
            Answer::Failed(reason) => {
                Err(FollowedStoreError::Refused { directory: self.directory.clone(), reason })
            }
        }
    }
}

// === impl Reached ===

impl Reached {
    /// Connects to the server, if there is one.
    async fn connect(directory: &Path) -> Result<Self, FollowedStoreError> {
        let path = directory.to_owned();
        let connecting = tokio::task::spawn_blocking(move || reach_server(&path, Purpose::Follow));
        let Ok(connected) = connecting.await else { return Ok(Self::Nobody) };
        let stream = match connected {
            Ok(None) | Err(MaintenanceError::Interrupted { .. }) => return Ok(Self::Nobody),
            Ok(Some(stream)) => stream,
            Err(error) => return Err(error.into()),
        };
        let failed = |source| MaintenanceError::Io { path: directory.to_owned(), source };
        stream.set_nonblocking(true).map_err(failed)?;
        Ok(Self::Server(UnixStream::from_std(stream).map_err(failed)?))
    }

    /// Opens the directory, unless a server uses it.
    async fn open(directory: &Path) -> Result<Self, FollowedStoreError> {
        let path = directory.to_owned();
        let opening = tokio::task::spawn_blocking(move || {
            let ClosedStore { log, lock } = ClosedStore::open(&path)?;
            let loaded = Loaded::from_log(&log).map_err(|error| OpenError::new(&path, error))?;
            Ok((log, lock, loaded))
        });
        let Ok(opened) = opening.await else { return Ok(Self::Nobody) };
        let (log, lock, loaded) = match opened {
            Err(MaintenanceError::Open(OpenError::Locked { .. })) => return Ok(Self::Nobody),
            opened => opened?,
        };
        let Loaded { index, current, compacted, .. } = loaded;
        let shared = SharedEngine::new(Box::new(log), index, current, compacted);
        Ok(Self::Directory { shared, _lock: lock })
    }
}

// === impl StorePages ===

impl StorePages {
    /// Returns the revision that is read.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Begins again with the first key, of the same revision.
    pub fn rewind(&mut self) {
        self.next.clone_from(&self.prefix);
    }

    /// Returns the next keys, in order; none at the end.
    ///
    /// # Errors
    /// Fails if the revision was compacted, or if nobody serves the store for half a minute.
    pub async fn next_page(&mut self) -> Result<Vec<MovingKey>, FollowedStoreError> {
        let kind = QuestionKind::Page { at: self.revision };
        let question = Question { kind, start: self.next.clone(), end: prefix_end(&self.prefix) };
        let found = self.store.connection.lock().await.ask(&question).await?;
        if let Some(last) = found.records.last() {
            self.next = format!("{}\0", last.key);
        }
        Ok(found.records.into_iter().map(moving_key).collect())
    }
}

// === impl StoreFollower ===

impl StoreFollower {
    /// Whether all changes up to a revision have been returned.
    pub fn has_reached(&self, revision: Revision) -> bool {
        self.followed >= revision
    }

    /// Returns the next changes, or none if there are none within about this time, or if nobody serves the store now.
    ///
    /// # Errors
    /// Fails if the history after the changes that were returned was compacted; and if the move is to be finished, and nobody
    /// serves the store for half a minute.
    pub async fn next(&mut self, wait: Duration) -> Result<FollowedChanges, FollowedStoreError> {
        let kind = QuestionKind::Changes { after: self.followed, wait };
        let (start, end) = (self.prefix.clone(), prefix_end(&self.prefix));
        let question = Question { kind, start, end };
        let mut connection = self.store.connection.lock().await;
        let is_last = *connection.finish.borrow();
        let found = if is_last {
            Some(connection.ask(&question).await?)
        } else {
            connection.try_ask(&question).await?
        };
        drop(connection);
        let Some(Found { revision, records, .. }) = found else {
            sleep(wait).await;
            return Ok(FollowedChanges { revision: self.followed, changes: Vec::new() });
        };
        self.followed = revision;
        Ok(FollowedChanges { revision, changes: records.into_iter().map(change).collect() })
    }
}

fn change(record: Record<String>) -> FollowedChange {
    if record.kind == Kind::Delete {
        return FollowedChange::Delete { key: record.key, revision: record.revision };
    }
    FollowedChange::Put(moving_key(record))
}
