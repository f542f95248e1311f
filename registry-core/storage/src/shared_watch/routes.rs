//! Distributes changes to listeners.

use std::collections::{HashMap, VecDeque};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

use crate::Revision;
use crate::mvcc::{Change, ChangeBatch, MvccError};

use super::queue::{self, change_bytes, queue};

/// Limits of the remembered past, in changes and in bytes. The past lets a client that lists and then watches miss
/// nothing.
pub(super) const PAST: (usize, usize) = (2048, 4 * 1024 * 1024);

/// The listeners, by the directory they watch.
#[derive(Default)]
pub(super) struct Routes {
    table: Mutex<Table>,
    has_begun: watch::Sender<bool>,
}

#[derive(Default)]
struct Table {
    /// All changes up to this revision have been delivered; `None` before the beginning.
    delivered: Option<Revision>,
    directories: HashMap<Box<str>, Vec<Listener>>,
    /// Clients that wait for this revision to be reached.
    awaited: Vec<(u64, Revision)>,
    past: VecDeque<Change>,
    past_bytes: usize,
    /// The past is complete after this revision.
    past_floor: Revision,
    /// The engine was asked to compact below this revision, which may not have been delivered yet.
    compacted: Revision,
    numbers: u64,
}

struct Listener {
    number: u64,
    client: u64,
    after: Revision,
    /// The newest revision that the queue has shown it; 0 before the first.
    shown: Revision,
    queue: queue::Sender,
}

/// A listener's subscription: its queue, and the range of revisions it receives.
pub(super) struct Subscription {
    pub(super) directory: Box<str>,
    pub(super) number: u64,
    pub(super) queue: queue::Receiver,
    /// Changes after this revision are delivered.
    pub(super) after: Revision,
    /// The engine must deliver the changes up to this revision; `None`: the shared watch delivers all of them.
    pub(super) missing_until: Option<Revision>,
}

// === impl Routes ===

impl Routes {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock()
    }

    pub(super) fn next_number(&self) -> u64 {
        let mut table = self.table();
        table.numbers += 1;
        table.numbers
    }

    pub(super) fn delivered(&self) -> Option<Revision> {
        self.table().delivered
    }

    /// Starts delivering changes.
    pub(super) fn begin(&self, revision: Revision) {
        let mut table = self.table();
        table.delivered = Some(revision);
        table.past_floor = revision;
        drop(table);
        self.has_begun.send_replace(true);
    }

    /// Waits until changes are delivered.
    pub(super) async fn begun(&self) {
        // `self` holds the sender: the channel cannot be closed.
        let _ = self.has_begun.subscribe().wait_for(|begun| *begun).await;
    }

    /// Continues at a later revision: the changes before it are unavailable. Ends the listeners that still wait for
    /// some of them, and returns their number.
    pub(super) fn skip_to(&self, revision: Revision, why: &MvccError) -> usize {
        let mut table = self.table();
        table.past.clear();
        table.past_bytes = 0;
        table.past_floor = revision;
        table.delivered = Some(revision);
        let mut ended = 0;
        for listeners in table.directories.values_mut() {
            for listener in listeners.extract_if(.., |listener| listener.after < revision) {
                ended += 1;
                // A full queue ends with an error as well.
                listener.queue.send(Err(why.clone()));
            }
        }
        table.directories.retain(|_, listeners| !listeners.is_empty());
        table.tell_awaited();
        ended
    }

    /// Delivers a batch.
    pub(super) fn deliver(&self, batch: ChangeBatch) {
        let mut table = self.table();
        let table = &mut *table;
        let revision = batch.revision;
        let mut parts: HashMap<&str, Vec<&Change>> = HashMap::new();
        for run in batch.changes.chunk_by(|before, next| parent(&before.key) == parent(&next.key)) {
            let Some(first) = run.first() else { continue };
            for directory in directories(&first.key).filter(|own| table.directories.contains_key(*own)) {
                parts.entry(directory).or_default().extend(run);
            }
        }
        for (directory, part) in parts {
            // Drops a listener that is gone or does not keep up; its queue then ends.
            table.retain(directory, |own| {
                let changes = part.iter().filter(|change| change.revision > own.after);
                let changes: Vec<_> = changes.map(|change| Change::clone(change)).collect();
                if changes.is_empty() {
                    return true;
                }
                own.shown = revision;
                own.queue.send(Ok(ChangeBatch { revision, changes }))
            });
        }
        for change in batch.changes {
            table.remember(change);
        }
        table.delivered = table.delivered.max(Some(revision));
        table.tell_awaited();
    }

    /// Subscribes to a directory from a revision on; `None` before the beginning.
    pub(super) fn subscribe(&self, client: u64, directory: &str, after: Revision) -> Option<Subscription> {
        let mut table = self.table();
        let delivered = table.delivered?;
        table.numbers += 1;
        let number = table.numbers;
        let (queue, receiver) = queue();
        let is_complete = after >= table.past_floor.max(table.compacted);
        let mut shown = 0;
        if is_complete && after < delivered {
            shown = delivered;
            let missed = table
                .past
                .iter()
                .filter(|change| change.revision > after && change.key.starts_with(directory));
            let changes: Vec<_> = missed.cloned().collect();
            // Also without changes: a listener that begins in the past thus learns the current progress.
            queue.send(Ok(ChangeBatch { revision: delivered, changes }));
        }
        let listener = Listener { number, client, after: after.max(delivered), shown, queue };
        table.directories.entry(directory.into()).or_default().push(listener);
        let missing_until = (!is_complete).then_some(delivered);
        Some(Subscription { directory: directory.into(), number, queue: receiver, after, missing_until })
    }

    /// Returns the number of listeners of a directory.
    #[cfg(all(test, feature = "embedded"))]
    pub(super) fn listeners(&self, directory: &str) -> usize {
        self.table().directories.get(directory).map_or(0, Vec::len)
    }

    /// Removes a subscription.
    pub(super) fn unsubscribe(&self, directory: &str, number: u64) {
        self.table().retain(directory, |listener| listener.number != number);
    }

    /// Sends progress to a client's listeners once `revision` is reached. Returns whether it is reached already.
    pub(super) fn progress(&self, client: u64, revision: Revision) -> bool {
        let mut table = self.table();
        table.awaited.retain(|(own, _)| *own != client);
        table.awaited.push((client, revision));
        table.tell_awaited();
        !table.awaited.iter().any(|(own, _)| *own == client)
    }

    /// Marks the past before this revision as unavailable.
    pub(super) fn forget_before(&self, revision: Revision) {
        let mut table = self.table();
        while table.past.front().is_some_and(|change| change.revision <= revision) {
            table.forget_oldest();
        }
        table.compacted = table.compacted.max(revision);
    }
}

// === impl Table ===

impl Table {
    fn retain(&mut self, directory: &str, keep: impl FnMut(&mut Listener) -> bool) {
        if let Some(listeners) = self.directories.get_mut(directory) {
            listeners.retain_mut(keep);
            if listeners.is_empty() {
                self.directories.remove(directory);
            }
        }
    }

    fn tell_awaited(&mut self) {
        let Some(revision) = self.delivered.filter(|_| !self.awaited.is_empty()) else { return };
        let reached: Vec<u64> = self
            .awaited
            .extract_if(.., |(_, awaited)| *awaited <= revision)
            .map(|(client, _)| client)
            .collect();
        if reached.is_empty() {
            return;
        }
        let batch = ChangeBatch { revision, changes: Vec::new() };
        for listeners in self.directories.values_mut() {
            listeners.retain_mut(|own| {
                let is_news = own.after <= revision && own.shown < revision;
                if !is_news || !reached.contains(&own.client) {
                    return true;
                }
                own.shown = revision;
                own.queue.send(Ok(batch.clone()))
            });
        }
        self.directories.retain(|_, listeners| !listeners.is_empty());
    }

    fn remember(&mut self, change: Change) {
        self.past_bytes += change_bytes(&change);
        self.past.push_back(change);
        while self.past.len() > PAST.0 || self.past_bytes > PAST.1 {
            self.forget_oldest();
        }
    }

    /// Removes the oldest revision, with all its changes.
    fn forget_oldest(&mut self) {
        let Some(revision) = self.past.front().map(|oldest| oldest.revision) else { return };
        while self.past.front().is_some_and(|change| change.revision == revision) {
            let forgotten = self.past.pop_front().map_or(0, |change| change_bytes(&change));
            self.past_bytes -= forgotten;
        }
        self.past_floor = self.past_floor.max(revision);
    }
}

/// Returns the innermost directory that contains a key.
fn parent(key: &str) -> &str {
    key.rfind('/').and_then(|at| key.get(..=at)).unwrap_or_default()
}

/// Returns the directories that contain a key, each with a trailing slash.
fn directories(key: &str) -> impl Iterator<Item = &str> {
    key.match_indices('/').filter_map(|(at, _)| key.get(..=at))
}
