//! Shards of a list: objects whose hash is in some ranges.
//!
//! Kubernetes concept: `k8s.io/apimachinery/pkg/sharding`,
//! [KEP-5866](https://kep.k8s.io/5866).

use std::sync::Arc;

/// The end of all hashes: one more than the greatest.
pub const END_OF_HASHES: u128 = 1 << 64;

/// The field of an object by which it belongs to a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShardKey {
    /// `object.metadata.uid`
    Uid,
    /// `object.metadata.namespace`
    Namespace,
}

/// Hashes from `start` to before `end`, which is at most [`END_OF_HASHES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShardRange {
    /// The first hash.
    pub start: u128,
    /// The first hash behind the range.
    pub end: u128,
}

/// Selects the objects of a shard. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardSelector {
    key: ShardKey,
    /// The ranges, sorted, without those that touch others.
    ranges: Arc<[ShardRange]>,
    text: Arc<str>,
}

// === impl ShardKey ===

impl ShardKey {
    /// All keys.
    pub const ALL: [Self; 2] = [Self::Uid, Self::Namespace];

    /// Returns the path of the field.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Uid => "object.metadata.uid",
            Self::Namespace => "object.metadata.namespace",
        }
    }

    /// Returns the name of the field in `metadata`.
    pub const fn field(self) -> &'static str {
        match self {
            Self::Uid => "uid",
            Self::Namespace => "namespace",
        }
    }
}

// === impl ShardSelector ===

impl ShardSelector {
    /// Creates a selector of the objects whose key is in one of the ranges, which may overlap.
    pub fn new(key: ShardKey, ranges: &[ShardRange]) -> Self {
        let described = ranges.iter().map(|ShardRange { start, end }| {
            format!("shardRange({}, '0x{start:016x}', '0x{end:016x}')", key.path())
        });
        let text = described.collect::<Vec<_>>().join(" || ").into();
        let mut sorted = ranges.to_vec();
        sorted.sort_unstable();
        let mut disjoint: Vec<ShardRange> = Vec::new();
        for range in sorted {
            match disjoint.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => disjoint.push(range),
            }
        }
        Self { key, ranges: disjoint.into(), text }
    }

    /// Returns the field by which objects belong to the shard.
    pub fn key(&self) -> ShardKey {
        self.key
    }

    /// Returns the selector as clients write it.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Whether objects with this value of the key are selected.
    pub fn matches(&self, value: &str) -> bool {
        let hash = u128::from(hash(value));
        let behind = self.ranges.partition_point(|range| range.start <= hash);
        behind.checked_sub(1).and_then(|at| self.ranges.get(at)).is_some_and(|range| hash < range.end)
    }
}

/// Returns the hash of a value: FNV-1a, of 64 bits.
fn hash(value: &str) -> u64 {
    value
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selector(ranges: &[(u128, u128)]) -> ShardSelector {
        let ranges: Vec<ShardRange> =
            ranges.iter().map(|(start, end)| ShardRange { start: *start, end: *end }).collect();
        ShardSelector::new(ShardKey::Uid, &ranges)
    }

    #[test]
    fn values_are_hashed_as_in_kubernetes() {
        for (value, expected) in
            [("", 0xcbf2_9ce4_8422_2325), ("a", 0xaf63_dc4c_8601_ec8c), ("foobar", 0x8594_4171_f739_67e8)]
        {
            assert_eq!(hash(value), expected, "{value}");
        }
    }

    #[test]
    fn ranges_have_a_first_and_no_last_hash() {
        let own = u128::from(hash("a"));
        for (ranges, is_in) in [
            (&[(0, END_OF_HASHES)][..], true),
            (&[(own, own + 1)], true),
            (&[(own + 1, END_OF_HASHES)], false),
            (&[(0, own)], false),
            (&[(own + 1, END_OF_HASHES), (0, own)], false),
            (&[(own + 1, END_OF_HASHES), (0, own), (own, own + 1)], true),
            (&[(0, END_OF_HASHES), (1, 2)], true),
            (&[(1, 2), (0, own + 1), (2, 3)], true),
            (&[], false),
        ] {
            assert_eq!(selector(ranges).matches("a"), is_in, "{ranges:?}");
        }
    }

    #[test]
    fn the_text_keeps_the_order_and_all_digits() {
        assert_eq!(
            &**selector(&[(0x80, END_OF_HASHES), (0, 0xff)]).text(),
            "shardRange(object.metadata.uid, '0x0000000000000080', '0x10000000000000000') || \
             shardRange(object.metadata.uid, '0x0000000000000000', '0x00000000000000ff')"
        );
    }
}
