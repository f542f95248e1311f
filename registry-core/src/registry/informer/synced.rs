//! Whether an informer has its first list.

use tokio::sync::watch;

/// Whether an informer has handled its first list. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Synced(watch::Receiver<bool>);

// === impl Synced ===

impl Synced {
    pub(super) fn new(receiver: watch::Receiver<bool>) -> Self {
        Self(receiver)
    }

    /// Whether the first list was handled.
    pub fn is_synced(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until the first list was handled. `false` if the informer was dropped before that.
    pub async fn wait(&self) -> bool {
        self.0.clone().wait_for(|synced| *synced).await.is_ok()
    }
}
