//! Keeps a cache filled: one list, then one watch; again when that breaks.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;

use crate::storage::Revision;
use crate::storage::error::{StorageError, WatchError};
use crate::storage::interface::{Interface, ListRequest, WatchRequest};

use super::state::{Snapshot, State};

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
    let from: Revision = state.snapshot().revision;
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
    let mut batches = stream.ready_chunks(BATCH);
    while let Some(batch) = batches.next().await {
        let mut failure = None;
        let happened = batch.into_iter().map_while(|item| item.map_err(|error| failure = Some(error)).ok());
        state.apply(happened);
        match failure {
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
