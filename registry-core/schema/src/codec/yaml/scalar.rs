//! Types of YAML scalars.
//!
//! Kubernetes concept: `resolve` of `sigs.k8s.io/yaml/goyaml.v2`, which follows YAML 1.1.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use saphyr_parser::Tag;
use serde_json::Value;

use crate::codec::json;

use super::Problem;

const CORE: &str = "tag:yaml.org,2002:";

/// A scalar with its type.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
}

/// Resolves a scalar by its tag, or by its form if it is plain.
pub(super) fn resolve(text: &str, plain: bool, tag: Option<&Tag>) -> Result<Scalar, Problem> {
    let Some(tag) = tag else {
        return Ok(if plain { look(text) } else { Scalar::Text(text.to_owned()) });
    };
    let name = format!("{}{}", tag.handle, tag.suffix);
    let mismatch = || format!("cannot decode !!str `{text}` as a {}", name.replace(CORE, "!!"));
    match (name.strip_prefix(CORE), look(text)) {
        (Some("null"), Scalar::Null) => Ok(Scalar::Null),
        (Some("bool"), value @ Scalar::Bool(_)) | (Some("int"), value @ Scalar::Int(_)) => Ok(value),
        (Some("float"), value @ (Scalar::Int(_) | Scalar::Float(_))) => Ok(value),
        (Some("null" | "bool" | "int" | "float"), _) => Err(mismatch()),
        (Some("binary"), _) => {
            let compact: String = text.split_ascii_whitespace().collect();
            let bytes =
                STANDARD.decode(compact).map_err(|_| "!!binary value contains invalid base64 data")?;
            Ok(Scalar::Text(String::from_utf8(bytes).map_err(|_| "!!binary value is not UTF-8")?))
        }
        _ => Ok(Scalar::Text(text.to_owned())),
    }
}

/// Resolves a plain scalar by its form.
fn look(text: &str) -> Scalar {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Scalar::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Scalar::Bool(true);
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Scalar::Bool(false);
        }
        ".nan" | ".NaN" | ".NAN" => return Scalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => return Scalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => return Scalar::Float(f64::NEG_INFINITY),
        _ => {}
    }
    let number = match text.as_bytes().first() {
        Some(b'0'..=b'9' | b'+' | b'-') => number(&text.replace('_', "")),
        Some(b'.') => number(text),
        _ => None,
    };
    number.unwrap_or_else(|| Scalar::Text(text.to_owned()))
}

fn number(text: &str) -> Option<Scalar> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    if let Some(magnitude) = whole(digits) {
        let signed = if negative { -i128::from(magnitude) } else { i128::from(magnitude) };
        if let Ok(number) = i64::try_from(signed) {
            return Some(Scalar::Int(number));
        }
        #[expect(clippy::cast_precision_loss, reason = "what is larger than int64 becomes a float")]
        return Some(Scalar::Float(signed as f64));
    }
    if !is_decimal(digits) {
        return None;
    }
    // Beyond the range of floats it is a string, as in Go.
    text.parse().ok().filter(|number: &f64| number.is_finite()).map(Scalar::Float)
}

/// Parses an integer in Go's notations: decimal, `0x`, `0o`, `0b`, and octal with a leading `0`.
fn whole(digits: &str) -> Option<u64> {
    let lower = digits.get(..2).map(str::to_ascii_lowercase);
    let (digits, radix) = match (lower.as_deref(), digits.strip_prefix('0')) {
        (Some("0x"), _) => (digits.get(2..)?, 16),
        (Some("0o"), _) => (digits.get(2..)?, 8),
        (Some("0b"), _) => (digits.get(2..)?, 2),
        (Some(_), Some(octal)) => (octal, 8),
        _ => (digits, 10),
    };
    // The standard library would accept a second sign.
    digits.starts_with(|first: char| first.is_ascii_hexdigit()).then_some(())?;
    u64::from_str_radix(digits, radix).ok()
}

/// Whether the text is a decimal such as `1.5`, `.5`, `1.`, `1e3`; names and hexadecimal floats are not.
fn is_decimal(text: &str) -> bool {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    let mantissa_fits = all_digits(before) && all_digits(after) && !(before.is_empty() && after.is_empty());
    let exponent_fits = exponent.is_none_or(|part| {
        let digits = part.strip_prefix(['+', '-']).unwrap_or(part);
        !digits.is_empty() && all_digits(digits)
    });
    mantissa_fits && exponent_fits
}

// === impl Scalar ===

impl Scalar {
    pub(super) fn to_json(&self) -> Result<Value, Problem> {
        Ok(match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Int(number) => (*number).into(),
            Self::Float(number) => Value::Number(
                json::float(*number).ok_or_else(|| format!("json: unsupported value: {number}"))?,
            ),
            Self::Text(text) => Value::String(text.clone()),
        })
    }

    /// Converts the scalar to a field name.
    pub(super) fn into_key(self) -> Result<String, Problem> {
        match self {
            Self::Text(text) => Ok(text),
            Self::Bool(value) => Ok(value.to_string()),
            Self::Int(number) => Ok(number.to_string()),
            Self::Float(number) if number.is_finite() => Ok(number.to_string()),
            Self::Float(_) | Self::Null => Err("unsupported map key: it has no name in JSON".to_owned()),
        }
    }
}
