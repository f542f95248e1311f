//! Amounts of objects: a count, or a percentage of all.

use registry_core::api::FieldError;
use registry_core::api::validation::ErrorList;
use resource_views::IntOrString;

/// Checks a count or a percentage.
pub(crate) fn check(amount: &IntOrString<'_, '_>, errors: &mut ErrorList) {
    if amount.integer().is_some() {
        amount.check_not_negative(errors);
    } else if amount.exists() && percent(amount).is_none() {
        let detail = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";
        errors.push(FieldError::invalid(amount.path(), amount.text(), detail));
    }
}

/// Checks that a percentage is not more than everything.
pub(crate) fn check_at_most_all(amount: &IntOrString<'_, '_>, errors: &mut ErrorList) {
    if percent(amount).is_some_and(|percent| percent > 100) {
        errors.push(amount.invalid("must not be greater than 100%"));
    }
}

/// Returns the number of a percentage.
fn percent(amount: &IntOrString<'_, '_>) -> Option<u64> {
    amount
        .text()
        .strip_suffix('%')
        .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?
        .parse()
        .ok()
}

/// Whether an amount is zero.
pub(crate) fn is_zero(amount: &IntOrString<'_, '_>) -> bool {
    amount.integer() == Some(0) || percent(amount) == Some(0)
}

/// Whether an amount is more than nothing; a text that is not a percentage counts as nothing.
pub(crate) fn is_some(amount: &IntOrString<'_, '_>) -> bool {
    amount.integer().unwrap_or_default() != 0 || percent(amount).is_some_and(|percent| percent != 0)
}
