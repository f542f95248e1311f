//! The key of a value: given, or derived from a seed.
//!
//! Kubernetes concept: `extendedNonceGCM` in `k8s.io/apiserver/pkg/storage/value/encrypt/aes`.

use bytes::Bytes;
use ring::hkdf::{HKDF_SHA256, Prk};

use crate::transform::aes::Gcm;
use crate::transform::{TransformError, random};

/// The type of a value whose key the service encrypted.
pub(super) const KEY: i32 = 0;
/// The type of a value whose key is derived from the seed that the service encrypted.
pub(super) const SEED: i32 = 1;
/// Length of seeds, of derived keys, and of what they are derived by, in bytes.
const BYTES: usize = 32;

/// The origin of keys.
pub(super) enum Source {
    Key(Gcm),
    Seed(Prk),
}

// === impl Source ===

impl Source {
    /// Returns the source of this type.
    pub(super) fn from_kind(kind: i32, bytes: &[u8]) -> Result<Self, TransformError> {
        match kind {
            KEY => Ok(Self::Key(Gcm::new(bytes)?)),
            _ => Self::seed(bytes),
        }
    }

    /// Returns the source of keys that are derived from a seed.
    pub(super) fn seed(bytes: &[u8]) -> Result<Self, TransformError> {
        if bytes.len() < BYTES {
            return Err(TransformError::SeedLength(bytes.len()));
        }
        Ok(Self::Seed(Prk::new_less_safe(HKDF_SHA256, bytes)))
    }

    /// Decrypts a value.
    pub(super) fn open(&self, stored: &[u8], context: &str) -> Result<Vec<u8>, TransformError> {
        match self {
            Self::Key(key) => key.open(stored, context),
            Self::Seed(seed) => {
                let (info, sealed) = stored.split_at_checked(BYTES).ok_or(TransformError::TooShort)?;
                derived(seed, info)?.open(sealed, context)
            }
        }
    }

    /// Encrypts a value.
    pub(super) fn seal(&self, plain: &[u8], context: &str) -> Result<Bytes, TransformError> {
        match self {
            Self::Key(key) => key.seal(Vec::new(), plain, context),
            Self::Seed(seed) => {
                let info = random::bytes::<BYTES>()?;
                derived(seed, &info)?.seal(info.to_vec(), plain, context)
            }
        }
    }
}

fn derived(seed: &Prk, info: &[u8]) -> Result<Gcm, TransformError> {
    let mut key = [0; BYTES];
    let info = [info];
    let expanded = seed.expand(&info, HKDF_SHA256).map_err(|_| TransformError::Derivation)?;
    expanded.fill(&mut key).map_err(|_| TransformError::Derivation)?;
    Ok(Gcm::new(&key)?)
}
