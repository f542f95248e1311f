//! The audit id of a request: the client's own, or a new one.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use http::{HeaderMap, HeaderName, HeaderValue};
use uuid::Uuid;

/// `Audit-Id`, in requests and responses.
pub(super) const HEADER: HeaderName = HeaderName::from_static("audit-id");

/// Maximum length of an id that is taken from a client.
const MAX_BYTES: usize = 128;

/// Creates unique ids: keyed hashes of a counter, which need no system call as random ones would.
#[derive(Debug, Default)]
pub(crate) struct AuditIds {
    keys: [RandomState; 2],
    counter: AtomicU64,
}

impl AuditIds {
    /// Returns the id of a request with these headers.
    pub(crate) fn id_of(&self, headers: &HeaderMap) -> HeaderValue {
        match headers.get(HEADER) {
            Some(given) if !given.is_empty() && given.len() <= MAX_BYTES && given.to_str().is_ok() => {
                given.clone()
            }
            _ => self.fresh(),
        }
    }

    fn fresh(&self) -> HeaderValue {
        let count = self.counter.fetch_add(1, Ordering::Relaxed);
        let [high, low] = self.keys.each_ref().map(|key| key.hash_one(count));
        let id = uuid::Builder::from_random_bytes(Uuid::from_u64_pair(high, low).into_bytes()).into_uuid();
        let mut text = Uuid::encode_buffer();
        HeaderValue::from_str(id.hyphenated().encode_lower(&mut text))
            .unwrap_or(const { HeaderValue::from_static("unknown") })
    }
}
