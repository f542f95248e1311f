//! Searches in the bytes of JSON strings, which look at eight bytes at once.

/// Every byte is 1.
const ONES: u64 = u64::MAX / 255;
/// The highest bit of every byte.
const HIGH_BITS: u64 = ONES << 7;

/// Returns the position of the first quote or backslash.
pub(in crate::codec) fn quote_or_backslash(bytes: &[u8]) -> Option<usize> {
    let (words, rest) = bytes.as_chunks::<8>();
    for (place, word) in words.iter().enumerate() {
        let found = quotes_and_backslashes(u64::from_le_bytes(*word));
        if found != 0 {
            return Some(place * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    let place = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
    Some(bytes.len() - rest.len() + place)
}

/// Whether a string has bytes that are escaped in JSON: quotes, backslashes and control characters.
pub(super) fn has_escapes(bytes: &[u8]) -> bool {
    if let Some(end) = bytes.last_chunk::<8>() {
        // The last eight bytes may be looked at twice.
        return bytes.as_chunks::<8>().0.iter().any(|word| escapes(*word) != 0) || escapes(*end) != 0;
    }
    if let (Some([a, b, c, d]), Some([e, f, g, h])) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        return escapes([*a, *b, *c, *d, *e, *f, *g, *h]) != 0;
    }
    bytes.iter().any(|byte| matches!(byte, b'"' | b'\\' | ..b' '))
}

/// Returns 0 if none of the bytes is escaped.
const fn escapes(word: [u8; 8]) -> u64 {
    let word = u64::from_le_bytes(word);
    let controls = word.wrapping_sub(ONES * b' ' as u64) & !word & HIGH_BITS;
    quotes_and_backslashes(word) | controls
}

/// Returns a number whose lowest bit that is set is the highest bit of the first quote or backslash; 0 if there is none.
const fn quotes_and_backslashes(word: u64) -> u64 {
    zero_bytes(word ^ (ONES * b'"' as u64)) | zero_bytes(word ^ (ONES * b'\\' as u64))
}

/// Returns the highest bit of the lowest byte that is zero; higher bits mean nothing.
const fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & HIGH_BITS
}
