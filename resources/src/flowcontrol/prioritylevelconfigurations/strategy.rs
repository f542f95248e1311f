//! Rules of PriorityLevelConfigurations.

use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::{FieldError, Object};
use registry_core::resource::ObjectStrategy;

use crate::edit;
use crate::field::Field;

/// How much may run at once, and what becomes of the rest.
pub(super) struct PriorityLevelStrategy;

impl ObjectStrategy for PriorityLevelStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        for (kind, shares) in [("limited", 30), ("exempt", 0)] {
            edit::with_at(object, &["spec", kind], |spec| {
                edit::fill(spec, "nominalConcurrencyShares", shares);
                edit::fill(spec, "lendablePercent", 0);
            });
        }
        edit::with_at(object, &["spec", "limited", "limitResponse", "queuing"], |queuing| {
            for (field, default) in [("queues", 64), ("handSize", 8), ("queueLengthLimit", 50)] {
                edit::fill(queuing, field, default);
            }
        });
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = Field::of(object, "spec");
        let (kind, limited) = (spec.get("type"), spec.get("limited"));
        if (kind.text() == "Exempt") != (object.name() == "exempt") && kind.text() == "Exempt" {
            errors.push(kind.invalid("must be 'Exempt' if and only if `name` is 'exempt'"));
        }
        match kind.text() {
            "Exempt" if limited.exists() => {
                errors.push(limited.forbidden("must be nil if the type is not Limited"));
            }
            "Exempt" => {}
            "Limited" if limited.exists() => check_limited(&limited, &mut errors),
            "Limited" => errors.push(limited.required("must not be empty when type is Limited")),
            _ => errors.push(kind.unsupported(&["Exempt", "Limited"])),
        }
        errors
    }
}

fn check_limited(limited: &Field<'_, '_>, errors: &mut ErrorList) {
    let borrowing = limited.get("borrowingLimitPercent");
    limited.get("lendablePercent").check_between(0, 100, errors);
    if borrowing.integer().is_some_and(|percent| percent < 0) {
        errors.push(borrowing.invalid("if specified, must be a non-negative integer"));
    }
    let response = limited.get("limitResponse");
    let (kind, queuing) = (response.get("type"), response.get("queuing"));
    match kind.text() {
        "Reject" if queuing.exists() => {
            errors.push(queuing.forbidden("must be nil if limited.limitResponse.type is not Limited"));
        }
        "Reject" => {}
        "Queue" if !queuing.exists() => {
            errors.push(queuing.required("must not be empty if limited.limitResponse.type is Limited"));
        }
        "Queue" => {
            let (hand, queues) =
                (queuing.get("handSize"), queuing.get("queues").integer().unwrap_or_default());
            if hand.integer().is_some_and(|hand| hand > queues) {
                errors.push(hand.invalid(format!("should not be greater than queues ({queues})")));
            }
        }
        other => errors.push(FieldError::not_supported(kind.path(), other, &["Queue", "Reject"])),
    }
}
