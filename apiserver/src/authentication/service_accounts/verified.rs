//! A cache of verified tokens: checking the signature is most of the cost of a request with a token.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::VerifiedClaims;
use crate::authentication::tokens::{TokenHash, hash};

/// Maximum number of cached tokens; when it is reached, the cache is cleared.
const MAX_TOKENS: usize = 4096;

/// Claims by the hash of the token, so that no token can be read from memory. Only the immutable claims are
/// cached; whether a token is valid now is checked each time.
#[derive(Default)]
pub(super) struct Verified(Mutex<HashMap<TokenHash, Arc<VerifiedClaims>>>);

// === impl Verified ===

impl Verified {
    /// Returns the claims of a verified token.
    pub(super) fn get(&self, token: &str) -> Option<Arc<VerifiedClaims>> {
        self.0.lock().get(&hash(token)).cloned()
    }

    /// Adds a verified token.
    pub(super) fn insert(&self, token: &str, claims: Arc<VerifiedClaims>) {
        let mut known = self.0.lock();
        if known.len() >= MAX_TOKENS {
            known.clear();
        }
        known.insert(hash(token), claims);
    }
}
