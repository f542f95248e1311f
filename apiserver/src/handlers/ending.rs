//! Ends watches: all when the server stops, those of one resource when it is no longer served.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// Whether watches have to end. Each watch checks it for each event: flags avoid the lock of cancellation
/// tokens.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ending {
    is_stopping: Arc<AtomicBool>,
    /// Whether the resource is no longer served; `None` for resources that are served as long as the server
    /// runs.
    is_removed: Option<Arc<AtomicBool>>,
    cancelled: CancellationToken,
}

// === impl Ending ===

impl Ending {
    /// Returns the state that follows this token. Must be called within a Tokio runtime.
    pub(crate) fn after(stopping: CancellationToken) -> Self {
        let ending = Self::default();
        let own = ending.clone();
        tokio::spawn(async move {
            stopping.cancelled().await;
            // Set before the waiting tasks are woken.
            own.is_stopping.store(true, Ordering::Release);
            own.cancelled.cancel();
        });
        ending
    }

    /// Returns the state of a resource that may be removed while the server runs: see [`end`](Self::end).
    pub(super) fn of_removable(&self) -> Self {
        Self {
            is_stopping: self.is_stopping.clone(),
            is_removed: Some(Arc::default()),
            cancelled: self.cancelled.child_token(),
        }
    }

    /// Ends the watches of a resource that is removed. Has no effect for the server's own state.
    pub(super) fn end(&self) {
        let Some(is_removed) = &self.is_removed else { return };
        is_removed.store(true, Ordering::Release);
        self.cancelled.cancel();
    }

    /// Returns whether watches have to end.
    pub(super) fn is_ending(&self) -> bool {
        let is_removed = self.is_removed.as_ref().is_some_and(|flag| flag.load(Ordering::Acquire));
        is_removed || self.is_stopping.load(Ordering::Acquire)
    }

    /// Waits until watches have to end.
    pub(super) fn wait(&self) -> WaitForCancellationFutureOwned {
        self.cancelled.clone().cancelled_owned()
    }
}
