//! Ends all watches when the server stops.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// Whether watches have to end. Each watch checks it for each event: the flag avoids the lock of cancellation
/// tokens.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ending {
    is_stopping: Arc<AtomicBool>,
    told: CancellationToken,
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
            own.told.cancel();
        });
        ending
    }

    /// Returns whether the server is stopping.
    pub(super) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }

    /// Waits until the server is stopping.
    pub(super) fn wait(&self) -> WaitForCancellationFutureOwned {
        self.told.clone().cancelled_owned()
    }
}
