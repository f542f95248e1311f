//! The reasons for which a watch ends.

use std::fmt;

use super::Source;

/// The end of an attempt to follow a collection.
#[derive(Debug)]
pub enum Ended<E> {
    /// The source has ended the watch, which can continue where it was.
    Closed,
    /// The list or the watch failed; a watch can continue where it was.
    Failed(E),
    /// Changes may have been missed: all objects must be listed again.
    Gone(E),
    /// The sink panicked, so that its state is unknown: all objects must be listed again.
    Panicked,
}

// === impl Ended ===

impl<E> Ended<E> {
    pub(super) fn with<S: Source<Error = E>>(error: E) -> Self {
        if S::is_gone(&error) { Self::Gone(error) } else { Self::Failed(error) }
    }
}

impl<E: fmt::Display> fmt::Display for Ended<E> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => formatter.write_str("the watch was closed"),
            Self::Failed(error) | Self::Gone(error) => error.fmt(formatter),
            Self::Panicked => formatter.write_str("the handler panicked"),
        }
    }
}
