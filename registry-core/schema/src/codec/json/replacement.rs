//! Strings with text that is not Unicode: Go's decoder reads U+FFFD in its place, and serde_json refuses it.

use std::borrow::Cow;
use std::ops::Range;

use serde::de::DeserializeOwned;

/// Deserializes the answer of another server, in whose strings text that is not Unicode is read as U+FFFD.
///
/// # Errors
/// Fails if the answer is malformed.
pub fn from_slice<T: DeserializeOwned>(text: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice(text).or_else(|error| match replaced(text) {
        Cow::Owned(text) => serde_json::from_slice(&text),
        Cow::Borrowed(_) => Err(error),
    })
}

/// Returns the JSON text with U+FFFD for each half of a surrogate pair, and for each byte that is not UTF-8, in its
/// strings: the text itself if it has neither.
pub(super) fn replaced(text: &[u8]) -> Cow<'_, [u8]> {
    let mut out = Vec::new();
    let mut copied = 0;
    let mut replace = |place: Range<usize>| {
        out.extend_from_slice(text.get(copied..place.start).unwrap_or_default());
        out.extend_from_slice("\u{fffd}".as_bytes());
        copied = place.end;
    };
    let mut in_string = false;
    let mut end = 0;
    for chunk in text.utf8_chunks() {
        let mut rest = chunk.valid().as_bytes();
        end += rest.len();
        while let Some(byte) = rest.first() {
            let mut taken = 1;
            match byte {
                b'"' => in_string = !in_string,
                b'\\' if in_string => match code_unit(rest) {
                    Some(0xd800..=0xdbff) if is_second_half(rest.get(6..)) => taken = 12,
                    Some(0xd800..=0xdfff) => {
                        let begin = end - rest.len();
                        taken = 6;
                        replace(begin..begin + taken);
                    }
                    _ => taken = 2,
                },
                _ => {}
            }
            rest = rest.get(taken..).unwrap_or_default();
        }
        for _ in chunk.invalid() {
            // Elsewhere it is an error, which names the byte.
            if in_string {
                replace(end..end + 1);
            }
            end += 1;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.extend_from_slice(text.get(copied..).unwrap_or_default());
    Cow::Owned(out)
}

fn is_second_half(text: Option<&[u8]>) -> bool {
    matches!(text.and_then(code_unit), Some(0xdc00..=0xdfff))
}

/// Returns the number in an escape such as `\ud83d` at the start of a text.
fn code_unit(text: &[u8]) -> Option<u16> {
    let digits = text.strip_prefix(b"\\u")?.first_chunk::<4>()?;
    digits.iter().try_fold(0, |number, digit| {
        let digit = char::from(*digit).to_digit(16)?;
        Some(number << 4 | u16::try_from(digit).ok()?)
    })
}
