//! What a watch holds while its initial events are written.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio_util::task::AbortOnDropHandle;

/// A value that is dropped with this, or after a time.
pub(super) struct Initializing {
    held: Arc<Held>,
    _timer: AbortOnDropHandle<()>,
}

type Held = Mutex<Option<Box<dyn Any + Send>>>;

// === impl Initializing ===

impl Initializing {
    pub(super) fn new(value: impl Send + 'static, at_most: Duration) -> Self {
        let held: Arc<Held> = Arc::new(Mutex::new(Some(Box::new(value))));
        let kept = held.clone();
        let timer = tokio::spawn(async move {
            tokio::time::sleep(at_most).await;
            release(&kept);
        });
        Self { held, _timer: AbortOnDropHandle::new(timer) }
    }
}

impl Drop for Initializing {
    fn drop(&mut self) {
        release(&self.held);
    }
}

fn release(held: &Held) {
    let value = held.lock().unwrap_or_else(PoisonError::into_inner).take();
    // Dropped after the lock is released.
    drop(value);
}
