//! A change at rest: the record under its revision, with everything needed to rebuild the index.
//!
//! | bytes | content |
//! |---|---|
//! | 1 | kind: 0 meta, 1 put, 2 deletion |
//! | 8 | the revision itself (a record under a foreign revision is damage) |
//! | 8 | the revision that created the key; in the meta record the compaction revision |
//! | 8 | the revision that this one replaces, 0 if the key was absent; in the meta record the version of the format |
//! | 8 | expiry of the key in seconds since 1970, 0 for never |
//! | 4 | the key's length in bytes |
//! | … | the key, followed by the value |
//! | 8 | XXH3 of all bytes before |
//!
//! All numbers are big-endian.

use bytes::Bytes;
use xxhash_rust::xxh3::xxh3_64;

use super::Revision;

/// The revision of the [`Kind::Meta`] record. No change uses it.
pub(super) const META_REVISION: Revision = 0;

/// The revision of an empty store, as in etcd.
pub(super) const EMPTY_REVISION: Revision = 1;

const HEADER_BYTES: usize = 1 + 4 * 8 + 4;
const CHECKSUM_BYTES: usize = 8;
/// The newest version of the format that this program reads, and the one that it writes.
pub(super) const FORMAT_VERSION: u64 = 0;
/// The number of [`Kind::Delete`].
const DELETE: u8 = 2;
/// The highest number of a kind.
const NEWEST_KIND: u8 = 2;

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Metadata of the whole store.
    Meta,
    /// A key was written.
    Put,
    /// A key was deleted.
    Delete,
}

/// A decoded record, or a record to be encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record<Key> {
    pub(super) kind: Kind,
    pub(super) revision: Revision,
    pub(super) create_revision: Revision,
    /// 0 if the key was absent before.
    pub(super) previous_revision: Revision,
    /// Seconds since 1970; 0 is never.
    pub(super) expires_at_seconds: u64,
    pub(super) key: Key,
    pub(super) value: Bytes,
}

/// Error of records that differ from those that were written. Not retryable.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Damage {
    #[error("the record of revision {0} is cut short")]
    CutShort(Revision),
    #[error("the record of revision {0} does not match its checksum")]
    Checksum(Revision),
    #[error(
        "the record of revision {0} is of a kind that this version does not know: a newer version has written it"
    )]
    NewerKind(Revision),
    #[error("its format has version {0}, and this program reads up to version {FORMAT_VERSION}")]
    NewerFormat(u64),
    #[error("the record of revision {0} is malformed")]
    Malformed(Revision),
    #[error("the record of revision {0} is that of revision {1}")]
    OtherRevision(Revision, Revision),
    #[error("the records of the revisions {first} to {last} are missing")]
    Missing { first: Revision, last: Revision },
    #[error("revision {revision} replaces revision {replaced}, but the newest one of its key is {newest}")]
    Replaces { revision: Revision, replaced: Revision, newest: Revision },
    #[error("the record of the compaction point is of another kind")]
    CompactionPointKind,
    #[error("the record of the compaction point is missing (an interrupted restore?)")]
    NoCompactionPoint,
    #[error(
        "the log ends at revision {end}, but revision {acknowledged} had been acknowledged: the last {writes} writes are \
         lost"
    )]
    Lost { end: Revision, acknowledged: Revision, writes: u64 },
}

// === impl Record ===

impl Record<&str> {
    /// Creates the record of the compaction revision.
    pub(super) fn meta(compacted: Revision) -> Self {
        Self {
            kind: Kind::Meta,
            revision: META_REVISION,
            create_revision: compacted,
            previous_revision: FORMAT_VERSION,
            expires_at_seconds: 0,
            key: "",
            value: Bytes::new(),
        }
    }
}

impl<Key: AsRef<str>> Record<Key> {
    /// Returns the encoded record.
    pub(super) fn encode(&self) -> Bytes {
        let key = self.key.as_ref().as_bytes();
        let mut bytes = Vec::with_capacity(HEADER_BYTES + key.len() + self.value.len() + CHECKSUM_BYTES);
        bytes.push(match self.kind {
            Kind::Meta => 0,
            Kind::Put => 1,
            Kind::Delete => DELETE,
        });
        for number in [self.revision, self.create_revision, self.previous_revision, self.expires_at_seconds] {
            bytes.extend_from_slice(&number.to_be_bytes());
        }
        // Longer keys are rejected earlier: the engine limits the size of key and value together.
        bytes.extend_from_slice(&u32::try_from(key.len()).unwrap_or(u32::MAX).to_be_bytes());
        bytes.extend_from_slice(key);
        bytes.extend_from_slice(&self.value);
        let checksum = xxh3_64(&bytes);
        bytes.extend_from_slice(&checksum.to_be_bytes());
        bytes.into()
    }
}

impl Record<String> {
    /// Decodes the record of a revision; the error describes the problem.
    pub(super) fn decode(revision: Revision, bytes: &Bytes) -> Result<Self, Damage> {
        let body_length = bytes.len().checked_sub(CHECKSUM_BYTES).ok_or(Damage::CutShort(revision))?;
        let body = bytes.slice(..body_length);
        let checksum = xxh3_64(&body).to_be_bytes();
        if !bytes.ends_with(&checksum) {
            return Err(Damage::Checksum(revision));
        }
        if body.first().is_some_and(|kind| *kind > NEWEST_KIND) {
            return Err(Damage::NewerKind(revision));
        }
        let record = Self::decode_body(&body).ok_or(Damage::Malformed(revision))?;
        if record.revision != revision {
            return Err(Damage::OtherRevision(revision, record.revision));
        }
        Ok(record)
    }

    /// Returns the version of the format that the meta record names; `None` for another record.
    pub(super) fn format(&self) -> Option<u64> {
        (self.kind == Kind::Meta).then_some(self.previous_revision)
    }

    /// Returns the checksum at the end of an encoded record; `None` if it is too short.
    pub(super) fn checksum(bytes: &[u8]) -> Option<u64> {
        bytes.last_chunk::<CHECKSUM_BYTES>().map(|checksum| u64::from_be_bytes(*checksum))
    }

    /// Whether an encoded record is that of a deletion.
    pub(super) fn is_deletion(bytes: &[u8]) -> bool {
        bytes.first() == Some(&DELETE)
    }

    /// Returns the key of a damaged record, as it reads; `None` if that part is not text.
    pub(super) fn key_despite_damage(bytes: &Bytes) -> Option<String> {
        let (length, rest) = bytes.get(HEADER_BYTES - 4..)?.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        str::from_utf8(rest.get(..length)?).ok().filter(|key| !key.is_empty()).map(str::to_owned)
    }

    fn decode_body(body: &Bytes) -> Option<Self> {
        let (kind, rest) = body.split_first()?;
        let kind = match *kind {
            0 => Kind::Meta,
            1 => Kind::Put,
            DELETE => Kind::Delete,
            _ => return None,
        };
        let (revision, rest) = split_number(rest)?;
        let (create_revision, rest) = split_number(rest)?;
        let (previous_revision, rest) = split_number(rest)?;
        let (expires_at_seconds, rest) = split_number(rest)?;
        let (key_length, rest) = rest.split_first_chunk::<4>()?;
        let key_length = usize::try_from(u32::from_be_bytes(*key_length)).ok()?;
        let key = str::from_utf8(rest.get(..key_length)?).ok()?.to_owned();
        let value = body.slice(HEADER_BYTES + key_length..);
        Some(Self { kind, revision, create_revision, previous_revision, expires_at_seconds, key, value })
    }
}

fn split_number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (number, rest) = bytes.split_first_chunk::<8>()?;
    Some((u64::from_be_bytes(*number), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Record<String> {
        Record {
            kind: Kind::Put,
            revision: 7,
            create_revision: 5,
            previous_revision: 6,
            expires_at_seconds: 1_700_000_000,
            key: "/registry/pods/default/web".to_owned(),
            value: Bytes::from_static(b"{\"kind\":\"Pod\"}"),
        }
    }

    #[test]
    fn survives_the_way_to_disk_and_back() {
        let record = sample();
        assert_eq!(Record::decode(7, &record.encode()).unwrap(), record);
        let meta = Record::decode(0, &Record::meta(42).encode()).unwrap();
        assert_eq!((meta.kind, meta.create_revision), (Kind::Meta, 42));
    }

    #[test]
    fn every_flipped_byte_and_every_cut_is_seen() {
        let bytes = sample().encode();
        for at in 0..bytes.len() {
            let mut flipped = bytes.to_vec();
            flipped[at] ^= 0x10;
            assert!(Record::decode(7, &flipped.into()).is_err(), "flipped byte {at}");
            assert!(Record::decode(7, &bytes.slice(..at)).is_err(), "cut at {at}");
        }
        assert_eq!(Record::key_despite_damage(&bytes), Some(sample().key));
        assert!(Record::decode(8, &bytes).unwrap_err().to_string().contains("is that of revision 7"));
    }
}
