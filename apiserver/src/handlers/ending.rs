//! The end of all watches, when the server stops.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// Whether watches have to end. Each looks at it for each event: here without the lock that tokens have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ending {
    is_stopping: Arc<AtomicBool>,
    told: CancellationToken,
}

// === impl Ending ===

impl Ending {
    /// Comes when the server begins to stop. Must be called within a Tokio runtime.
    pub(crate) fn after(stopping: CancellationToken) -> Self {
        let ending = Self::default();
        let own = ending.clone();
        tokio::spawn(async move {
            stopping.cancelled().await;
            // Before anybody is woken to look.
            own.is_stopping.store(true, Ordering::Release);
            own.told.cancel();
        });
        ending
    }

    /// Whether it has come.
    pub(super) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }

    /// Waits for it.
    pub(super) fn wait(&self) -> WaitForCancellationFutureOwned {
        self.told.clone().cancelled_owned()
    }
}
