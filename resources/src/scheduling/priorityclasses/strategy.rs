//! Rules of PriorityClasses.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::resource::ObjectStrategy;

use crate::support::defaulting;
use crate::support::field::Field;

/// The highest priority of user-defined classes.
const HIGHEST: i64 = 1_000_000_000;

/// The value and the preemption policy are immutable.
pub(super) struct PriorityClassStrategy;

impl ObjectStrategy for PriorityClassStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        defaulting::fill(&mut object.0, "preemptionPolicy", "PreemptLowerPriority");
    }

    fn prepare_for_create(&self, _context: &RequestContext, object: &mut Object) {
        // The generation is set once, because the content is immutable.
        object.set(&["metadata", "generation"], 1.into());
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let value = Field::of(object, "value");
        if !object.name().starts_with("system-") && value.integer().is_some_and(|value| value > HIGHEST) {
            let detail = format!("maximum allowed value of a user defined priority is {HIGHEST}");
            errors.push(value.forbidden(detail));
        }
        let policies = ["Never", "PreemptLowerPriority"];
        Field::of(object, "preemptionPolicy").check_one_of(&policies, &mut errors);
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = self.validate(context, new);
        if new.get_i64(&["value"]) != old.get_i64(&["value"]) {
            errors.push(Field::of(new, "value").forbidden("may not be changed in an update."));
        }
        Field::of(new, "preemptionPolicy").check_immutable(&Field::of(old, "preemptionPolicy"), &mut errors);
        errors
    }
}
