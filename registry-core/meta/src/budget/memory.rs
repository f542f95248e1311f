//! The memory that decoded values take, as it is taken from a [`Budget`](super::Budget).
//!
//! The numbers are those of `serde_json`, whose maps are B-trees: the first entry of a map allocates a leaf for eleven.
//! `{"a":1}` takes a hundred times as much memory as text.

use std::mem::size_of;

use serde_json::Value;

/// Memory of a value in its list or map, together with the memory of a small allocation below it, or of a list that has
/// grown.
pub const VALUE_BYTES: usize = 2 * size_of::<Value>();
/// Memory of a list with few elements, without the elements.
pub const LIST_BYTES: usize = 4 * size_of::<Value>();
/// Memory of a map with few entries: a leaf.
pub const MAP_BYTES: usize = 11 * (size_of::<String>() + size_of::<Value>()) + 24;
/// Number of entries of a leaf of a map that has grown.
const GROWN_LEAF_ENTRIES: usize = 6;
/// Size up to which a text is not looked at.
const SMALL_TEXT_BYTES: usize = 16 * 1024;
/// Maximum memory for a byte of JSON text: the memory that many `{"":0}` take.
const MAX_FACTOR: usize = (MAP_BYTES + 2 * VALUE_BYTES) / 6;
/// Number of bytes that are counted together.
const CHUNK_BYTES: usize = 255;

/// Returns the memory below a value.
pub fn value_bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(|item| size_of::<Value>() + value_bytes(item)).sum(),
        Value::Object(fields) if fields.is_empty() => 0,
        Value::Object(fields) => {
            let leaves = 1 + fields.len().saturating_sub(11) / GROWN_LEAF_ENTRIES;
            let entries = fields.iter().map(|(key, value)| key.len() + value_bytes(value));
            leaves * MAP_BYTES + entries.sum::<usize>()
        }
    }
}

/// Returns the memory that the empty objects in a value take once they have fields.
pub fn empty_object_bytes(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(empty_object_bytes).sum(),
        Value::Object(fields) if fields.is_empty() => MAP_BYTES,
        Value::Object(fields) => fields.values().map(empty_object_bytes).sum(),
        _ => 0,
    }
}

/// Returns the memory of the value that a JSON text decodes to, at most. A large text is read for this, but only once as far
/// as possible: its brackets and commas are counted first, those within strings too.
pub fn json_bytes(text: &[u8]) -> usize {
    if text.len() <= SMALL_TEXT_BYTES {
        return text.len() * MAX_FACTOR;
    }
    let at_most = count(text, b'{') * (MAP_BYTES + VALUE_BYTES)
        + count(text, b'[') * (LIST_BYTES + VALUE_BYTES)
        + count(text, b',') * VALUE_BYTES;
    let factor = at_most / text.len();
    if factor < SMALL_FACTOR { text.len() + at_most } else { text.len() + token_bytes(text) }
}

/// Memory for a byte of text below which the text is not read.
const SMALL_FACTOR: usize = 8;

/// Counts a byte. Without an exit from the inner loop and with small numbers, so that many bytes are compared at once.
fn count(text: &[u8], wanted: u8) -> usize {
    let in_chunk = |chunk: &[u8]| chunk.iter().fold(0_u8, |count, byte| count + u8::from(*byte == wanted));
    text.chunks(CHUNK_BYTES).map(|chunk| usize::from(in_chunk(chunk))).sum()
}

/// Returns the memory of the lists, the maps and their values in a JSON text. Brackets and commas in strings do not count.
fn token_bytes(text: &[u8]) -> usize {
    let mut bytes = 0;
    let mut opened = 0;
    let mut in_string = false;
    let mut is_escaped = false;
    for byte in text {
        if in_string {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b' ' | b'\n' | b'\t' | b'\r' => continue,
            // Nothing is allocated for an empty list or map.
            b'}' | b']' => opened = 0,
            _ => bytes += std::mem::take(&mut opened),
        }
        match byte {
            b'"' => in_string = true,
            b'{' => opened = MAP_BYTES + VALUE_BYTES,
            b'[' => opened = LIST_BYTES + VALUE_BYTES,
            b',' => bytes += VALUE_BYTES,
            _ => {}
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_take_at_least_the_memory_of_their_values() {
        for part in
            [r#"{"a":1}"#, "{}", "[]", "0", "[0]", r#"[{"":0}]"#, r#""a""#, r#"{"a":{"b":[1,2]},"c":"\"{["}"#]
        {
            let text = format!("[{}]", vec![part; 20_000].join(" ,\n"));
            let value: Value = serde_json::from_str(&text).unwrap();
            let (made, taken) = (value_bytes(&value), json_bytes(text.as_bytes()));
            assert!(made <= taken && taken <= 6 * made + 2 * text.len(), "{part}: {made}, {taken}");
        }
    }

    #[test]
    fn brackets_in_strings_take_nothing_beyond_the_text() {
        let text = json!({"data": {"a": r#"{"a":[1,{}]}"#.repeat(10_000)}}).to_string();
        assert!(json_bytes(text.as_bytes()) <= text.len() + 4096);
    }

    #[test]
    fn empty_objects_may_get_fields() {
        assert_eq!(empty_object_bytes(&json!({"a": [{}, {"b": {}}, 1], "c": {"d": 1}})), 2 * MAP_BYTES);
    }
}
