//! The place of P-521 keys in a program without the feature `es512`: the algorithm is refused, and keys are passed over.

/// No key: it has no values.
#[derive(Debug)]
pub(super) enum P521Key {}

const NOT_BUILT: &str =
    "this server was built without ES512 signatures: build `apiserver` with the feature `es512`";

/// Checks that this program verifies ES512 signatures: it does not.
pub(super) fn check_built() -> Result<(), String> {
    Err(NOT_BUILT.to_owned())
}

// === impl P521Key ===

impl P521Key {
    /// Passes a key over.
    pub(super) fn read(_point: &[u8]) -> Option<Self> {
        tracing::warn!("oidc: a P-521 key of an issuer is not used: {NOT_BUILT}");
        None
    }

    pub(super) fn verifies(&self, _signed: &[u8], _signature: &[u8]) -> bool {
        match *self {}
    }
}
