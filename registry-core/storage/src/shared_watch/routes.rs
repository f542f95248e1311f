//! Distributes changes to listeners.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

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
    directories: HashMap<Arc<str>, Vec<Listener>>,
    /// The directories of each client's listeners, and how many of them listen to each.
    clients: HashMap<u64, HashMap<Arc<str>, usize>>,
    /// Clients that wait for this revision to be reached.
    awaited: HashMap<u64, Revision>,
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
    pub(super) directory: Arc<str>,
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
        let directories: Vec<Arc<str>> = table.directories.keys().cloned().collect();
        for directory in directories {
            table.retain(&directory, |listener| {
                let is_behind = listener.after < revision;
                if is_behind {
                    ended += 1;
                    // A full queue ends with an error as well.
                    listener.queue.send(Err(why.clone()));
                }
                !is_behind
            });
        }
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
        let known = table.directories.get_key_value(directory).map(|(known, _)| known.clone());
        let directory = known.unwrap_or_else(|| directory.into());
        *table.clients.entry(client).or_default().entry(directory.clone()).or_default() += 1;
        table.directories.entry(directory.clone()).or_default().push(listener);
        let missing_until = (!is_complete).then_some(delivered);
        Some(Subscription { directory, number, queue: receiver, after, missing_until })
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
        table.awaited.insert(client, revision);
        let is_reached = table.delivered >= Some(revision);
        if is_reached {
            table.awaited.remove(&client);
            table.tell(client);
        }
        is_reached
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
    /// Removes the listeners of a directory that `keep` does not keep.
    fn retain(&mut self, directory: &str, mut keep: impl FnMut(&mut Listener) -> bool) {
        let Some(listeners) = self.directories.get_mut(directory) else { return };
        for gone in listeners.extract_if(.., |listener| !keep(listener)) {
            let Some(watched) = self.clients.get_mut(&gone.client) else { continue };
            if let Some(count) = watched.get_mut(directory) {
                *count -= 1;
                if *count == 0 {
                    watched.remove(directory);
                }
            }
            if watched.is_empty() {
                self.clients.remove(&gone.client);
            }
        }
        if listeners.is_empty() {
            self.directories.remove(directory);
        }
    }

    /// Sends progress to the clients that wait for a revision that is reached.
    fn tell_awaited(&mut self) {
        let Some(delivered) = self.delivered else { return };
        let reached = self.awaited.extract_if(|_, awaited| *awaited <= delivered);
        let reached: Vec<u64> = reached.map(|(client, _)| client).collect();
        for client in reached {
            self.tell(client);
        }
    }

    /// Sends progress to those listeners of a client that have not seen it.
    fn tell(&mut self, client: u64) {
        let Some(revision) = self.delivered else { return };
        let watched = self.clients.get(&client).into_iter().flat_map(HashMap::keys);
        for directory in watched.cloned().collect::<Vec<_>>() {
            self.retain(&directory, |own| {
                if own.client != client || own.after > revision || own.shown >= revision {
                    return true;
                }
                own.shown = revision;
                own.queue.send(Ok(ChangeBatch { revision, changes: Vec::new() }))
            });
        }
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

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    /// Returns the revisions of the batches that a listener has been sent, none of which has changes.
    fn delivered(subscription: &mut Subscription) -> Vec<Revision> {
        let next = || subscription.queue.next().now_or_never().flatten();
        std::iter::from_fn(next).map(|batch| batch.unwrap()).map(|batch| batch.revision).collect()
    }

    #[test]
    fn progress_reaches_all_listeners_of_the_client_that_waits_for_it_and_no_others() {
        let routes = Routes::default();
        assert!(!routes.progress(1, 5), "nothing is delivered yet");
        routes.begin(5);
        let listen = |client, directory| routes.subscribe(client, directory, 5).unwrap();
        let mut own = [listen(1, "/a/"), listen(1, "/b/"), listen(1, "/b/")];
        let mut other = [listen(2, "/a/"), listen(2, "/c/")];
        let empty = |revision| ChangeBatch { revision, changes: Vec::new() };
        routes.deliver(empty(7));
        assert_eq!(
            own.each_mut().map(delivered),
            [[7], [7], [7]],
            "it has waited since before the beginning"
        );
        assert!(routes.progress(1, 6));
        assert!(!routes.progress(1, 9), "it waits");
        routes.deliver(empty(8));
        assert!(own.each_mut().map(delivered).iter().all(Vec::is_empty), "it has seen 7, and waits for 9");
        routes.unsubscribe("/b/", own[2].number);
        routes.deliver(empty(10));
        routes.deliver(empty(11));
        assert_eq!(own.each_mut().map(delivered), [vec![10], vec![10], Vec::new()]);
        assert!(other.each_mut().map(delivered).iter().all(Vec::is_empty));
        assert!(routes.progress(2, 0));
        assert_eq!(other.each_mut().map(delivered), [[11], [11]], "as far as it is known");

        for subscription in own.iter().chain(&other) {
            routes.unsubscribe(&subscription.directory, subscription.number);
        }
        let table = routes.table();
        assert!(table.clients.is_empty() && table.directories.is_empty(), "nothing is left of them");
    }
}
