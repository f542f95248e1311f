//! A queue of keys that have to be worked on, each by one task at a time.
//!
//! Work that fails is repeated after a time that grows with each failure and is jittered, so that no failure causes a storm.
//! An idle queue costs nothing: it waits for the next key, or for the time at which a key is due.
//!
//! Kubernetes concept: `k8s.io/client-go/util/workqueue`.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::hash::Hash;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use parking_lot::{Mutex, MutexGuard};
use registry_core::backoff::Backoff;
use tokio::sync::Notify;
use tokio::time::Instant;

/// The times after the failures of a key.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(30), Duration::from_mins(3));

/// A queue.
pub(super) struct Queue<K> {
    state: Mutex<State<K>>,
    changed: Notify,
}

/// The outcome of the work on a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// There is nothing more to do.
    Done,
    /// It failed, and is repeated later.
    Failed,
    /// It is repeated after this time.
    Again(Duration),
}

struct State<K> {
    ready: VecDeque<K>,
    /// The keys in `ready`.
    queued: HashSet<K>,
    running: HashSet<K>,
    /// The keys that were added while they ran.
    again: HashSet<K>,
    /// The keys that are due later, by time.
    delayed: BTreeSet<(Instant, K)>,
    due: HashMap<K, Instant>,
    /// The keys that failed last.
    failures: HashMap<K, Backoff>,
}

// === impl Queue ===

impl<K: Clone + Eq + Hash + Ord> Queue<K> {
    /// Creates an empty queue.
    pub(super) fn new() -> Self {
        let state = State {
            ready: VecDeque::new(),
            queued: HashSet::new(),
            running: HashSet::new(),
            again: HashSet::new(),
            delayed: BTreeSet::new(),
            due: HashMap::new(),
            failures: HashMap::new(),
        };
        Self { state: Mutex::new(state), changed: Notify::new() }
    }

    /// Adds a key, unless it waits already. A key that is worked on is worked on again.
    pub(super) fn add(&self, key: K) {
        self.state().add(key);
        self.changed.notify_one();
    }

    /// Adds a key after a time, or earlier if it is added otherwise.
    pub(super) fn add_after(&self, key: K, pause: Duration) {
        self.state().add_at(key, Instant::now() + pause);
        self.changed.notify_one();
    }

    /// Works on the keys, on at most `workers` at the same time, until it is dropped.
    pub(super) async fn run<F>(&self, workers: usize, work: impl Fn(K) -> F)
    where
        F: Future<Output = Outcome>,
    {
        let mut working = FuturesUnordered::new();
        loop {
            let next = loop {
                let next = if working.len() < workers { self.state().take(Instant::now()) } else { None };
                let Some(key) = next else { break self.state().next_due() };
                let outcome = work(key.clone());
                working.push(async move { (key, outcome.await) });
            };
            let timer = async {
                match next {
                    Some(due) => tokio::time::sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            let may_start = working.len() < workers;
            tokio::select! {
                Some((key, outcome)) = working.next() => self.state().finish(&key, outcome),
                () = self.changed.notified(), if may_start => {}
                () = timer, if may_start => {}
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock()
    }
}

// === impl State ===

impl<K: Clone + Eq + Hash + Ord> State<K> {
    fn add(&mut self, key: K) {
        if let Some(due) = self.due.remove(&key) {
            self.delayed.remove(&(due, key.clone()));
        }
        if self.running.contains(&key) {
            self.again.insert(key);
        } else if self.queued.insert(key.clone()) {
            self.ready.push_back(key);
        }
    }

    fn add_at(&mut self, key: K, at: Instant) {
        if self.queued.contains(&key) || self.due.get(&key).is_some_and(|due| *due <= at) {
            return;
        }
        if let Some(due) = self.due.insert(key.clone(), at) {
            self.delayed.remove(&(due, key.clone()));
        }
        self.delayed.insert((at, key));
    }

    /// Returns a key that is to be worked on now.
    fn take(&mut self, now: Instant) -> Option<K> {
        while let Some((due, _)) = self.delayed.first() {
            if *due > now {
                break;
            }
            if let Some((_, key)) = self.delayed.pop_first() {
                self.due.remove(&key);
                self.add(key);
            }
        }
        let key = self.ready.pop_front()?;
        self.queued.remove(&key);
        self.running.insert(key.clone());
        Some(key)
    }

    fn next_due(&self) -> Option<Instant> {
        self.delayed.first().map(|(due, _)| *due)
    }

    fn finish(&mut self, key: &K, outcome: Outcome) {
        self.running.remove(key);
        let pause = if outcome == Outcome::Failed {
            Some(self.failures.entry(key.clone()).or_insert(BACKOFF).next_pause())
        } else {
            self.failures.remove(key);
            if let Outcome::Again(pause) = outcome { Some(pause) } else { None }
        };
        if self.again.remove(key) {
            self.add(key.clone());
        } else if let Some(pause) = pause {
            self.add_at(key.clone(), Instant::now() + pause);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_key_is_worked_on_by_one_task_at_a_time_and_again_if_it_is_added_meanwhile() {
        let queue = Queue::new();
        let runs = Mutex::new(Vec::new());
        queue.add("a");
        queue.add("a");
        let work = async |key: &'static str| {
            let first = runs.lock().is_empty();
            if first {
                queue.add(key);
            }
            runs.lock().push((key, Instant::now()));
            tokio::time::sleep(Duration::from_secs(1)).await;
            Outcome::Done
        };
        let running = queue.run(8, work);
        assert!(tokio::time::timeout(Duration::from_secs(9), running).await.is_err(), "it never ends");
        let runs = runs.into_inner();
        assert_eq!(runs.len(), 2);
        assert_eq!(runs[1].1 - runs[0].1, Duration::from_secs(1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_failed_key_that_was_added_meanwhile_is_not_held_up() {
        let queue = Queue::new();
        let runs = Mutex::new(Vec::new());
        queue.add("a");
        let work = async |key: &'static str| {
            let number = runs.lock().len();
            runs.lock().push(Instant::now());
            if number == 8 {
                queue.add(key);
            }
            if number < 9 { Outcome::Failed } else { Outcome::Done }
        };
        let running = queue.run(1, work);
        assert!(tokio::time::timeout(Duration::from_hours(1), running).await.is_err(), "it never ends");
        let runs = runs.into_inner();
        assert!(runs.len() == 10 && runs[8] - runs[7] > Duration::from_secs(1), "{runs:?}");
        assert_eq!(runs[9], runs[8], "something has changed since the failure");
    }

    #[tokio::test(start_paused = true)]
    async fn failures_are_repeated_ever_later_and_hold_up_no_other_key() {
        let queue = Queue::new();
        let runs = Mutex::new(Vec::new());
        queue.add("bad");
        queue.add("good");
        let work = async |key: &'static str| {
            runs.lock().push((key, Instant::now()));
            if key == "bad" { Outcome::Failed } else { Outcome::Done }
        };
        let running = queue.run(1, work);
        assert!(tokio::time::timeout(Duration::from_hours(1), running).await.is_err(), "it never ends");
        let runs = runs.into_inner();
        let bad: Vec<_> = runs.iter().filter(|(key, _)| *key == "bad").map(|(_, at)| *at).collect();
        assert!((30..50).contains(&bad.len()), "{} attempts in an hour", bad.len());
        let last = bad[bad.len() - 1] - bad[bad.len() - 2];
        assert!((120..=180).contains(&last.as_secs()), "{last:?}");
        assert_eq!(runs.iter().filter(|(key, _)| *key == "good").count(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_that_is_due_later_is_worked_on_at_the_earliest_time() {
        let queue = Queue::new();
        let (began, ran) = (Instant::now(), Mutex::new(Vec::new()));
        queue.add_after("a", Duration::from_secs(9));
        queue.add_after("a", Duration::from_secs(3));
        queue.add_after("a", Duration::from_secs(6));
        let work = async |_| {
            ran.lock().push(began.elapsed().as_secs());
            Outcome::Done
        };
        let running = queue.run(1, work);
        assert!(tokio::time::timeout(Duration::from_mins(1), running).await.is_err(), "it never ends");
        assert_eq!(*ran.lock(), [3]);
    }
}
