//! Tokens whose signature was checked before: checking it is most of what a request with a token costs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use ring::digest::{SHA256, digest};

use super::VerifiedClaims;

/// So many are remembered; then all are forgotten, and checked again.
const MAX_TOKENS: usize = 4096;

/// The claims of tokens by the tokens' hashes, so that no token can be read out of memory. Only what never changes of
/// a token is kept: whether it is good now is asked each time.
#[derive(Default)]
pub(super) struct Verified(Mutex<HashMap<[u8; 32], Arc<VerifiedClaims>>>);

// === impl Verified ===

impl Verified {
    /// The claims of a token that was checked.
    pub(super) fn get(&self, token: &str) -> Option<Arc<VerifiedClaims>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&hash(token)).cloned()
    }

    /// Remembers a token that was checked.
    pub(super) fn insert(&self, token: &str, claims: Arc<VerifiedClaims>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_TOKENS {
            known.clear();
        }
        known.insert(hash(token), claims);
    }
}

fn hash(token: &str) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, token.as_bytes()).as_ref());
    hash
}
