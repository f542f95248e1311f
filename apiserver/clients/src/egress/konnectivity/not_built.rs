//! The place of connections through konnectivity in a program without the feature `konnectivity`: configurations with them
//! are refused.

use std::path::Path;

use crate::dial::{Connection, DialError, TunnelError};

/// Whether programs can connect through konnectivity.
pub(super) const IS_BUILT: bool = false;

/// Refuses to connect.
pub(super) async fn open(_socket: &Path, _target: &str) -> Result<Box<dyn Connection>, DialError> {
    Err(TunnelError::NotBuilt.into())
}
