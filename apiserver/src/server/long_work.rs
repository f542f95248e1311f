//! Threads for long work: decoding a large body, or producing, compressing and sending a long response.
//!
//! Such work occupies a thread for milliseconds; a long response is divided into parts of about 0.1 ms. On the runtime that
//! serves connections, a short request would wait behind such parts whenever it passes from one task to the next. Long work
//! therefore runs on a second runtime; the operating system divides the processors between the threads of both.
//!
//! The change of threads costs about a tenth of the time of a list. Long responses therefore stay as long as there are so few
//! of them that one of the usual threads is left for short requests.

use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use futures::future::BoxFuture;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio_util::task::AbortOnDropHandle;

use crate::error::ServerError;

/// Name of the threads.
pub(super) const THREAD_NAME: &str = "long-work";

/// The threads for long work: as many as there are processors.
pub(super) struct LongWork {
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
    handle: Handle,
    /// Number of long responses on the usual threads.
    kept: Arc<AtomicUsize>,
    max_kept: usize,
}

/// A long response that stays on the usual threads, until it is dropped.
pub(super) struct Kept(Arc<AtomicUsize>);

// === impl LongWork ===

impl LongWork {
    /// Starts the threads. The usual ones are those of the caller's runtime.
    ///
    /// # Errors
    /// Fails if the threads cannot be started.
    pub(super) fn start() -> Result<Self, ServerError> {
        let runtime = Builder::new_multi_thread().thread_name(THREAD_NAME).enable_all().build();
        let runtime = runtime.map_err(ServerError::Process)?;
        let max_kept = Handle::current().metrics().num_workers().saturating_sub(1);
        Ok(Self { handle: runtime.handle().clone(), runtime: Some(runtime), kept: Arc::default(), max_kept })
    }

    /// Lets a long response stay on the usual threads; `None` if there would be no thread left for short requests.
    pub(super) fn keep(&self) -> Option<Kept> {
        let kept = Kept(self.kept.clone());
        (self.kept.fetch_add(1, Ordering::Relaxed) < self.max_kept).then_some(kept)
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

    /// Runs a task until it ends: on these threads while its work `is_long`, otherwise on those of the caller. A panic of the
    /// task on these threads ends it.
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

impl Drop for Kept {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
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
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, Mutex};
    use std::thread;

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 3)]
    async fn one_of_the_usual_threads_is_left_for_short_requests() {
        let long_work = LongWork::start().unwrap();
        let (first, second) = (long_work.keep(), long_work.keep());
        assert!(first.is_some() && second.is_some() && long_work.keep().is_none());
        drop(first);
        assert!(long_work.keep().is_some());
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
                    threads.lock().unwrap().push(thread::current().name().unwrap_or_default() == THREAD_NAME);
                    is_long.store(next, Ordering::Relaxed);
                    tokio::task::yield_now().await;
                }
            }
        };
        long_work.move_while(task, move || is_long.load(Ordering::Relaxed)).await;
        assert_eq!(*threads.lock().unwrap(), [false, true, true, false]);
    }
}
