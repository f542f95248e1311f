//! Watches: one gRPC stream each, so that a slow watcher delays only itself (HTTP/2 flow control reaches back to
//! etcd), converted into batches of whole revisions.
//!
//! Fragments are not requested: etcd then sends every revision in one message, as the contract requires.

use std::sync::Arc;

use etcd_client::{Event, EventType, WatchOptions, WatchRequestSender, WatchResponse, WatchResponseStream};
use futures::StreamExt as _;
use futures::stream;
use tokio::sync::watch;

use crate::Revision;
use crate::mvcc::{Change, ChangeBatch, ChangeStream, MvccError};

use super::connection::{Connection, Safety};
use super::errors::{Failure, unavailable};
use super::{signed, text, unsigned};

/// Opens watches, and requests progress on all of them.
pub(super) struct Watches {
    connection: Arc<Connection>,
    /// Counts requests for progress; every running watch forwards them.
    progress: watch::Sender<u64>,
    /// Whether etcd's progress responses are reliable.
    safe_progress: bool,
}

/// A running watch.
struct Watch {
    requests: WatchRequestSender,
    responses: WatchResponseStream,
    progress: watch::Receiver<u64>,
    /// All changes up to this revision have been delivered.
    delivered: Revision,
    ended: bool,
}

// === impl Watches ===

impl Watches {
    pub(super) fn new(connection: Arc<Connection>, safe_progress: bool) -> Self {
        Self { connection, progress: watch::Sender::new(0), safe_progress }
    }

    /// See [`Mvcc::watch`](crate::mvcc::Mvcc::watch).
    pub(super) async fn open(
        &self,
        start: &str,
        end: &str,
        after: Revision,
    ) -> Result<ChangeStream, MvccError> {
        let options = WatchOptions::new()
            .with_range(end)
            .with_start_revision(signed(after + 1))
            .with_prev_key()
            .with_progress_notify();
        let opened = self
            .connection
            .call(Safety::Read, || {
                let mut client = self.connection.watch();
                let start = start.to_owned();
                let options = options.clone();
                async move { client.watch(start, Some(options)).await }
            })
            .await?;
        let (requests, responses) = opened.split();
        let progress = self.progress.subscribe();
        let watch = Watch { requests, responses, progress, delivered: after, ended: false };
        Ok(stream::unfold(watch, |mut watch| async move {
            let item = watch.next().await?;
            Some((item, watch))
        })
        .boxed())
    }

    /// See [`Mvcc::request_progress`](crate::mvcc::Mvcc::request_progress).
    pub(super) fn request_progress(&self) -> Result<(), MvccError> {
        if !self.safe_progress {
            return Err(unavailable(
                "this etcd's progress notifications can overtake changes; it is too old",
            ));
        }
        self.progress.send_modify(|count| *count += 1);
        Ok(())
    }
}

// === impl Watch ===

impl Watch {
    async fn next(&mut self) -> Option<Result<ChangeBatch, MvccError>> {
        while !self.ended {
            let response = tokio::select! {
                response = self.responses.message() => response,
                Ok(()) = self.progress.changed() => {
                    // If the stream has ended, the next message reports it.
                    let _ = self.requests.request_progress().await;
                    continue;
                }
            };
            let batch = match response {
                Ok(Some(response)) => self.batch(&response),
                Ok(None) => Err(unavailable("etcd ended the watch")),
                Err(error) => Err(unavailable(Failure::from(error))),
            };
            match batch {
                Ok(None) => {}
                Ok(Some(batch)) => return Some(Ok(batch)),
                Err(error) => {
                    self.ended = true;
                    return Some(Err(error));
                }
            }
        }
        None
    }

    /// Returns the changes in a response; `None` for a response without news for the watcher.
    fn batch(&mut self, response: &WatchResponse) -> Result<Option<ChangeBatch>, MvccError> {
        if response.compact_revision() > 0 {
            return Err(self.compacted(unsigned(response.compact_revision())));
        }
        if response.canceled() {
            return Err(unavailable(format!("etcd cancelled the watch: {}", response.cancel_reason())));
        }
        if response.created() {
            return Ok(None);
        }
        let changes =
            response.events().iter().map(|event| self.change(event)).collect::<Result<Vec<_>, _>>()?;
        // With changes, the header's revision may be ahead of them: only the received changes count as delivered.
        let revision = match changes.last() {
            Some(last) => last.revision,
            None => response.header().map_or(0, |header| unsigned(header.revision())),
        };
        self.delivered = self.delivered.max(revision);
        Ok(Some(ChangeBatch { revision: self.delivered, changes }))
    }

    fn change(&self, event: &Event) -> Result<Change, MvccError> {
        let present = event.kv().ok_or_else(|| unavailable("etcd sent a change without a key"))?;
        let revision = unsigned(present.mod_revision());
        let deleted = event.event_type() == EventType::Delete;
        let created = !deleted && present.create_revision() == present.mod_revision();
        let previous = event.prev_kv().map(|previous| previous.value().to_vec().into());
        if previous.is_none() && !created {
            // The previous state has been compacted: whether it matched a selector is unknown.
            return Err(self.compacted(revision));
        }
        let value = (!deleted).then(|| present.value().to_vec().into());
        Ok(Change { key: text(present.key()), revision, value, previous })
    }

    fn compacted(&self, oldest: Revision) -> MvccError {
        MvccError::Compacted { requested: self.delivered, oldest }
    }
}
