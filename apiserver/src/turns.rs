//! Turns of tasks with long work, such as sending or compressing a list of some MiB.
//!
//! Such work is divided, and each part waits for its turn. Turns are granted in the order of the requests, one after the
//! other by as many *pacers* as there are processors. Between two turns, a pacer lets its thread look which sockets have become
//! ready, and run what they woke. A short request therefore waits for the present turns and the next ones, and not for one of
//! each client with a long response.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::thread;

use futures::task::AtomicWaker;
use tokio::runtime::Handle;

/// Maximum number of pacers: while each processor has a turn, another one would only wait for a processor.
static MAX_PACERS: LazyLock<usize> = LazyLock::new(|| thread::available_parallelism().map_or(1, usize::from));

static QUEUE: Mutex<Queue> = Mutex::new(Queue { waiting: VecDeque::new(), pacers: 0 });

/// A request for a turn.
#[derive(Debug)]
pub(crate) struct Turn(Arc<Ticket>);

#[derive(Debug, Default)]
struct Ticket {
    is_granted: AtomicBool,
    task: AtomicWaker,
}

/// The requests of all servers of the process, which share its processors.
struct Queue {
    waiting: VecDeque<Arc<Ticket>>,
    pacers: usize,
}

/// Counts a pacer while it runs.
struct Pacer {
    has_ended: bool,
}

/// Grants turns until none is requested.
async fn pace(mut pacer: Pacer) {
    while let Some(ticket) = pacer.next() {
        ticket.grant();
        // The thread runs the task next, and this one after it has looked at the sockets.
        tokio::task::yield_now().await;
    }
}

fn queue() -> MutexGuard<'static, Queue> {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner)
}

// === impl Turn ===

impl Turn {
    /// Requests a turn after those that are requested already.
    pub(crate) fn request() -> Self {
        let ticket = Arc::new(Ticket::default());
        let mut queue = queue();
        queue.waiting.push_back(ticket.clone());
        let pacer = (queue.pacers < *MAX_PACERS).then(|| {
            queue.pacers += 1;
            Pacer { has_ended: false }
        });
        drop(queue);
        if let Some(pacer) = pacer {
            // Without a runtime, dropping the pacer grants all turns.
            let _ = Handle::try_current().map(|runtime| runtime.spawn(pace(pacer)));
        }
        Self(ticket)
    }

    /// Waits until the turn is granted.
    pub(crate) fn poll_granted(&self, context: &mut Context<'_>) -> Poll<()> {
        self.0.task.register(context.waker());
        if self.0.is_granted.load(Ordering::Acquire) { Poll::Ready(()) } else { Poll::Pending }
    }
}

// === impl Ticket ===

impl Ticket {
    fn grant(&self) {
        self.is_granted.store(true, Ordering::Release);
        self.task.wake();
    }
}

// === impl Pacer ===

impl Pacer {
    /// Returns the next request; without one, the pacer has ended.
    fn next(&mut self) -> Option<Arc<Ticket>> {
        let mut queue = queue();
        let next = queue.waiting.pop_front();
        if next.is_none() {
            self.has_ended = true;
            queue.pacers -= 1;
        }
        next
    }
}

impl Drop for Pacer {
    /// Grants all turns if the runtime ends: there may be no other pacer.
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        let mut queue = queue();
        queue.pacers -= 1;
        let waiting = std::mem::take(&mut queue.waiting);
        drop(queue);
        for ticket in waiting {
            ticket.grant();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[tokio::test]
    async fn a_ready_task_runs_after_few_turns_of_many() {
        const TASKS: usize = 100;
        let turns = Arc::new(AtomicUsize::new(0));
        let long: Vec<_> = (0..TASKS)
            .map(|_| {
                let turns = turns.clone();
                tokio::spawn(async move {
                    for _ in 0..10 {
                        let turn = Turn::request();
                        poll_fn(|context| turn.poll_granted(context)).await;
                        turns.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        // All have requested a turn.
        tokio::task::yield_now().await;
        let mut waits = Vec::new();
        for _ in 0..5 {
            let before = turns.load(Ordering::Relaxed);
            tokio::spawn(async {}).await.unwrap();
            waits.push(turns.load(Ordering::Relaxed) - before);
        }
        assert!(waits.iter().all(|turns| *turns <= 2 * *MAX_PACERS), "{waits:?} of {TASKS}");
        for task in long {
            task.await.unwrap();
        }
        assert_eq!(turns.load(Ordering::Relaxed), 10 * TASKS);
    }

    #[test]
    fn a_turn_is_granted_although_the_runtime_of_its_pacer_ends() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let turn = runtime.block_on(async { Turn::request() });
        drop(runtime);
        let mut context = Context::from_waker(std::task::Waker::noop());
        assert!(turn.poll_granted(&mut context).is_ready());
    }
}
