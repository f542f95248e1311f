//! Follows a collection: lists its objects, watches the changes after the list, resumes a watch that breaks where it was,
//! and lists again when changes may have been missed.
//!
//! | part | purpose |
//! |---|---|
//! | [`Source`] | the collection: a store of this process, or a list of another server |
//! | [`Sink`] | receives the objects and their changes |
//! | [`Reflector`] | the order of lists and watches, and the pauses after failures |
//! | [`Ended`] | the reasons for which a watch ends |
//!
//! The sink sees a consistent state: all objects at one revision, then every later change exactly once and in order.
//!
//! Kubernetes concept: [`Reflector`](https://pkg.go.dev/k8s.io/client-go/tools/cache#Reflector) of `client-go`.

use std::fmt::Display;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::{FutureExt as _, Stream};
use tokio::time::Instant;

use crate::storage::Revision;

mod arrived;
mod ended;
mod retry;
#[cfg(test)]
mod tests;

use arrived::Arrived;
pub use ended::Ended;
use retry::Retry;

/// Number of changes after which the sink is told that they are applied even if more have arrived already.
const MAX_UNREPORTED: usize = 16_384;

/// A collection that can be listed and watched.
pub trait Source: Send + Sync {
    /// An object of the collection.
    type Object: Send;
    /// The reason that the collection cannot be listed or watched.
    type Error: Display + Send + Sync;
    /// The events of a watch. Ends after its first error, and when the source ends the watch.
    type Changes: Stream<Item = Result<Event<Self::Object>, Self::Error>> + Send + Unpin;

    /// Lists all objects.
    ///
    /// # Errors
    /// Fails if the list, or a part of it, cannot be read.
    fn list(&self) -> impl Future<Output = Result<Listed<Self>, Self::Error>> + Send;

    /// Watches the changes after a revision.
    ///
    /// # Errors
    /// Fails if the watch cannot be opened.
    fn watch(&self, after: Revision) -> impl Future<Output = Result<Self::Changes, Self::Error>> + Send;

    /// Whether changes after the last revision are no longer available, or cannot be read, so that all objects must be
    /// listed again. (HTTP status 410.)
    fn is_gone(error: &Self::Error) -> bool;
}

/// The objects of a list.
pub struct Listed<S: Source + ?Sized> {
    /// All objects.
    pub objects: Vec<S::Object>,
    /// The revision of the list.
    pub revision: Revision,
    /// The changes after the list, if they arrive in the same stream as its objects (`sendInitialEvents`); otherwise they
    /// are watched from the revision on.
    pub changes: Option<S::Changes>,
}

/// An event of a watch.
#[derive(Clone, Debug)]
pub struct Event<O> {
    /// The revision that the watch has reached.
    pub revision: Revision,
    /// The change at that revision; `None` for a bookmark.
    pub change: Option<Change<O>>,
}

/// One change of an object.
#[derive(Clone, Debug)]
pub enum Change<O> {
    /// The object was created.
    Added(O),
    /// The object was updated.
    Modified(O),
    /// The object was deleted: its last state, with the revision of the deletion.
    Deleted(O),
}

/// Receives the objects of a collection. The calls are made one after the other.
pub trait Sink<O, E>: Send {
    /// Replaces everything: the result of a list. If it or another method panics, all objects are listed again.
    fn replaced(&mut self, objects: Vec<O>) -> impl Future<Output = ()> + Send;

    /// Applies one change. Changes arrive in order.
    fn changed(&mut self, change: Change<O>);

    /// Called when everything up to a revision was applied: a list, changes that have arrived together, or only a bookmark,
    /// in which case `is_changed` is false.
    fn reached(&mut self, _revision: Revision, _is_changed: bool) {}

    /// Called when a watch continues after it has ended.
    fn resumed(&mut self) {}

    /// Called when a list has failed or a watch has ended, before it is tried again. `in_a_row` is the number of such ends
    /// without a healthy watch between them.
    fn failed(&mut self, ended: &Ended<E>, in_a_row: u32);
}

/// Keeps a sink up to date with a source.
pub struct Reflector<S, K> {
    source: S,
    sink: K,
    gathering: Duration,
}

// === impl Change ===

impl<O> Change<O> {
    /// Returns the object: its present state, or its last one.
    pub const fn object(&self) -> &O {
        match self {
            Self::Added(object) | Self::Modified(object) | Self::Deleted(object) => object,
        }
    }
}

// === impl Reflector ===

impl<S: Source, K: Sink<S::Object, S::Error>> Reflector<S, K> {
    /// Creates a reflector. It does nothing until it [runs](Self::run).
    pub const fn new(source: S, sink: K) -> Self {
        Self { source, sink, gathering: Duration::ZERO }
    }

    /// Waits this long after a change for further ones before the sink is told that they are [applied](Sink::reached); by
    /// default not at all.
    #[must_use]
    pub const fn gathering(mut self, duration: Duration) -> Self {
        self.gathering = duration;
        self
    }

    /// Lists and watches until it is dropped. Each attempt after a failure waits longer than the one before, up to a limit.
    pub async fn run(mut self) {
        let mut position = None;
        let mut retry = Retry::default();
        loop {
            let began = Instant::now();
            let followed = AssertUnwindSafe(self.follow(&mut position)).catch_unwind().await;
            let ended = followed.unwrap_or(Ended::Panicked);
            let pause = retry.after(began.elapsed());
            if matches!(ended, Ended::Gone(_) | Ended::Panicked) || !retry.may_resume() {
                position = None;
            }
            self.sink.failed(&ended, retry.failures());
            tokio::time::sleep(pause).await;
        }
    }

    /// Watches from a position on, or lists first if there is none, until the watch ends.
    async fn follow(&mut self, position: &mut Option<Revision>) -> Ended<S::Error> {
        let (mut changes, position) = match self.begin(position).await {
            Ok(begun) => begun,
            Err(error) => return Ended::with::<S>(error),
        };
        let mut arrived = Arrived::default();
        loop {
            self.apply_arrived(&mut changes, &mut arrived, position).await;
            if let Some(ended) = arrived.ended() {
                return ended;
            }
        }
    }

    /// Opens a watch. Returns it with the position that it continues.
    async fn begin<'p>(
        &mut self,
        position: &'p mut Option<Revision>,
    ) -> Result<(S::Changes, &'p mut Revision), S::Error> {
        match position {
            Some(position) => {
                let changes = self.source.watch(*position).await?;
                self.sink.resumed();
                Ok((changes, position))
            }
            position => {
                let Listed { objects, revision, changes } = self.source.list().await?;
                self.sink.replaced(objects).await;
                self.sink.reached(revision, true);
                let position = position.insert(revision);
                let changes = match changes {
                    Some(changes) => changes,
                    None => self.source.watch(revision).await?,
                };
                Ok((changes, position))
            }
        }
    }

    /// Waits for an event, and applies it and all that have arrived with it.
    async fn apply_arrived(
        &mut self,
        changes: &mut S::Changes,
        arrived: &mut Arrived<S>,
        position: &mut Revision,
    ) {
        arrived.next(changes).await;
        let mut applied = self.apply(arrived, position);
        let until = Instant::now() + self.gathering;
        while applied > 0 && applied < MAX_UNREPORTED && arrived.may_continue(until) {
            tokio::task::yield_now().await;
            // If the time is over, this still takes what has arrived.
            if tokio::time::timeout_at(until, arrived.next(changes)).await.is_err() {
                break;
            }
            applied += self.apply(arrived, position);
        }
        self.sink.reached(*position, applied > 0);
    }

    /// Applies events. Returns the number of changes among them.
    fn apply(&mut self, arrived: &mut Arrived<S>, position: &mut Revision) -> usize {
        let mut applied = 0;
        for Event { revision, change } in arrived.events.drain(..) {
            if let Some(change) = change {
                self.sink.changed(change);
                applied += 1;
            }
            *position = (*position).max(revision);
        }
        applied
    }
}
