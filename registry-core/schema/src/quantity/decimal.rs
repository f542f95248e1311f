//! Unsigned decimal numbers of any length.

use std::cmp::Ordering;

/// An integer times a power of ten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    /// Without leading and trailing zeros; empty for zero.
    digits: String,
    /// The power of ten.
    exponent: i64,
}

/// Number of fraction digits kept in a multiplication with a power of two; further digits only round up.
const FRACTION_DIGITS: usize = 18;

/// One, in units of the last digit.
const ONE: u128 = 10_u128.pow(18);

/// 10⁻⁹, in the same units.
const NANO: u128 = 10_u128.pow(9);

// === impl Decimal ===

impl Decimal {
    /// The exponent of Kubernetes' precision.
    pub(super) const NANO: i32 = -9;

    /// Returns `whole.fraction × 10^exponent`.
    pub(super) fn new(whole: &str, fraction: &str, exponent: i32) -> Self {
        let fraction_digits = i64::try_from(fraction.len()).unwrap_or(i64::MAX);
        Self::trimmed(&[whole, fraction].concat(), i64::from(exponent) - fraction_digits)
    }

    /// Returns `whole.fraction × 2^bits`, rounded up to 10⁻⁹, and at most the largest 64-bit integer.
    pub(super) fn scaled_by_power_of_two(whole: &str, fraction: &str, bits: u32) -> Self {
        const MOST: u128 = i64::MAX as u128;
        let whole = whole.parse::<u128>().unwrap_or(u128::MAX);
        if whole > MOST >> bits {
            return Self::from_units(MOST * ONE);
        }
        // Almost all quantities have no fraction. Then nothing is rounded, and the product fits 64 bits.
        if let (true, Ok(product)) = (fraction.is_empty(), u64::try_from(whole << bits)) {
            return Self::trimmed(&product.to_string(), 0);
        }
        let (kept, rest) = fraction.split_at_checked(FRACTION_DIGITS).unwrap_or((fraction, ""));
        let mut units = format!("{kept:0<FRACTION_DIGITS$}").parse::<u128>().unwrap_or_default();
        if rest.bytes().any(|digit| digit != b'0') {
            units += 1;
        }
        let scaled = ((whole * ONE) + units) << bits;
        Self::from_units(scaled.div_ceil(NANO).saturating_mul(NANO).min(MOST * ONE))
    }

    fn from_units(units: u128) -> Self {
        Self::trimmed(&units.to_string(), -18)
    }

    fn trimmed(digits: &str, exponent: i64) -> Self {
        let digits = digits.trim_start_matches('0');
        let kept = digits.trim_end_matches('0');
        let dropped = i64::try_from(digits.len() - kept.len()).unwrap_or(i64::MAX);
        let exponent = if kept.is_empty() { 0 } else { exponent.saturating_add(dropped) };
        Self { digits: kept.to_owned(), exponent }
    }

    /// Compares two numbers.
    pub(super) fn compare(&self, other: &Self) -> Ordering {
        let magnitude = |number: &Self| {
            i64::try_from(number.digits.len()).unwrap_or(i64::MAX).saturating_add(number.exponent)
        };
        match (self.is_zero(), other.is_zero()) {
            // Without leading and trailing zeros, digits of the same magnitude compare as strings.
            (false, false) => {
                magnitude(self).cmp(&magnitude(other)).then_with(|| self.digits.cmp(&other.digits))
            }
            (zero, other_zero) => other_zero.cmp(&zero),
        }
    }

    /// Creates a number from units of 10⁻⁹.
    pub(super) fn from_nanos(nanos: u128) -> Self {
        Self::trimmed(&nanos.to_string(), Self::NANO.into())
    }

    /// Returns the number in units of 10⁻⁹; `None` if it is too large or too precise.
    pub(super) fn nanos(&self) -> Option<i128> {
        if self.is_zero() {
            return Some(0);
        }
        let shift = u32::try_from(self.exponent.checked_sub(Self::NANO.into())?).ok()?;
        10_i128.checked_pow(shift)?.checked_mul(self.digits.parse().ok()?)
    }

    /// Returns the sum. If it would have too many digits, it is the larger number.
    pub(super) fn plus(&self, other: &Self) -> Self {
        let Some((left, right, exponent)) = self.aligned(other) else {
            return if self.compare(other).is_lt() { other } else { self }.clone();
        };
        Self::trimmed(&sum(&left, &right), exponent)
    }

    /// Returns the difference to a number that is not larger. If that would have too many digits, it is this number.
    pub(super) fn minus(&self, other: &Self) -> Self {
        if self == other {
            return Self::trimmed("", 0);
        }
        let Some((left, right, exponent)) = self.aligned(other) else { return self.clone() };
        Self::trimmed(&difference(&left, &right), exponent)
    }

    /// Returns the nearest floating-point number.
    pub(super) fn to_f64(&self) -> f64 {
        format!("0{}e{}", self.digits, self.exponent).parse().unwrap_or(f64::INFINITY)
    }

    /// Returns the digits of both numbers, as many of each, and the exponent of the last ones. `None` if they would be too
    /// many: a client can send any number of digits, and any exponent.
    fn aligned(&self, other: &Self) -> Option<(String, String, i64)> {
        const MOST: usize = 1_000;
        let exponent = self.exponent.min(other.exponent);
        let padded = |number: &Self| {
            let zeros = usize::try_from(number.exponent.checked_sub(exponent)?).ok()?;
            let fits = number.digits.len().checked_add(zeros)? <= MOST;
            fits.then(|| format!("{}{}", number.digits, "0".repeat(zeros)))
        };
        let (left, right) = (padded(self)?, padded(other)?);
        let length = left.len().max(right.len());
        Some((format!("{left:0>length$}"), format!("{right:0>length$}"), exponent))
    }

    pub(super) fn is_whole(&self) -> bool {
        self.exponent >= 0
    }

    pub(super) fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    pub(super) fn is_below_one(&self) -> bool {
        self.exponent.saturating_add(i64::try_from(self.digits.len()).unwrap_or(i64::MAX)) <= 0
    }

    /// Rounds up to a power of ten.
    pub(super) fn round_up_to(&mut self, exponent: i32) {
        let Ok(excess) = usize::try_from(i64::from(exponent) - self.exponent) else { return };
        if excess == 0 || self.is_zero() {
            return;
        }
        let kept = self.digits.len().checked_sub(excess).and_then(|length| self.digits.get(..length));
        // The last digit is not zero, so the rounding always drops a non-zero part.
        *self = Self::trimmed(&plus_one(kept.unwrap_or_default()), i64::from(exponent));
    }

    /// Returns the digits and the largest exponent that is a multiple of three and leaves no fraction.
    pub(super) fn as_powers_of_1000(&self) -> (String, i64) {
        let exponent = self.exponent.div_euclid(3) * 3;
        let mut digits = self.digits.clone();
        for _ in exponent..self.exponent {
            digits.push('0');
        }
        (digits, exponent)
    }

    /// Returns the digits and the largest power of 1024, as a power of two, that leaves no fraction; `None` for small
    /// numbers and those with a fraction, which are written in decimal.
    pub(super) fn as_powers_of_1024(&self) -> Option<(String, u32)> {
        let zeros = usize::try_from(self.exponent).ok()?;
        let mut whole: u64 = format!("{}{}", self.digits, "0".repeat(zeros)).parse().ok()?;
        if whole < 1024 {
            return None;
        }
        let mut bits = 0;
        while whole.is_multiple_of(1024) {
            whole /= 1024;
            bits += 10;
        }
        Some((whole.to_string(), bits))
    }
}

/// Adds numbers with the same number of digits.
fn sum(left: &str, right: &str) -> String {
    let mut carry = 0;
    let mut digits = Vec::with_capacity(left.len() + 1);
    for (left, right) in left.bytes().rev().zip(right.bytes().rev()) {
        let sum = (left - b'0') + (right - b'0') + carry;
        digits.push(char::from(b'0' + sum % 10));
        carry = sum / 10;
    }
    digits.push(char::from(b'0' + carry));
    digits.into_iter().rev().collect()
}

/// Subtracts a number with the same number of digits, which is not larger.
fn difference(left: &str, right: &str) -> String {
    let mut borrowed = 0;
    let mut digits = Vec::with_capacity(left.len());
    for (left, right) in left.bytes().rev().zip(right.bytes().rev()) {
        let difference = (left + 10) - right - borrowed;
        digits.push(char::from(b'0' + difference % 10));
        borrowed = u8::from(difference < 10);
    }
    digits.into_iter().rev().collect()
}

/// Adds one to a decimal number.
fn plus_one(digits: &str) -> String {
    let nines = digits.len() - digits.trim_end_matches('9').len();
    let (head, _) = digits.split_at(digits.len() - nines);
    let mut sum = match head.split_at_checked(head.len().wrapping_sub(1)) {
        Some((before, last)) => format!("{before}{}", last.parse::<u8>().unwrap_or_default() + 1),
        None => "1".to_owned(),
    };
    sum.extend(std::iter::repeat_n('0', nines));
    sum
}
