//! Numbers of values and of rules.

use std::fmt;

use registry_meta::go_text;
use serde_json::{Number, Value};

/// A number as Go decodes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Num {
    Int(i64),
    Float(f64),
}

// === impl Num ===

impl Num {
    pub(super) fn from_number(number: &Number) -> Self {
        match number.as_i64() {
            Some(number) => Self::Int(number),
            None => Self::Float(number.as_f64().unwrap_or_default()),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "Go compares so, too")]
    pub(super) fn as_float(self) -> f64 {
        match self {
            Self::Int(number) => number as f64,
            Self::Float(number) => number,
        }
    }

    pub(super) fn to_value(self) -> Value {
        match self {
            Self::Int(number) => number.into(),
            Self::Float(number) => number.into(),
        }
    }

    /// Whether it is an integer that fits into this many bits.
    pub(super) fn fits_integer(self, bits: u32) -> bool {
        let least = i64::MIN >> (64 - bits);
        match self {
            Self::Int(number) => (least..=!least).contains(&number),
            // Written without an exponent and parsed again: 2^63 is the first that does not fit.
            Self::Float(number) => {
                number.fract() == 0.0 && number >= as_float(least) && number < -as_float(least)
            }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "powers of two are exact")]
pub(super) fn as_float(number: i64) -> f64 {
    number as f64
}

impl fmt::Display for Num {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(number) => number.fmt(f),
            Self::Float(number) => f.write_str(&go_text::float(*number)),
        }
    }
}
