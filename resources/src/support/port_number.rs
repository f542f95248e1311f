//! The numbers of ports.

use registry_core::api::FieldError;
use registry_core::api::validation::ErrorList;
use resource_views::Integer;

/// The complaint about a number that is none of a port.
const RANGE: &str = "must be between 1 and 65535, inclusive";

/// Checks the number of a port; an absent one is 0.
pub(crate) fn check(port: &Integer<'_, '_>, errors: &mut ErrorList) {
    if !is_valid(port.number()) {
        errors.push(FieldError::invalid(port.path(), port.number(), RANGE));
    }
}

/// Returns what is wrong with the port of a service that the server calls, if anything.
pub(crate) fn called_service_complaint(port: i64) -> Option<String> {
    (!is_valid(port)).then(|| format!("port is not valid: {RANGE}"))
}

fn is_valid(number: i64) -> bool {
    (1..=65_535).contains(&number)
}
