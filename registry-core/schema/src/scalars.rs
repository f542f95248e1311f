//! Scalar values: type checks and canonical forms.

use base64::Engine;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use base64::{DecodeError, alphabet};
use serde_json::{Number, Value};

use super::quantity::Quantity;
use super::times;
use super::types::Scalar;
use registry_meta::time::moment::{Layout, Moment};

/// Error of a value that does not match its type.
pub(super) enum Mismatch {
    /// The value has another JSON type, with Go's name.
    Type(String),
    /// The type decodes itself from another JSON type, which the value does not have: Go's names of both.
    Inner(String, &'static str),
    /// The type's own message, without the field.
    Text(String),
}

/// Base64 as in Go's `StdEncoding`: padded, but ignoring trailing bits.
const LENIENT_BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

// === impl Scalar ===

impl Scalar {
    /// Whether null is a valid value.
    pub(super) const fn takes_null(self) -> bool {
        matches!(self, Self::Any | Self::Raw)
    }
}

/// Checks a value other than null, and converts it to the canonical form.
pub(super) fn conform(scalar: Scalar, value: &mut Value) -> Result<(), Mismatch> {
    match (scalar, &mut *value) {
        (Scalar::Any | Scalar::Raw, _)
        | (Scalar::Bool, Value::Bool(_))
        | (Scalar::String | Scalar::IntOrString, Value::String(_)) => Ok(()),
        (Scalar::Int64, Value::Number(number)) if number.is_i64() => Ok(()),
        (Scalar::Int32, Value::Number(number)) if is_int32(number) => Ok(()),
        (Scalar::Int32 | Scalar::Int64, Value::Number(number)) => {
            Err(Mismatch::Type(format!("number {number}")))
        }
        (Scalar::IntOrString, value) => int_or_string(value),
        (Scalar::Double, Value::Number(number)) => {
            shorten_whole(number);
            Ok(())
        }
        (Scalar::Bytes, Value::String(text)) => base64(text),
        (Scalar::Quantity, value) => quantity(value),
        (Scalar::Time, value) => time(value, Layout::Seconds),
        (Scalar::MicroTime, value) => time(value, Layout::Microseconds),
        (_, value) => Err(Mismatch::Type(type_name(value).to_owned())),
    }
}

/// Returns the name of a value's type in Go's JSON decoder.
pub fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Whether the value is Go's zero value.
pub(super) fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(_) | Value::Object(_) => false,
    }
}

/// Whether Go's `omitempty` omits the value.
pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => is_zero(value),
    }
}

fn is_int32(number: &Number) -> bool {
    number.as_i64().is_some_and(|number| i32::try_from(number).is_ok())
}

/// Converts a floating point number without a fraction as Go writes it.
pub(super) fn shorten_whole(number: &mut Number) {
    /// From this value on, Go writes exponents, and so does serde.
    const EXPONENT_FROM: f64 = 1e15;
    if let Some(float) = number.as_f64()
        && number.is_f64()
        && float.fract() == 0.0
        && float.abs() < EXPONENT_FROM
    {
        #[expect(clippy::cast_possible_truncation, reason = "whole, and within the bounds just checked")]
        let whole = float as i64;
        *number = whole.into();
    }
}

fn int_or_string(value: &Value) -> Result<(), Mismatch> {
    let found = match value {
        Value::Number(number) if is_int32(number) => return Ok(()),
        Value::Number(number) => format!("number {number}"),
        other => type_name(other).to_owned(),
    };
    Err(Mismatch::Inner(found, "int32"))
}

fn base64(text: &mut String) -> Result<(), Mismatch> {
    if text.contains(['\r', '\n']) {
        text.retain(|letter| letter != '\r' && letter != '\n');
    }
    let Err(strict) = STANDARD.decode(text.as_bytes()) else { return Ok(()) };
    if let Ok(bytes) = LENIENT_BASE64.decode(text.as_bytes()) {
        *text = STANDARD.encode(bytes);
        return Ok(());
    }
    let offset = match strict {
        DecodeError::InvalidByte(offset, _) | DecodeError::InvalidLastSymbol(offset, _) => offset,
        DecodeError::InvalidLength(_) | DecodeError::InvalidPadding => text.len() / 4 * 4,
    };
    Err(Mismatch::Text(format!("illegal base64 data at input byte {offset}")))
}

fn quantity(value: &mut Value) -> Result<(), Mismatch> {
    let parsed = match &*value {
        Value::String(text) => Quantity::parse(text.trim()),
        // Other JSON is parsed as text, as in Kubernetes: numbers are valid, everything else is not.
        other => Quantity::parse(&other.to_string()),
    };
    let canonical = parsed.map_err(|error| Mismatch::Text(error.to_string()))?.to_string();
    if value.as_str() != Some(&canonical) {
        *value = Value::String(canonical);
    }
    Ok(())
}

/// Conforms a time. Go's zero time is null, as Kubernetes writes it.
fn time(value: &mut Value, layout: Layout) -> Result<(), Mismatch> {
    let Value::String(text) = &*value else {
        return Err(Mismatch::Inner(type_name(value).to_owned(), "string"));
    };
    let moment = Moment::parse(text, layout).map_err(|error| Mismatch::Text(error.to_string()))?;
    if moment == Moment::ZERO {
        *value = Value::Null;
    } else if let Some(canonical) = times::canonical(text, moment, layout) {
        *value = Value::String(canonical);
    }
    Ok(())
}
