//! The place of P-521 keys in a program without the feature `es512`: the algorithm is refused, and keys are passed over.

/// No key: it has no values.
#[derive(Debug)]
pub(super) enum P521Key {}

/// The reason why this program does not verify ES512 signatures.
pub(super) const NOT_BUILT: Option<&str> = Some(REASON);
const REASON: &str =
    "this server was built without ES512 signatures: build `apiserver` with the feature `es512`";

// === impl P521Key ===

impl P521Key {
    /// Passes a key over.
    pub(super) fn read(_point: &[u8]) -> Option<Self> {
        tracing::warn!("oidc: a P-521 key of an issuer is not used: {REASON}");
        None
    }

    pub(super) fn verifies(&self, _signed: &[u8], _signature: &[u8]) -> bool {
        match *self {}
    }
}
