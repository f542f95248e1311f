//! Who runs the streams of an HTTP/2 connection.
//!
//! A request runs as a task of its own, so that requests of one connection do not wait for each other's work. A watch
//! has no work worth a task: it passes bytes on that others made. Once its answer has begun, it *settles* with its
//! connection, whose task from then on runs it beside the protocol. An event for ninety watches of a connection is one
//! wake-up, not ninety; their frames are made in one turn, and leave in one write (see `coalesced`).

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use futures::future::{BoxFuture, CatchUnwind, FutureExt as _};
use futures::stream::{FuturesUnordered, StreamExt as _};
use hyper::rt::Executor;

/// Runs what the protocol spawns. Clones belong to the same connection.
#[derive(Clone, Default)]
pub(super) struct Streams(Arc<Mutex<Shared>>);

/// The streams that settled with a connection; its task runs them.
#[derive(Default)]
pub(super) struct Settled {
    arriving: Streams,
    /// A panic of one watch ends that watch, as one of a request ends that request.
    running: FuturesUnordered<CatchUnwind<AssertUnwindSafe<BoxFuture<'static, ()>>>>,
}

/// Whether a stream is to settle, told by its answer.
#[derive(Clone, Default)]
pub(super) struct Mark(Arc<AtomicBool>);

#[derive(Default)]
struct Shared {
    /// The mark of the request that was just taken from the connection: the stream spawned next is the one it runs in.
    announced: Option<Mark>,
    arriving: Vec<BoxFuture<'static, ()>>,
    /// The connection's task.
    task: Option<Waker>,
}

/// One request, as a task, until it ends or settles.
struct Stream {
    future: Option<BoxFuture<'static, ()>>,
    mark: Mark,
    streams: Streams,
}

// === impl Mark ===

impl Mark {
    /// Lets the stream settle once it has nothing to do at the moment.
    pub(super) fn settle(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

// === impl Streams ===

impl Streams {
    /// A mark for the request that was just taken. The protocol spawns its stream before it takes another one.
    pub(super) fn announce(&self) -> Mark {
        let mark = Mark::default();
        self.shared().announced = Some(mark.clone());
        mark
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settle(&self, stream: BoxFuture<'static, ()>) {
        let mut shared = self.shared();
        shared.arriving.push(stream);
        let task = shared.task.take();
        drop(shared);
        if let Some(task) = task {
            task.wake();
        }
    }
}

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Streams {
    fn execute(&self, future: F) {
        let announced = self.shared().announced.take();
        match announced {
            Some(mark) => {
                let future: BoxFuture<'static, ()> = Box::pin(future);
                tokio::spawn(Stream { future: Some(future), mark, streams: self.clone() });
            }
            None => drop(tokio::spawn(future)),
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
        if !self.mark.is_set() {
            return Poll::Pending;
        }
        if let Some(future) = self.future.take() {
            self.streams.settle(future);
        }
        Poll::Ready(())
    }
}

// === impl Settled ===

impl Settled {
    /// Those of a connection.
    pub(super) fn new(streams: &Streams) -> Self {
        Self { arriving: streams.clone(), running: FuturesUnordered::new() }
    }

    /// Runs each that has something to do.
    pub(super) fn turn(&mut self, context: &mut Context<'_>) {
        let mut shared = self.arriving.shared();
        if !shared.task.as_ref().is_some_and(|task| task.will_wake(context.waker())) {
            shared.task = Some(context.waker().clone());
        }
        let arriving = std::mem::take(&mut shared.arriving);
        drop(shared);
        self.running.extend(arriving.into_iter().map(|stream| AssertUnwindSafe(stream).catch_unwind()));
        while let Poll::Ready(Some(_ended)) = self.running.poll_next_unpin(context) {}
    }
}
