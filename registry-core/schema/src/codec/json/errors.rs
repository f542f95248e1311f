//! Error messages for malformed JSON, in the words of Go's decoder.

use crate::codec::DecodeError;

pub(super) const TOO_DEEP: &str = "exceeded max depth";

/// Converts an error of serde_json to the message that Kubernetes' clients know.
pub(super) fn translate(bytes: &[u8], error: &serde_json::Error) -> DecodeError {
    if error.is_eof() {
        return DecodeError::EndOfJson;
    }
    let text = error.to_string();
    let text = text.split(" at line ").next().unwrap_or_default();
    let Some(byte) = found(bytes, error) else { return DecodeError::Json(text.to_owned()) };
    let place = match text {
        "expected value" => "looking for beginning of value",
        "expected `,` or `}`" => "after object key:value pair",
        "expected `,` or `]`" => "after array element",
        "expected `:`" => "after object key",
        "key must be a string" => "looking for beginning of object key string",
        "trailing characters" => "after top-level value",
        "trailing comma" if byte == b'}' => "looking for beginning of object key string",
        "trailing comma" => "looking for beginning of value",
        "invalid escape" => "in string escape code",
        "invalid number" => "in numeric literal",
        "expected ident" => "in literal",
        other if other.starts_with("control character") => "in string literal",
        other => return DecodeError::Json(other.to_owned()),
    };
    DecodeError::JsonByte(byte, place)
}

/// Returns the byte that the error is about.
fn found(bytes: &[u8], error: &serde_json::Error) -> Option<u8> {
    let line = bytes.split(|byte| *byte == b'\n').nth(error.line().checked_sub(1)?)?;
    // The line terminator does not belong to the line.
    Some(line.get(error.column().checked_sub(1)?).copied().unwrap_or(b'\n'))
}
