//! The policies by which the capacity of a device is shared.

use registry_core::api::FieldError;
use registry_core::api::validation::ErrorList;
use registry_core::schema::Quantity;
use resource_views::resource::v1::{CapacityRequestPolicyRange, DeviceCapacity};
use resource_views::{List, Quantity as Amount, View};

/// Maximum number of values that a policy lists.
const MAX_VALUES: usize = 10;

/// Checks the request policy of a capacity; only a device that can be allocated several times may have one.
pub(super) fn check(capacity: &DeviceCapacity<'_, '_>, is_shared: bool, errors: &mut ErrorList) {
    let policy = capacity.request_policy();
    if !policy.exists() {
        return;
    }
    if !is_shared {
        errors.push(policy.forbidden("allowMultipleAllocations must be true"));
        return;
    }
    let values = policy.valid_values();
    let range = policy.valid_range();
    let default = policy.default();
    let name = match (!values.is_empty(), range.exists()) {
        (true, true) => {
            let detail = "exactly one policy can be specified, cannot specify \"validValues\" and \"validRange\" at the same time";
            errors.push(policy.forbidden(detail));
            return;
        }
        (true, false) => "validValues",
        (false, true) => "validRange",
        (false, false) => return,
    };
    let total = capacity.value();
    match (default.quantity(), total.quantity()) {
        (None, _) => errors.push(default.required(format!("required when {name} is defined"))),
        (Some(default), total) => {
            let total = total.unwrap_or_else(|| Quantity::whole(0));
            if range.exists() {
                check_range(&default, &total, &range, errors);
            } else {
                check_values(&default, &total, &values, errors);
            }
        }
    }
}

fn shown(field: &View<'_, '_>, value: &Quantity, detail: String) -> FieldError {
    FieldError::invalid(field.path(), value.to_string(), detail)
}

/// Returns the value as an integer, rounded up, as it is compared.
fn whole(value: &Quantity) -> i128 {
    value.value().unwrap_or(i128::MAX)
}

fn check_values(default: &Quantity, total: &Quantity, values: &List<Amount<'_, '_>>, errors: &mut ErrorList) {
    let mut previous: Option<Quantity> = None;
    for value in values.elements() {
        let Some(this) = value.quantity() else { continue };
        if previous.is_some_and(|previous| previous.compare(&this).is_gt()) {
            errors.push(shown(&value, &this, "values must be sorted in ascending order".to_owned()));
        }
        previous = Some(this);
    }
    let mut has_default = false;
    if values.check_count(MAX_VALUES, errors) {
        for value in values.elements() {
            let Some(this) = value.quantity() else { continue };
            if this.compare(total).is_gt() {
                let detail = format!("option is larger than capacity value: {total}");
                errors.push(shown(&value, &this, detail));
            }
            has_default |= this.compare(default).is_eq();
        }
        let key = |value: &Amount<'_, '_>| value.quantity().map(|value| whole(&value)).unwrap_or_default();
        values.check_unique(key, |value| FieldError::duplicate(value.path(), key(value).to_string()), errors);
    }
    if !has_default {
        let detail = "default value is not valid according to the requestPolicy".to_owned();
        errors.push(shown(values, default, detail));
    }
}

fn check_range(
    default: &Quantity,
    total: &Quantity,
    range: &CapacityRequestPolicyRange<'_, '_>,
    errors: &mut ErrorList,
) {
    let (least, most, step) = (range.min(), range.max(), range.step());
    let Some(min) = least.quantity() else {
        errors.push(least.required("required when validRange is defined"));
        return;
    };
    if min.compare(total).is_gt() {
        errors.push(shown(&least, &min, format!("min is larger than capacity value: {total}")));
    }
    if default.compare(&min).is_lt() {
        errors.push(shown(&least, default, format!("default is less than min: {min}")));
    }
    let max = most.quantity();
    if let Some(max) = &max {
        if min.compare(max).is_gt() {
            errors.push(shown(&most, &min, format!("min is larger than max: {max}")));
        }
        if max.compare(total).is_gt() {
            errors.push(shown(&most, max, format!("max is larger than capacity value: {total}")));
        }
        if default.compare(max).is_gt() {
            errors.push(shown(&most, default, format!("default is more than max: {max}")));
        }
    }
    if let Some(size) = step.quantity() {
        let added = min.plus(&size);
        if added.compare(total).is_gt() {
            let detail = format!("one step {added} is larger than capacity value: {total}");
            errors.push(shown(&step, &size, detail));
        }
        check_step(default, &min, &size, &step, errors);
        if let Some(max) = &max {
            check_step(max, &min, &size, &step, errors);
        }
    }
}

fn check_step(
    value: &Quantity,
    min: &Quantity,
    size: &Quantity,
    step: &Amount<'_, '_>,
    errors: &mut ErrorList,
) {
    let added = whole(value).saturating_sub(whole(min));
    // Upstream divides by zero for a step of zero.
    if whole(size) == 0 || added % whole(size) != 0 {
        let detail = format!("value is not a multiple of a given step ({size}) from ({min})");
        errors.push(shown(step, value, detail));
    }
}
