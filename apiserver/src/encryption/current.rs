//! The configuration in force.

use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use tokio::sync::watch;

use super::transformers::Transformers;

/// The transformers in force, and the number of their configuration, which begins at 1.
pub(super) struct Current {
    transformers: ArcSwap<Transformers>,
    number: watch::Sender<u64>,
}

// === impl Current ===

impl Current {
    pub(super) fn new(transformers: Transformers) -> Self {
        Self { transformers: ArcSwap::from_pointee(transformers), number: watch::Sender::new(1) }
    }

    pub(super) fn load(&self) -> Guard<Arc<Transformers>> {
        self.transformers.load()
    }

    pub(super) fn load_full(&self) -> Arc<Transformers> {
        self.transformers.load_full()
    }

    /// Puts other transformers in force.
    pub(super) fn replace(&self, transformers: Transformers) {
        self.transformers.store(Arc::new(transformers));
        self.number.send_modify(|number| *number += 1);
    }

    /// Returns the number of the configuration, and those that follow.
    pub(super) fn numbers(&self) -> watch::Receiver<u64> {
        self.number.subscribe()
    }
}
