//! Searches in the bytes of JSON strings, which look at eight bytes at once.

/// Every byte is 1.
const ONES: u64 = u64::MAX / 255;
/// The highest bit of every byte.
const HIGH_BITS: u64 = ONES << 7;

/// Returns the position of the first quote or backslash.
pub(super) fn quote_or_backslash(bytes: &[u8]) -> Option<usize> {
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
    let (words, rest) = bytes.as_chunks::<8>();
    let in_words = words.iter().any(|word| {
        let word = u64::from_le_bytes(*word);
        let controls = word.wrapping_sub(ONES * u64::from(b' ')) & !word & HIGH_BITS;
        (quotes_and_backslashes(word) | controls) != 0
    });
    in_words || rest.iter().any(|byte| matches!(byte, b'"' | b'\\' | ..b' '))
}

/// Returns a number whose lowest bit that is set is the highest bit of the first quote or backslash; 0 if there is none.
const fn quotes_and_backslashes(word: u64) -> u64 {
    zero_bytes(word ^ (ONES * b'"' as u64)) | zero_bytes(word ^ (ONES * b'\\' as u64))
}

/// Returns the highest bit of the lowest byte that is zero; higher bits mean nothing.
const fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & HIGH_BITS
}
