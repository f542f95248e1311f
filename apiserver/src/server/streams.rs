//! Scheduling of the streams of an HTTP/2 connection.
//!
//! A request runs as a task of its own, so that requests of one connection do not delay each other. A watch
//! is too cheap for a task: it passes on bytes that are encoded already. Once its response has begun, it
//! *settles* with its connection, whose task from then on runs it beside the protocol. An event for ninety
//! watches of a connection is one wake-up, not ninety; their frames are created in one turn, and sent in one
//! write (see `coalesced`).
//!
//! A long response that moves to the threads for long work (see `long_work`) settles with the connection, which moves
//! too, if it only remains to be sent, and otherwise in a task of its own there, beside those of the same connection.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Wake, Waker};

use futures::future::BoxFuture;
use hyper::rt::Executor;
use parking_lot::{Mutex, MutexGuard};
use tokio::runtime::Handle;
use tokio::time::Sleep;

use super::long_work::LongWork;
use super::progress::{MAX_STALL, Progress};

/// Maximum number of passes of a turn over the woken streams, before the connection's other work is done. The
/// protocol wakes a stream that writes once more, so that two passes are usual.
const ROUNDS: usize = 4;

/// The executor of the protocol's futures. Clones belong to the same connection.
#[derive(Clone)]
pub(super) struct Streams(Arc<StreamsInner>);

struct StreamsInner {
    state: Mutex<StreamsState>,
    /// The threads on which requests are handled.
    threads: Handle,
    long_work: Arc<LongWork>,
}

/// The streams that have settled with a connection; its task runs them.
///
/// `FuturesUnordered` is not suitable: it yields after two futures that wake themselves, which all of these
/// do.
pub(super) struct ConnectionTasks {
    streams: Streams,
    running: Vec<Option<Running>>,
    free: Vec<usize>,
    /// The streams to be polled; kept to reuse its allocation.
    woken: Vec<usize>,
}

/// The task that a stream runs on, which is decided when its response begins, and its client's progress.
#[derive(Clone, Default)]
pub(super) struct Placement(Arc<PlacementState>);

#[derive(Default)]
struct PlacementState {
    /// Not set as long as the stream stays in its own task.
    place: OnceLock<StreamPlace>,
    progress: Progress,
}

/// The task on which a stream settles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamPlace {
    /// A task of its own on the threads for long work.
    LongWork,
    /// The connection's task.
    Connection,
    /// The same, for a response that may wait for its client as long as the connection lasts, as a watch does.
    ConnectionEndless,
}

#[derive(Default)]
struct StreamsState {
    /// The placement of the request that was just received: the next spawned stream belongs to it.
    announced: Option<Placement>,
    arriving: Vec<BoxFuture<'static, ()>>,
    /// Indices of settled streams that are ready to be polled.
    woken: Vec<usize>,
    /// The connection's task, if it has to be woken.
    task: Option<Waker>,
}

/// One request, as a task, until it ends or settles.
struct Stream {
    future: Option<BoxFuture<'static, ()>>,
    placement: Placement,
    streams: Streams,
    is_settled: bool,
    /// Runs while the client reads nothing of the response.
    stall: Option<Pin<Box<Sleep>>>,
}

/// A settled stream.
struct Running {
    future: BoxFuture<'static, ()>,
    place: Arc<TaskSlot>,
    waker: Waker,
}

/// The waker of a settled stream.
struct TaskSlot {
    number: usize,
    is_woken: AtomicBool,
    streams: Streams,
}

// === impl Placement ===

impl Placement {
    /// Lets the stream settle in this place once it is pending. Only the first place counts.
    pub(super) fn settle(&self, place: StreamPlace) {
        self.0.place.get_or_init(|| place);
    }

    /// Returns the client's progress in reading the response.
    pub(super) fn progress(&self) -> &Progress {
        &self.0.progress
    }

    fn place(&self) -> Option<StreamPlace> {
        self.0.place.get().copied()
    }
}

// === impl Streams ===

impl Streams {
    /// Returns the executor of a connection. Its requests are handled on the threads of the caller.
    pub(super) fn new(long_work: Arc<LongWork>) -> Self {
        Self(Arc::new(StreamsInner { state: Mutex::default(), threads: Handle::current(), long_work }))
    }

    /// Returns the placement of the request that was just received. The protocol spawns its stream before it
    /// receives another one.
    pub(super) fn announce(&self) -> Placement {
        let placement = Placement::default();
        self.state().announced = Some(placement.clone());
        placement
    }

    fn state(&self) -> MutexGuard<'_, StreamsState> {
        self.0.state.lock()
    }

    /// Adds work, and wakes the connection's task if necessary.
    fn note(&self, add: impl FnOnce(&mut StreamsState)) {
        let mut state = self.state();
        add(&mut state);
        let task = state.task.take();
        drop(state);
        if let Some(task) = task {
            task.wake();
        }
    }
}

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Streams {
    fn execute(&self, future: F) {
        let announced = self.state().announced.take();
        // The connection may be on the threads for long work at present.
        let threads = &self.0.threads;
        match announced {
            Some(placement) => {
                let future: BoxFuture<'static, ()> = Box::pin(future);
                let streams = self.clone();
                let stream =
                    Stream { future: Some(future), placement, streams, is_settled: false, stall: None };
                threads.spawn(stream);
            }
            None => drop(threads.spawn(future)),
        }
    }
}

impl Future for Stream {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Some(future) = &mut self.future else { return Poll::Ready(()) };
        if future.as_mut().poll(context).is_ready() {
            return Poll::Ready(());
        }
        let place = self.placement.place().filter(|_| !self.is_settled);
        let Some(place) = place else {
            std::task::ready!(self.poll_stall(context));
            // Dropping the future resets the stream.
            self.future = None;
            return Poll::Ready(());
        };
        if let Some(future) = self.future.take() {
            self.settle(place, future);
        }
        Poll::Ready(())
    }
}

impl Stream {
    /// Passes the rest of the stream on to this place. Wherever it is not endless, it is still closed if its client reads
    /// nothing for too long.
    fn settle(&self, place: StreamPlace, future: BoxFuture<'static, ()>) {
        let (placement, streams) = (self.placement.clone(), self.streams.clone());
        let settled =
            |future| Self { future: Some(future), placement, streams, is_settled: true, stall: None };
        match place {
            StreamPlace::LongWork => self.streams.0.long_work.start_task(settled(future)),
            StreamPlace::Connection => self.arrive(Box::pin(settled(future))),
            StreamPlace::ConnectionEndless => self.arrive(future),
        }
    }

    /// Passes the stream on to the connection's task.
    fn arrive(&self, future: BoxFuture<'static, ()>) {
        self.streams.note(|state| state.arriving.push(future));
    }

    /// Is ready when the client has read nothing of the response for too long. Costs nothing while the
    /// response is produced, and for responses that are sent at once.
    fn poll_stall(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let progress = &self.placement.0.progress;
        if !progress.is_up_to_client() {
            self.stall = None;
            return Poll::Pending;
        }
        if !progress.check_stalled() {
            self.stall = None;
        }
        let stall = self.stall.get_or_insert_with(|| Box::pin(tokio::time::sleep(MAX_STALL)));
        stall.as_mut().poll(context)
    }
}

impl Wake for TaskSlot {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.is_woken.swap(true, Ordering::AcqRel) {
            self.streams.note(|state| state.woken.push(self.number));
        }
    }
}

// === impl ConnectionTasks ===

impl ConnectionTasks {
    /// Returns the streams of a connection.
    pub(super) fn new(streams: &Streams) -> Self {
        Self { streams: streams.clone(), running: Vec::new(), free: Vec::new(), woken: Vec::new() }
    }

    /// Polls each stream that is ready.
    pub(super) fn turn(&mut self, context: &mut Context<'_>) {
        for _ in 0..ROUNDS {
            let mut woken = std::mem::take(&mut self.woken);
            let mut state = self.streams.state();
            std::mem::swap(&mut woken, &mut state.woken);
            let arriving = std::mem::take(&mut state.arriving);
            if woken.is_empty() && arriving.is_empty() {
                state.task = Some(context.waker().clone());
                drop(state);
                self.woken = woken;
                return;
            }
            // No wake-up is needed for work that this turn finds anyway.
            state.task = None;
            drop(state);
            woken.extend(arriving.into_iter().map(|future| self.admit(future)));
            for number in woken.drain(..) {
                self.poll(number);
            }
            self.woken = woken;
        }
        context.waker().wake_by_ref();
    }

    /// Adds a stream, and returns its index.
    fn admit(&mut self, future: BoxFuture<'static, ()>) -> usize {
        let number = self.free.pop().unwrap_or(self.running.len());
        let streams = self.streams.clone();
        let place = Arc::new(TaskSlot { number, is_woken: AtomicBool::new(true), streams });
        let waker = Waker::from(place.clone());
        let running = Some(Running { future, place, waker });
        match self.running.get_mut(number) {
            Some(free) => *free = running,
            None => self.running.push(running),
        }
        number
    }

    fn poll(&mut self, number: usize) {
        let Some(slot) = self.running.get_mut(number) else { return };
        let Some(running) = slot else { return };
        running.place.is_woken.store(false, Ordering::Release);
        let mut context = Context::from_waker(&running.waker);
        // A panic of a watch ends that watch only, as for other requests.
        let polled = catch_unwind(AssertUnwindSafe(|| running.future.as_mut().poll(&mut context)));
        if !matches!(polled, Ok(Poll::Pending)) {
            *slot = None;
            self.free.push(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use tokio::sync::Notify;

    use super::*;

    /// Ninety watches wait for the same event; one of them panics, and only it ends.
    #[tokio::test]
    async fn settled_streams_run_in_turns_of_one_task_and_end_alone() {
        const STREAMS: usize = 90;
        let streams = Streams::new(Arc::new(LongWork::start().unwrap()));
        let events = Arc::new(Notify::new());
        let seen = Arc::new(AtomicUsize::new(0));
        for number in 0..STREAMS {
            let placement = streams.announce();
            let events = events.clone();
            let seen = seen.clone();
            streams.execute(async move {
                placement.settle(StreamPlace::ConnectionEndless);
                for _ in 0..3 {
                    events.notified().await;
                    // Like the protocol, which wakes a stream that writes once more.
                    tokio::task::yield_now().await;
                    seen.fetch_add(1, Ordering::Relaxed);
                    assert_ne!(number, 7, "one of them fails");
                }
            });
        }
        let mut tasks = ConnectionTasks::new(&streams);
        for (round, seen_then) in [STREAMS, 2 * STREAMS - 1, 3 * STREAMS - 2].into_iter().enumerate() {
            let alive = if round == 0 { STREAMS } else { STREAMS - 1 };
            turn_until(&mut tasks, |tasks| tasks.running.iter().flatten().count() == alive).await;
            events.notify_waiters();
            let turns = turn_until(&mut tasks, |_| seen.load(Ordering::Relaxed) == seen_then).await;
            assert!(turns < STREAMS / 2, "{turns} turns for one event");
        }
        assert!(tasks.running.iter().all(Option::is_none));
    }

    /// Runs turns like a connection's task, and returns their number.
    async fn turn_until(tasks: &mut ConnectionTasks, is_done: impl Fn(&ConnectionTasks) -> bool) -> usize {
        let mut turns = 0;
        let running = std::future::poll_fn(|context| {
            turns += 1;
            tasks.turn(context);
            if is_done(tasks) { Poll::Ready(()) } else { Poll::Pending }
        });
        tokio::time::timeout(std::time::Duration::from_secs(10), running)
            .await
            .expect("it never comes to that");
        turns
    }
}
