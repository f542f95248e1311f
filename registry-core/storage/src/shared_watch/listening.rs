//! The stream of one listener.

use std::sync::Arc;

use futures::StreamExt as _;

use crate::mvcc::{ChangeBatch, ChangeStream, MvccError};

use super::SharedWatch;
use super::queue::Delivery;
use super::routes::Subscription;

/// A watch through the shared watch; dropping it removes its subscription.
pub(super) struct Listening {
    shared_watch: Arc<SharedWatch>,
    subscription: Subscription,
    /// The engine's own watch, until it has reached the point where the shared watch continues.
    past: Option<ChangeStream>,
    is_over: bool,
}

// === impl Listening ===

impl Listening {
    pub(super) fn new(shared_watch: Arc<SharedWatch>, subscription: Subscription) -> Self {
        Self { shared_watch, subscription, past: None, is_over: false }
    }

    /// Whether the engine must deliver past changes, because the shared watch does not remember them.
    pub(super) fn lacks_past(&self) -> bool {
        self.subscription.missing_until.is_some()
    }

    /// Returns the changes: those of a watch of the engine first, if there is one.
    pub(super) fn into_stream(mut self, past: Option<ChangeStream>) -> ChangeStream {
        self.past = past;
        futures::stream::unfold(self, |mut listening| async move {
            let item = listening.next().await?;
            Some((item, listening))
        })
        .boxed()
    }

    async fn next(&mut self) -> Option<Delivery> {
        if self.is_over {
            return None;
        }
        let next = loop {
            let from_past = self.past.is_some();
            let item = match &mut self.past {
                Some(past) => past.next().await,
                None => self.subscription.queue.next().await,
            };
            let item = item.unwrap_or_else(|| Err(MvccError::Unavailable("the watch fell behind".into())));
            let Ok(batch) = item else { break item };
            if let Some(batch) = self.take(batch, from_past) {
                break Ok(batch);
            }
        };
        self.is_over = next.is_err();
        Some(next)
    }

    /// Returns the new part of a batch; `None` if there is none.
    fn take(&mut self, mut batch: ChangeBatch, from_past: bool) -> Option<ChangeBatch> {
        let after = self.subscription.after;
        let had_changes = !batch.changes.is_empty();
        batch.changes.retain(|change| change.revision > after);
        if from_past && self.subscription.missing_until.is_none_or(|until| batch.revision >= until) {
            // From here on the shared watch delivers all changes; duplicates are dropped above.
            self.past = None;
        }
        let is_stale = batch.revision < after || (had_changes && batch.changes.is_empty());
        self.subscription.after = after.max(batch.revision);
        (!is_stale).then_some(batch)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.shared_watch.shared.routes.unsubscribe(&self.subscription.directory, self.subscription.number);
    }
}
