//! Quantities: numbers with suffixes, such as `500m` or `1Gi`, and their canonical form.
//!
//! Kubernetes concept: `resource.Quantity` in `k8s.io/apimachinery/pkg/api/resource`.

use std::cmp::Ordering;
use std::fmt;

mod decimal;

use decimal::Decimal;

/// A quantity with a precision of 10⁻⁹.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantity {
    negative: bool,
    amount: Decimal,
    format: Format,
    /// The original text, if it is canonical enough for Kubernetes to keep.
    text: Option<Box<str>>,
}

/// Error of parsing a quantity. Not retryable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// The text is not a number with a suffix.
    #[error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
    Format,
    /// The suffix is unknown.
    #[error("unable to parse quantity's suffix")]
    Suffix,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// `12e6`.
    DecimalExponent,
    /// `12M`.
    DecimalSi,
    /// `12Mi`.
    BinarySi,
}

/// The parts of a quantity's text.
struct Parts<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    suffix: &'a str,
}

const DECIMAL_SUFFIXES: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];

const BINARY_SUFFIXES: [(&str, u32); 6] =
    [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];

/// Number of units of 10⁻⁹ in 1.
const NANOS: i128 = 1_000_000_000;

/// Maximum number of digits with which Kubernetes computes in 64 bits and may keep the original text.
const FAST_DIGITS: usize = 18;

// === impl Quantity ===

impl Quantity {
    /// Compares the values of two quantities, independent of their notation.
    pub fn compare(&self, other: &Self) -> Ordering {
        match (self.is_negative(), other.is_negative()) {
            (false, false) => self.amount.compare(&other.amount),
            (true, true) => other.amount.compare(&self.amount),
            (negative, other_negative) => other_negative.cmp(&negative),
        }
    }

    /// Parses a quantity.
    ///
    /// # Errors
    /// Fails if the text is malformed.
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        if text.is_empty() {
            return Err(QuantityError::Format);
        }
        let parts = Parts::split(text)?;
        if let Some((_, bits)) = BINARY_SUFFIXES.iter().find(|(suffix, _)| *suffix == parts.suffix) {
            return Ok(Self::binary(&parts, *bits, text));
        }
        let si = DECIMAL_SUFFIXES.iter().find(|(suffix, _)| *suffix == parts.suffix);
        let (exponent, format) = match si {
            Some((_, exponent)) => (*exponent, Format::DecimalSi),
            None => (parts.exponent()?, Format::DecimalExponent),
        };
        Ok(Self::decimal(&parts, exponent, format, text))
    }

    /// Creates a quantity from an integer.
    pub fn whole(number: u64) -> Self {
        let amount = Decimal::new(&number.to_string(), "", 0);
        Self { negative: false, amount, format: Format::DecimalSi, text: None }
    }

    /// Whether it is an integer.
    pub fn is_whole(&self) -> bool {
        self.amount.is_whole()
    }

    /// Returns the value in units of 10⁻⁹; `None` if it is too large.
    pub fn nanos(&self) -> Option<i128> {
        let nanos = self.amount.nanos()?;
        Some(if self.negative { -nanos } else { nanos })
    }

    /// Returns the number, rounded up to an integer; `None` if it is too large. (`Value`.)
    pub fn value(&self) -> Option<i128> {
        self.rounded_up(NANOS)
    }

    /// Returns the quantity, away from zero rounded to an integer, in the same notation. (`RoundUp(0)`.)
    #[must_use]
    pub fn to_whole(&self) -> Self {
        let mut whole = self.clone();
        if !self.is_whole() {
            whole.amount.round_up_to(0);
            whole.text = None;
        }
        whole
    }

    /// Returns the number of thousandths, rounded up; `None` if it is too large. (`MilliValue`.)
    pub fn milli_value(&self) -> Option<i128> {
        self.rounded_up(NANOS / 1_000)
    }

    fn rounded_up(&self, unit_nanos: i128) -> Option<i128> {
        let nanos = self.nanos()?;
        Some(nanos.div_euclid(unit_nanos) + i128::from(nanos.rem_euclid(unit_nanos) != 0))
    }

    /// Whether it is less than zero.
    pub fn is_negative(&self) -> bool {
        self.negative && !self.amount.is_zero()
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        self.amount.is_zero()
    }

    /// Whether it is more than zero.
    pub fn is_positive(&self) -> bool {
        !self.negative && !self.amount.is_zero()
    }

    /// Returns the nearest floating-point number.
    pub fn to_f64(&self) -> f64 {
        let amount = self.amount.to_f64();
        if self.negative { -amount } else { amount }
    }

    /// Returns the sum, in the notation of this quantity. It is exact if both have at most 1,000 digits, from the first to the
    /// last decimal place of either; otherwise it is the larger one.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        if let (Some(nanos), Some(more)) = (self.nanos(), other.nanos())
            && let Some(sum) = nanos.checked_add(more)
        {
            return self.with_nanos(sum);
        }
        let (negative, amount) = if self.negative == other.negative {
            (self.negative, self.amount.plus(&other.amount))
        } else if self.amount.compare(&other.amount).is_lt() {
            (other.negative, other.amount.minus(&self.amount))
        } else {
            (self.negative, self.amount.minus(&other.amount))
        };
        Self { negative, amount, format: self.format, text: None }
    }

    /// Returns how many times as large as another quantity it is: exactly, if both are a number of nanos.
    #[expect(clippy::cast_precision_loss, reason = "a ratio is compared, and shown with six digits")]
    pub fn ratio_to(&self, other: &Self) -> f64 {
        match (self.nanos(), other.nanos()) {
            (Some(nanos), Some(others)) => nanos as f64 / others as f64,
            _ => self.to_f64() / other.to_f64(),
        }
    }

    /// Returns the difference, in the notation of this quantity; as exact as a [sum](Self::plus).
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        self.plus(&Self { negative: !other.negative, text: None, ..other.clone() })
    }

    /// Returns a value in units of 10⁻⁹, in the notation of this quantity.
    #[must_use]
    pub fn with_nanos(&self, nanos: i128) -> Self {
        Self {
            negative: nanos < 0,
            amount: Decimal::from_nanos(nanos.unsigned_abs()),
            format: self.format,
            text: None,
        }
    }

    fn decimal(parts: &Parts<'_>, exponent: i32, format: Format, text: &str) -> Self {
        let mut amount = Decimal::new(parts.whole, parts.fraction, exponent);
        let digits = parts.whole.len() + parts.fraction.len();
        let scale = i64::from(exponent) - i64::try_from(parts.fraction.len()).unwrap_or(i64::MAX);
        let fast = digits <= FAST_DIGITS && scale >= i64::from(Decimal::NANO);
        let ends_in_thousand = [parts.whole, parts.fraction].concat().ends_with("000");
        let canonical = fast && scale % 3 == 0 && !ends_in_thousand && !parts.whole.starts_with('0');
        if !fast {
            amount.round_up_to(Decimal::NANO);
        }
        Self { negative: parts.negative, amount, format, text: canonical.then(|| text.into()) }
    }

    fn binary(parts: &Parts<'_>, bits: u32, text: &str) -> Self {
        let amount = Decimal::scaled_by_power_of_two(parts.whole, parts.fraction, bits);
        // Kubernetes keeps the text if a cheap check shows that no larger suffix is possible.
        let digits = i64::try_from(parts.whole.len()).unwrap_or(i64::MAX);
        let fast = parts.fraction.is_empty() && 15 - digits - i64::from(bits * 3 / 10) > 0;
        let odd_enough = parts.whole.parse::<i64>().is_ok_and(|value| value & 7 != 0);
        let format =
            if amount.is_below_one() && !amount.is_zero() { Format::DecimalSi } else { Format::BinarySi };
        let text = (fast && odd_enough).then(|| text.into());
        Self { negative: parts.negative, amount, format, text }
    }

    /// Returns the number and suffix in the canonical form of its format.
    fn canonical(&self) -> (String, String) {
        if self.format == Format::BinarySi
            && let Some((digits, bits)) = self.amount.as_powers_of_1024()
        {
            let suffix = BINARY_SUFFIXES.iter().find(|(_, of)| *of == bits).map_or("", |(suffix, _)| suffix);
            return (digits, suffix.to_owned());
        }
        let (digits, exponent) = self.amount.as_powers_of_1000();
        let si = DECIMAL_SUFFIXES.iter().find(|(_, of)| i64::from(*of) == exponent);
        let suffix = match si {
            Some((suffix, _)) if self.format != Format::DecimalExponent => (*suffix).to_owned(),
            _ if exponent == 0 => String::new(),
            _ => format!("e{exponent}"),
        };
        (digits, suffix)
    }
}

/// Writes the canonical form.
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(text) = &self.text {
            return f.write_str(text);
        }
        if self.amount.is_zero() {
            return f.write_str("0");
        }
        let (digits, suffix) = self.canonical();
        write!(f, "{}{digits}{suffix}", if self.negative { "-" } else { "" })
    }
}

// === impl Parts ===

impl<'a> Parts<'a> {
    fn split(text: &'a str) -> Result<Self, QuantityError> {
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let (whole, rest) = split_digits(unsigned.trim_start_matches('0'));
        let (fraction, suffix) = rest.strip_prefix('.').map_or(("", rest), split_digits);
        let exponent = suffix.trim_start_matches(|letter| "eEinumkKMGTP".contains(letter));
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        if !exponent.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(QuantityError::Format);
        }
        let whole = if whole.is_empty() { "0" } else { whole };
        Ok(Self { negative: text.starts_with('-'), whole, fraction, suffix })
    }

    /// Returns the exponent of a suffix such as `e6`.
    fn exponent(&self) -> Result<i32, QuantityError> {
        let number = self.suffix.strip_prefix(['e', 'E']).ok_or(QuantityError::Suffix)?;
        number.parse().map_err(|_| QuantityError::Suffix)
    }
}

fn split_digits(text: &str) -> (&str, &str) {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quantity(text: &str) -> Quantity {
        Quantity::parse(text).unwrap()
    }

    #[test]
    fn sums_and_differences_are_exact_at_any_size() {
        for (first, second, sum, difference) in [
            ("1Gi", "1Gi", "2Gi", "0"),
            ("1e30", "1", "1000000000000000000000000000001", "999999999999999999999999999999"),
            ("1Mi", "1e30", "1000000000000000000000001048576", "-999999999999999999999998951424"),
            ("-1e30", "500m", "-999999999999999999999999999999500m", "-1000000000000000000000000000000500m"),
            (
                "999999999999999999999999999999999999999999",
                "1",
                "1e42",
                "999999999999999999999999999999999999999998",
            ),
            ("1e40", "-1e40", "0", "20e39"),
        ] {
            let (first, second) = (quantity(first), quantity(second));
            assert!(first.plus(&second).compare(&quantity(sum)).is_eq(), "{first} + {second}");
            assert!(first.minus(&second).compare(&quantity(difference)).is_eq(), "{first} - {second}");
        }
    }

    #[test]
    fn values_are_rounded_up() {
        for (text, value, milli_value) in [
            ("1500m", Some(2), Some(1_500)),
            ("1n", Some(1), Some(1)),
            ("-1500m", Some(-1), Some(-1_500)),
            ("-1n", Some(0), Some(0)),
            ("2Ki", Some(2_048), Some(2_048_000)),
            ("0", Some(0), Some(0)),
            ("1e40", None, None),
        ] {
            let quantity = quantity(text);
            assert_eq!((quantity.value(), quantity.milli_value()), (value, milli_value), "{text}");
        }
    }

    #[test]
    fn ratios_are_exact_up_to_what_nanos_can_count() {
        for (first, second, ratio, error) in [
            ("300m", "100m", 3.0, f64::EPSILON),
            ("35m", "5m", 7.0, f64::EPSILON),
            ("1e40", "1e39", 10.0, 1e-9),
        ] {
            let found = quantity(first).ratio_to(&quantity(second));
            assert!((found - ratio).abs() < error, "{first} / {second} = {found}");
        }
    }

    #[test]
    fn huge_exponents_and_many_digits_cost_nothing() {
        let huge = quantity("1e2000000000");
        assert_eq!(huge.plus(&quantity("1")), huge.minus(&quantity("-1")));
        assert!(quantity("1").plus(&huge).compare(&huge).is_eq());
        assert!(quantity("1").minus(&huge).is_negative());
        assert_eq!((huge.to_f64(), quantity("-1500m").to_f64()), (f64::INFINITY, -1.5));
        let long = quantity(&"9".repeat(1_000_000));
        assert!(long.plus(&quantity("1")).compare(&long).is_eq() && long.minus(&long).is_zero());
        assert!(quantity("-0").is_zero() && !quantity("-0").is_negative() && !quantity("0").is_positive());
    }

    #[test]
    fn quantities_are_rounded_away_from_zero() {
        let long = "1000000000000000000000000000000000000000000";
        for (text, whole) in [
            ("1500m", "2"),
            ("-1500m", "-2"),
            ("1n", "1"),
            ("999.5", "1k"),
            ("1000m", "1"),
            ("0.5Ki", "512"),
            ("1Gi", "1Gi"),
            ("0", "0"),
        ] {
            assert_eq!(quantity(text).to_whole().to_string(), whole, "{text}");
        }
        let rounded = quantity(&format!("{long}.5")).to_whole();
        assert!(rounded.is_whole() && rounded.minus(&quantity(long)).compare(&quantity("1")).is_eq());
    }
}
