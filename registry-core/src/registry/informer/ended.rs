//! The reasons for which a watch ends.

use std::fmt;

use crate::api::StatusError;
use crate::storage::WatchError;

/// The HTTP code of a revision that the store no longer has.
const GONE: u16 = 410;

/// The end of an informer's watch.
#[derive(Debug)]
pub(super) enum Ended {
    /// The watch can continue where it was.
    Interrupted(String),
    /// Changes may have been missed: all objects must be listed again.
    Lost(String),
}

// === impl Ended ===

impl Ended {
    /// The watch ended without an error: the store shuts down, or closed it.
    pub(super) fn closed() -> Self {
        Self::Interrupted("the watch was closed".to_owned())
    }

    /// The watch could not be opened.
    pub(super) fn at_start(failure: &StatusError) -> Self {
        if failure.code == GONE {
            Self::Lost(failure.to_string())
        } else {
            Self::Interrupted(failure.to_string())
        }
    }

    /// The watch failed.
    pub(super) fn from_watch(error: &WatchError) -> Self {
        match error {
            WatchError::Interrupted(_) => Self::Interrupted(error.to_string()),
            WatchError::Compacted { .. } | WatchError::Corrupt { .. } => Self::Lost(error.to_string()),
        }
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interrupted(reason) | Self::Lost(reason) => formatter.write_str(reason),
        }
    }
}
