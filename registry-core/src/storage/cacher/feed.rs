//! Keeps a cache filled: one list, then one watch; again when that breaks.

use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::Peekable;

use crate::storage::Revision;
use crate::storage::error::{StorageError, WatchError};
use crate::storage::interface::{Interface, ListRequest, WatchEvent, WatchRequest, WatchStream};

use super::snapshots::Snapshot;
use super::state::State;

/// How many changes are taken in under one lock.
const BATCH: usize = 256;

/// How long to wait after a failure, at least and at most.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));

/// Why following ended.
enum Ended {
    /// The watch broke; it can go on from the last revision.
    Interrupted,
    /// What comes next is no longer to be had: list again.
    Lost,
    /// What came next cannot be read: the store itself has to tell, until that is mended.
    Unreadable,
}

/// Runs until its task is aborted.
pub(super) async fn run(inner: Arc<dyn Interface>, state: Arc<State>, prefix: String) {
    let mut backoff = BACKOFF.0;
    loop {
        match fill(&*inner, &state, &prefix).await {
            Ok(()) => backoff = BACKOFF.0,
            Err(error) => {
                tracing::warn!(%prefix, %error, "cannot fill the watch cache, trying again");
                tokio::time::sleep(backoff).await;
                backoff = (backoff * 2).min(BACKOFF.1);
                continue;
            }
        }
        loop {
            match follow(&*inner, &state, &prefix).await {
                Ended::Interrupted => {
                    tokio::time::sleep(backoff).await;
                    backoff = (backoff * 2).min(BACKOFF.1);
                }
                Ended::Lost => break,
                Ended::Unreadable => {
                    state.lose();
                    break;
                }
            }
        }
        tracing::info!(%prefix, "the history of the watch cache was lost, filling it again");
    }
}

async fn fill(inner: &dyn Interface, state: &State, prefix: &str) -> Result<(), StorageError> {
    let page = inner.list(prefix, &ListRequest { with_attributes: true, ..ListRequest::default() }).await?;
    let objects = page.items.into_iter().map(|object| (object.key.clone(), object)).collect();
    // A store whose history has not begun still counts as filled.
    state.fill(Snapshot { revision: page.revision.max(1), objects });
    Ok(())
}

async fn follow(inner: &dyn Interface, state: &State, prefix: &str) -> Ended {
    let from = state.reached();
    let request = WatchRequest {
        revision: Some(from),
        send_initial_events: Some(false),
        bookmarks: true,
        ..WatchRequest::default()
    };
    let stream = match inner.watch(prefix, &request).await {
        Ok(stream) => stream,
        Err(StorageError::Compacted { .. }) => return Ended::Lost,
        Err(_) => return Ended::Interrupted,
    };
    let mut stream = stream.peekable();
    while let Some(batch) = next_batch(&mut stream).await {
        state.apply(batch.events);
        match batch.failure {
            Some(WatchError::Compacted { .. }) => return Ended::Lost,
            Some(error @ WatchError::Corrupt { .. }) => {
                tracing::error!(%prefix, %error, "the watch cache cannot take in what is stored");
                return Ended::Unreadable;
            }
            Some(error) => {
                tracing::warn!(%prefix, %error, "the watch behind the cache ended, watching again");
                return Ended::Interrupted;
            }
            None => {}
        }
    }
    Ended::Interrupted
}

/// What happened, in whole revisions, and why there will be no more.
#[derive(Default)]
struct Batch {
    events: Vec<WatchEvent>,
    failure: Option<WatchError>,
}

/// Waits for an event, and takes what is ready beside it. Many keys may change at one revision (a lease of etcd
/// ends with all its keys): readers must see all of that or nothing. A store hands the events of a revision over
/// together, so that a batch that ends where nothing is ready ends with a whole revision; one that is large
/// enough goes on to the end of its last one.
async fn next_batch(stream: &mut Peekable<WatchStream>) -> Option<Batch> {
    let mut batch = Batch::default();
    let mut next = stream.next().await;
    while let Some(item) = next {
        match item {
            Ok(event) => batch.events.push(event),
            Err(failure) => {
                batch.failure = Some(failure);
                return Some(batch);
            }
        }
        let last = batch.events.last().map(revision_of);
        let full = batch.events.len() >= BATCH;
        let mut fitting =
            Pin::new(&mut *stream).next_if(|item| !full || item.as_ref().ok().map(revision_of) == last);
        next = match futures::poll!(&mut fitting) {
            Poll::Ready(item) => item,
            Poll::Pending => None,
        };
    }
    (!batch.events.is_empty()).then_some(batch)
}

fn revision_of(event: &WatchEvent) -> Revision {
    match event {
        WatchEvent::Added(object) | WatchEvent::Modified(object) | WatchEvent::Deleted(object) => {
            object.revision
        }
        WatchEvent::Bookmark { revision, .. } => *revision,
    }
}
