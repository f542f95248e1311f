//! P-521 keys, which verify ES512 signatures.

use p521::ecdsa::signature::Verifier as _;
use p521::ecdsa::{Signature, VerifyingKey};

/// A P-521 key.
#[derive(Debug)]
pub(super) struct P521Key(Box<VerifyingKey>);

/// The reason why this program does not verify ES512 signatures: none.
pub(super) const NOT_BUILT: Option<&str> = None;

// === impl P521Key ===

impl P521Key {
    /// Returns the key of a point (SEC1) if it is on the curve.
    pub(super) fn read(point: &[u8]) -> Option<Self> {
        Some(Self(Box::new(VerifyingKey::from_sec1_bytes(point).ok()?)))
    }

    /// Whether this key has made a signature.
    pub(super) fn verifies(&self, signed: &[u8], signature: &[u8]) -> bool {
        Signature::from_slice(signature).is_ok_and(|signature| self.0.verify(signed, &signature).is_ok())
    }
}
