//! A key on its way from one store to another, the revision of that one, and what must have arrived at the end.

use bytes::Bytes;
use ring::digest::{Context, SHA256};

use super::Revision;

/// The greatest revision that clients can represent.
pub const MAX_REVISION: Revision = i64::MAX as Revision;

/// A key with its newest state, as it is stored at rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MovingKey {
    /// The full key.
    pub key: String,
    /// The value as stored at rest: encrypted values stay encrypted.
    pub value: Bytes,
    /// The revision that created the key.
    pub create_revision: Revision,
    /// The revision of the last write.
    pub mod_revision: Revision,
    /// The time at which the key is deleted, in seconds since 1970; `None` for never.
    pub expires_at_seconds: Option<u64>,
}

/// Changes of whole revisions, in order.
#[derive(Debug)]
pub struct FollowedChanges {
    /// All changes up to this revision have been returned, with these.
    pub revision: Revision,
    /// The changes; there may be none.
    pub changes: Vec<FollowedChange>,
}

/// A change of a key.
#[derive(Clone, Debug)]
pub enum FollowedChange {
    /// It was written.
    Put(MovingKey),
    /// It was deleted, or its time has ended.
    Delete {
        /// The key.
        key: String,
        /// The revision of the deletion.
        revision: Revision,
    },
}

/// The keys of a source at one revision.
pub trait KeyPages: Send {
    /// The source cannot be read.
    type Error;

    /// Returns the next keys, in order; none at the end.
    ///
    /// # Errors
    /// Fails if the source does, or has compacted the revision.
    fn next_page(&mut self) -> impl Future<Output = Result<Vec<MovingKey>, Self::Error>> + Send;
}

/// The way in which an import meets one that has not finished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Earlier {
    /// It is refused.
    #[default]
    Refused,
    /// The keys that the earlier one wrote are removed.
    Removed,
    /// The keys that the earlier one wrote are kept, and compared.
    Resumed,
}

/// Number and checksum of keys with their values, whatever their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The keys that stay.
    lasting: Sum,
    /// The keys that have a time to live.
    expiring: Sum,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    keys: u64,
    /// The sum of the first halves of the keys' SHA-256 digests, modulo 2¹²⁸.
    digests: u128,
}

/// A revision would be greater than clients can represent. Not retryable with the same number.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the revision {revision} plus {bump} is greater than clients can represent")]
pub struct TooManyRevisions {
    /// The revision of the source.
    pub revision: Revision,
    /// The number to add.
    pub bump: u64,
}

/// Adds to the revision of a source the number of revisions that clients may have seen since it was read.
///
/// # Errors
/// Fails if clients cannot represent the sum.
pub fn raised(revision: Revision, bump: u64) -> Result<Revision, TooManyRevisions> {
    let sum = revision.checked_add(bump).filter(|sum| *sum <= MAX_REVISION);
    sum.ok_or(TooManyRevisions { revision, bump })
}

// === impl MovingKey ===

impl MovingKey {
    /// Returns the size of key and value, in bytes.
    pub fn size_bytes(&self) -> usize {
        self.key.len() + self.value.len()
    }
}

// === impl FollowedChange ===

impl FollowedChange {
    /// Returns the key.
    pub fn key(&self) -> &str {
        match self {
            Self::Put(put) => &put.key,
            Self::Delete { key, .. } => key,
        }
    }

    /// Returns the size of key and value, in bytes.
    pub fn size_bytes(&self) -> usize {
        match self {
            Self::Put(put) => put.size_bytes(),
            Self::Delete { key, .. } => key.len(),
        }
    }

    /// Returns the revision.
    pub fn revision(&self) -> Revision {
        match self {
            Self::Put(put) => put.mod_revision,
            Self::Delete { revision, .. } => *revision,
        }
    }
}

// === impl Tally ===

impl Tally {
    /// Adds a key.
    pub fn add(&mut self, key: &str, value: &[u8], expires: bool) {
        let sum = if expires { &mut self.expiring } else { &mut self.lasting };
        sum.keys += 1;
        sum.digests = sum.digests.wrapping_add(digest(key, value));
    }

    /// Returns the number of keys.
    pub fn keys(&self) -> u64 {
        self.lasting.keys + self.expiring.keys
    }

    /// Whether this is what a store has read back after these keys were written to it. Keys with a time to live may have been
    /// deleted in between.
    pub fn arrived_as(&self, read_back: &Self) -> bool {
        let expiring_fit = if read_back.expiring.keys == self.expiring.keys {
            read_back.expiring == self.expiring
        } else {
            read_back.expiring.keys < self.expiring.keys
        };
        read_back.lasting == self.lasting && expiring_fit
    }
}

fn digest(key: &str, value: &[u8]) -> u128 {
    let mut context = Context::new(&SHA256);
    context.update(&(key.len() as u64).to_be_bytes());
    context.update(key.as_bytes());
    context.update(value);
    let digest = context.finish();
    digest.as_ref().first_chunk::<16>().map_or(0, |half| u128::from_be_bytes(*half))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(keys: &[(&str, &str, bool)]) -> Tally {
        let mut tally = Tally::default();
        for (key, value, expires) in keys {
            tally.add(key, value.as_bytes(), *expires);
        }
        tally
    }

    #[test]
    fn every_difference_is_seen_except_keys_that_have_expired() {
        let sent = tally(&[("/a", "1", false), ("/b", "2", false), ("/e", "3", true)]);
        let arrived = |keys: &[(&str, &str, bool)]| sent.arrived_as(&tally(keys));
        assert!(arrived(&[("/b", "2", false), ("/e", "3", true), ("/a", "1", false)]), "in any order");
        assert!(arrived(&[("/a", "1", false), ("/b", "2", false)]), "the event has expired");
        for wrong in [
            &[("/a", "1", false), ("/e", "3", true)][..],
            &[("/a", "1", false), ("/b", "x", false), ("/e", "3", true)],
            &[("/a", "2", false), ("/b", "1", false), ("/e", "3", true)],
            &[("/a", "1", false), ("/b", "2", false), ("/e", "x", true)],
            &[("/a", "1", false), ("/b", "2", false), ("/e", "3", true), ("/f", "", true)],
            &[("/a", "1", false), ("/b", "2", true), ("/e", "3", false)],
            &[("/a1", "", false), ("/b", "2", false), ("/e", "3", true)],
        ] {
            assert!(!arrived(wrong), "{wrong:?}");
        }
    }
}
