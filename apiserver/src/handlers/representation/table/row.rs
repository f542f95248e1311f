//! The part of a row that is kept with its object: JSON with gaps, into which the ages are written for each response.
//!
//! It is a sequence of pieces of JSON. A piece is its length and its bytes; each but the last is followed by the
//! beginning of an age, in seconds since the epoch.

use bytes::Bytes;
use jiff::Timestamp;
use registry_core::resource::{CellValue, duration_text};

/// Bytes of a length.
const LENGTH_BYTES: usize = size_of::<u32>();

/// Builds a row.
pub(super) struct RowBuilder {
    bytes: Vec<u8>,
    /// The beginning of the current piece, and its length.
    piece_at: usize,
}

impl Default for RowBuilder {
    fn default() -> Self {
        let mut bytes = Vec::with_capacity(256);
        bytes.extend_from_slice(&[0; LENGTH_BYTES]);
        Self { bytes, piece_at: 0 }
    }
}

// === impl RowBuilder ===

impl RowBuilder {
    /// Returns the length of the row so far, in bytes.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Appends JSON.
    pub(super) fn text(&mut self, json: &[u8]) {
        self.bytes.extend_from_slice(json);
    }

    /// Appends a cell.
    pub(super) fn cell(&mut self, value: CellValue) {
        match value {
            CellValue::Fixed(value) => self.text(value.to_string().as_bytes()),
            CellValue::Age { before, since, after } => {
                self.text(open_string(&before).as_bytes());
                self.age(since);
                self.text(open_string(after).as_bytes().strip_prefix(b"\"").unwrap_or_default());
                self.text(b"\"");
            }
        }
    }

    fn age(&mut self, since: Timestamp) {
        self.close_piece();
        self.bytes.extend_from_slice(&since.as_second().to_le_bytes());
        self.piece_at = self.bytes.len();
        self.bytes.extend_from_slice(&[0; LENGTH_BYTES]);
    }

    fn close_piece(&mut self) {
        let begin = self.piece_at + LENGTH_BYTES;
        // A row has a few MiB at most.
        let length = u32::try_from(self.bytes.len() - begin).unwrap_or_default();
        if let Some(place) = self.bytes.get_mut(self.piece_at..begin) {
            place.copy_from_slice(&length.to_le_bytes());
        }
    }

    /// Returns the row.
    pub(super) fn finish(mut self) -> Bytes {
        self.close_piece();
        self.bytes.shrink_to_fit();
        self.bytes.into()
    }
}

/// Returns a text as a JSON string without its closing quote.
fn open_string(text: &str) -> String {
    let mut json = serde_json::Value::from(text).to_string();
    json.pop();
    json
}

/// Writes a row with the ages at a time.
pub(super) fn write(buffer: &mut Vec<u8>, row: &[u8], now: Timestamp) {
    let mut rest = row;
    while let Some((length, after)) = rest.split_first_chunk::<LENGTH_BYTES>() {
        let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
        let Some((json, after)) = after.split_at_checked(length) else { break };
        buffer.extend_from_slice(json);
        let Some((since, after)) = after.split_first_chunk() else { break };
        let age = duration_text(now.as_second().saturating_sub(i64::from_le_bytes(*since)));
        buffer.extend_from_slice(age.as_bytes());
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_those_of_the_time_of_writing() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let mut row = RowBuilder::default();
        row.text(b"[");
        row.cell("a\"b".into());
        row.text(b",");
        row.cell(CellValue::Age { before: "3 \"(".to_owned(), since: at(1_000), after: " \"ago)" });
        row.text(b",");
        row.cell(CellValue::age(at(1_010)));
        row.text(b"]");
        let row = row.finish();
        for (now, expected) in [
            (1_060, r#"["a\"b","3 \"(60s \"ago)","50s"]"#),
            (1_300, r#"["a\"b","3 \"(5m \"ago)","4m50s"]"#),
            (900, r#"["a\"b","3 \"(<invalid> \"ago)","<invalid>"]"#),
        ] {
            let mut written = Vec::new();
            write(&mut written, &row, at(now));
            assert_eq!(String::from_utf8(written).unwrap(), expected);
        }
    }

    #[test]
    fn a_row_without_ages_is_one_piece() {
        let mut row = RowBuilder::default();
        row.cell(1.into());
        let mut written = Vec::new();
        write(&mut written, &row.finish(), Timestamp::now());
        assert_eq!(written, b"1");
    }
}
