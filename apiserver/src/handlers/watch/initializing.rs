//! A value that a watch holds while its initial events are written.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

/// Time without a poll after which the client counts as one that does not read.
const STALLED_AFTER: Duration = Duration::from_millis(250);

/// A value that is dropped with this, when the client does not read, or after a time.
pub(super) struct Initializing {
    held: Arc<Held>,
    _timer: AbortOnDropHandle<()>,
}

struct Held {
    value: Mutex<Option<Box<dyn Send>>>,
    /// Whether the client has taken events since the timer last looked.
    is_read: AtomicBool,
}

// === impl Initializing ===

impl Initializing {
    pub(super) fn new(value: Box<dyn Send>, at_most: Duration) -> Self {
        let held = Arc::new(Held { value: Mutex::new(Some(value)), is_read: AtomicBool::new(true) });
        let kept = held.clone();
        let timer = tokio::spawn(async move {
            let until = Instant::now() + at_most;
            while Instant::now() < until && kept.is_read.swap(false, Ordering::Relaxed) {
                tokio::time::sleep(STALLED_AFTER).await;
            }
            kept.release();
        });
        Self { held, _timer: AbortOnDropHandle::new(timer) }
    }

    /// Notes that the client takes events.
    pub(super) fn progress(&self) {
        self.held.is_read.store(true, Ordering::Relaxed);
    }
}

impl Drop for Initializing {
    fn drop(&mut self) {
        self.held.release();
    }
}

// === impl Held ===

impl Held {
    fn release(&self) {
        let value = self.value.lock().take();
        // Dropped after the lock is released.
        drop(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_keeps_nothing_and_one_that_reads_slowly_keeps_it_for_a_time() {
        let value = Arc::new(());
        let stalled = Initializing::new(Box::new(value.clone()), Duration::from_secs(10));
        tokio::time::sleep(Duration::from_millis(600)).await;
        assert_eq!(Arc::strong_count(&value), 1);
        drop(stalled);

        let slow = Initializing::new(Box::new(value.clone()), Duration::from_secs(10));
        for _ in 0..45 {
            slow.progress();
            tokio::time::sleep(Duration::from_millis(200)).await;
            assert_eq!(Arc::strong_count(&value), 2);
        }
        for _ in 0..10 {
            slow.progress();
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        assert_eq!(Arc::strong_count(&value), 1, "the time is over");
    }
}
