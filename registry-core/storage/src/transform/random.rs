//! Random bytes for nonces and keys.

use ring::rand::{SecureRandom as _, SystemRandom};

use super::TransformError;

/// Returns random bytes of the operating system.
///
/// # Errors
/// Fails if it has none.
pub(super) fn bytes<const LENGTH: usize>() -> Result<[u8; LENGTH], TransformError> {
    let mut bytes = [0; LENGTH];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| TransformError::Random)?;
    Ok(bytes)
}
