//! Values that are kept until a long-running response ends, such as the recording of its audit events. The handler of the
//! response announces its [`Lifetime`] in the extensions, so that the layers around it need not know the handler.

use std::sync::Arc;

/// A long-running response that keeps values until it ends.
pub(crate) trait KeepUntilEnd: Send + Sync {
    /// Keeps a value until the response ends.
    fn keep(&self, value: Box<dyn Send>);
}

/// The lifetime of a long-running response, in its extensions.
#[derive(Clone)]
pub(crate) struct Lifetime(Arc<dyn KeepUntilEnd>);

// === impl Lifetime ===

impl Lifetime {
    /// Returns the lifetime of this response.
    pub(crate) fn new(response: impl KeepUntilEnd + 'static) -> Self {
        Self(Arc::new(response))
    }

    /// Keeps a value until the response ends.
    pub(crate) fn keep(&self, value: impl Send + 'static) {
        self.0.keep(Box::new(value));
    }
}
