//! Rules that claims and volumes share: access modes and amounts of storage.

use registry_core::api::FieldError;
use registry_core::api::validation::ErrorList;
use registry_core::schema::Quantity;

use crate::support::field::Field;

const ALONE: &str = "ReadWriteOncePod";
const MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", ALONE];

/// Checks the access modes; one of them must be the only one.
pub(crate) fn check_access_modes(modes: &Field<'_, '_>, errors: &mut ErrorList) {
    let mut alone = false;
    for mode in modes.elements() {
        alone |= mode.text() == ALONE;
        if !MODES.contains(&mode.text()) {
            errors.push(FieldError::not_supported(modes.path(), mode.text(), &MODES));
        }
    }
    if alone && modes.len() > 1 {
        errors.push(modes.forbidden("may not use ReadWriteOncePod with other access modes"));
    }
}

/// Adds an error if an amount is not positive.
pub(crate) fn check_positive(amount: &Field<'_, '_>, errors: &mut ErrorList) {
    if let (Ok(one), Ok(none)) = (Quantity::parse(amount.text()), Quantity::parse("0"))
        && !one.compare(&none).is_gt()
    {
        errors.push(amount.invalid("must be greater than zero"));
    }
}
