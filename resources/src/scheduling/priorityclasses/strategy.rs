//! Rules of PriorityClasses.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::{ErrorList, FieldError, FieldPath};
use registry_core::resource::ObjectStrategy;

use crate::support::defaulting;
use crate::support::field::Field;

/// The highest priority of user-defined classes.
const HIGHEST: i64 = 1_000_000_000;
/// The classes of system components, and their values.
const OF_THE_SYSTEM: [(&str, i64); 2] =
    [("system-node-critical", HIGHEST * 2 + 1_000), ("system-cluster-critical", HIGHEST * 2)];

/// The value and the preemption policy are immutable.
pub(super) struct PriorityClassStrategy;

impl ObjectStrategy for PriorityClassStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        defaulting::fill_absent(&mut object.0, "preemptionPolicy", "PreemptLowerPriority");
    }

    fn prepare_for_create(&self, _context: &RequestContext, object: &mut Object) {
        // The generation is set once, because the content is immutable.
        object.set(&["metadata", "generation"], 1.into());
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let value = Field::of(object, "value");
        if object.name().starts_with("system-") {
            if let Some(complaint) = system_complaint(object) {
                let detail = format!(
                    "priority class names with 'system-' prefix are reserved for system use only. error: {complaint}"
                );
                errors.push(FieldError::forbidden(FieldPath::new("metadata").child("name"), detail));
            }
        } else if value.number() > HIGHEST {
            let detail = format!("maximum allowed value of a user defined priority is {HIGHEST}");
            errors.push(value.forbidden(detail));
        }
        let policy = Field::of(object, "preemptionPolicy");
        policy.check_word(&["PreemptLowerPriority", "Never"], &mut errors);
        errors
    }

    fn validate_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        if new.get_i64(&["value"]) != old.get_i64(&["value"]) {
            errors.push(Field::of(new, "value").forbidden("may not be changed in an update."));
        }
        Field::of(new, "preemptionPolicy").check_immutable(&Field::of(old, "preemptionPolicy"), &mut errors);
        errors
    }
}

/// Returns how a class whose name is reserved differs from the system's class of that name.
fn system_complaint(class: &Object) -> Option<String> {
    let name = class.name();
    let Some((_, wanted)) = OF_THE_SYSTEM.iter().find(|(known, _)| *known == name) else {
        return Some(format!("{name} is not a known system priority class"));
    };
    if class.get_i64(&["value"]).unwrap_or_default() != *wanted {
        return Some(format!("value of {name} PriorityClass must be {wanted}"));
    }
    let is_default = Field::of(class, "globalDefault").is_true();
    is_default.then(|| format!("globalDefault of {name} PriorityClass must be false"))
}
