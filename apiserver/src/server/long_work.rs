//! Threads for long work: decoding a large body, or producing, compressing and sending a long response.
//!
//! Such work occupies a thread for milliseconds; a long response is divided into parts of about 0.1 ms. On the runtime that
//! serves connections, a short request would wait behind such parts whenever it passes from one task to the next. Long work
//! therefore runs on a second runtime, whose threads have a lower priority.
//!
//! The change of threads costs about a tenth of the time of a list. A long response therefore stays as long as few others
//! are in progress: at most as many as half of the usual threads. With more, the operating system would let short
//! requests wait for threads that have been busy for milliseconds.

use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use futures::future::BoxFuture;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio_util::task::AbortOnDropHandle;

use crate::server::error::ServerError;

/// Name of the threads.
pub(super) const THREAD_NAME: &str = "long-work";

/// Priority of the threads: about a tenth of the weight of the usual ones, which are to find a processor at once when a
/// short request arrives. Single long responses stay on the usual threads, and do not suffer from other programs that are
/// busy.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;

/// The threads for long work: as many as there are processors.
pub(super) struct LongWork {
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
    handle: Handle,
    /// Number of long responses in progress, on all threads.
    responses: Arc<AtomicUsize>,
    /// Number of long responses in progress up to which they stay on the usual threads.
    max_staying: usize,
}

/// A long response in progress, until it is dropped.
pub(super) struct LongProgress {
    responses: Arc<AtomicUsize>,
    stays: bool,
}

// === impl LongWork ===

impl LongWork {
    /// Starts the threads. The usual ones are those of the caller's runtime.
    ///
    /// # Errors
    /// Fails if the threads cannot be started.
    pub(super) fn start() -> Result<Self, ServerError> {
        let mut builder = Builder::new_multi_thread();
        builder.thread_name(THREAD_NAME).enable_all().on_thread_start(lower_priority);
        let runtime = builder.build();
        let runtime = runtime.map_err(ServerError::Process)?;
        let max_staying = (Handle::current().metrics().num_workers() / 2).max(1);
        let handle = runtime.handle().clone();
        Ok(Self { handle, runtime: Some(runtime), responses: Arc::default(), max_staying })
    }

    /// Begins a long response, or a part of the work for it.
    pub(super) fn begin_response(&self) -> LongProgress {
        let stays = self.responses.fetch_add(1, Ordering::Relaxed) < self.max_staying;
        LongProgress { responses: self.responses.clone(), stays }
    }

    /// Runs a task on these threads until it ends or the handle is dropped.
    pub(super) fn spawn<F>(&self, task: F) -> AbortOnDropHandle<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        AbortOnDropHandle::new(self.handle.spawn(task))
    }

    /// Runs a task on these threads until it ends.
    pub(super) fn start_task(&self, task: impl Future<Output = ()> + Send + 'static) {
        drop(self.handle.spawn(task));
    }

    /// Runs a task until it ends: on these threads while its work `is_long`, otherwise on those of the caller. A panic of
    /// the task on these threads ends it.
    pub(super) async fn move_while<F, P>(&self, task: F, is_long: P)
    where
        F: Future<Output = ()> + Send + 'static,
        P: Fn() -> bool + Clone + Send + Sync + 'static,
    {
        let mut task: BoxFuture<'static, ()> = Box::pin(task);
        loop {
            let is_short = || !is_long();
            let Some(leaving) = run_while(task, is_short).await else { return };
            let Ok(Some(returning)) = self.spawn(run_while(leaving, is_long.clone())).await else { return };
            task = returning;
        }
    }
}

impl LongProgress {
    /// Returns whether it stays on the usual threads.
    pub(super) fn stays(&self) -> bool {
        self.stays
    }
}

impl Drop for LongProgress {
    fn drop(&mut self) {
        self.responses.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for LongWork {
    fn drop(&mut self) {
        // A runtime must not block on its threads within another one.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Lowers the priority of the calling thread.
#[cfg(target_os = "linux")]
fn lower_priority() {
    // Linux has a priority for each thread.
    let thread = rustix::thread::gettid();
    if let Err(error) = rustix::process::setpriority_process(Some(thread), NICE) {
        tracing::debug!("the priority of a thread for long work cannot be lowered: {error}");
    }
}

/// Elsewhere, only a whole process has a priority.
#[cfg(not(target_os = "linux"))]
fn lower_priority() {}

/// Runs a task while it `stays`. Returns the rest of it; `None` if it has ended.
async fn run_while(
    mut task: BoxFuture<'static, ()>,
    stays: impl Fn() -> bool,
) -> Option<BoxFuture<'static, ()>> {
    let has_ended = poll_fn(|context| {
        // Before its turn, so that none is taken on the wrong thread after another task has decided that it moves.
        if !stays() {
            return Poll::Ready(false);
        }
        match task.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(true),
            Poll::Pending if stays() => Poll::Pending,
            Poll::Pending => Poll::Ready(false),
        }
    });
    (!has_ended.await).then_some(task)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use parking_lot::Mutex;

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn responses_stay_while_they_are_at_most_half_as_many_as_the_usual_threads() {
        let long_work = LongWork::start().unwrap();
        let mut responses: Vec<_> = (0..4).map(|_| long_work.begin_response()).collect();
        let stay: Vec<_> = responses.iter().map(LongProgress::stays).collect();
        assert_eq!(stay, [true, true, false, false]);
        responses.remove(0);
        assert!(!long_work.begin_response().stays(), "three others are in progress, wherever they are");
        responses.truncate(1);
        assert!(long_work.begin_response().stays());
    }

    #[tokio::test]
    async fn a_task_changes_threads_with_the_length_of_its_work() {
        let long_work = LongWork::start().unwrap();
        let is_long = Arc::new(AtomicBool::new(false));
        let threads = Arc::new(Mutex::new(Vec::new()));
        let task = {
            let (is_long, threads) = (is_long.clone(), threads.clone());
            async move {
                for next in [true, true, false, true] {
                    threads.lock().push(thread::current().name().unwrap_or_default() == THREAD_NAME);
                    is_long.store(next, Ordering::Relaxed);
                    tokio::task::yield_now().await;
                }
            }
        };
        long_work.move_while(task, move || is_long.load(Ordering::Relaxed)).await;
        assert_eq!(*threads.lock(), [false, true, true, false]);
    }
}
