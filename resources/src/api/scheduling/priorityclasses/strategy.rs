//! Rules of PriorityClasses.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::{ErrorList, FieldError, FieldPath};
use registry_core::resource::ObjectStrategy;
use resource_views::scheduling::v1::{PriorityClass, PriorityClassMut};

/// The highest priority of user-defined classes.
const HIGHEST: i64 = 1_000_000_000;
/// The classes of system components, and their values.
const OF_THE_SYSTEM: [(&str, i64); 2] =
    [("system-node-critical", HIGHEST * 2 + 1_000), ("system-cluster-critical", HIGHEST * 2)];

/// The value and the preemption policy are immutable.
pub(super) struct PriorityClassStrategy;

impl ObjectStrategy for PriorityClassStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        PriorityClassMut(object).preemption_policy().or_if_absent("PreemptLowerPriority");
    }

    fn prepare_for_create(&self, _context: &RequestContext, object: &mut Object) {
        // The generation is set once, because the content is immutable.
        object.set(&["metadata", "generation"], 1.into());
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let value = PriorityClass(object).value();
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
        let policy = PriorityClass(object).preemption_policy();
        policy.check_word(&["PreemptLowerPriority", "Never"], &mut errors);
        errors
    }

    fn validate_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let (new, old) = (PriorityClass(new), PriorityClass(old));
        if new.value().integer() != old.value().integer() {
            errors.push(new.value().forbidden("may not be changed in an update."));
        }
        new.preemption_policy().check_immutable(&old.preemption_policy(), &mut errors);
        errors
    }

    fn forbids_deletion(&self, name: &str) -> Option<&'static str> {
        let is_system = OF_THE_SYSTEM.iter().any(|(system, _)| *system == name);
        is_system.then_some("this is a system priority class and cannot be deleted")
    }
}

/// Returns how a class whose name is reserved differs from the system's class of that name.
fn system_complaint(class: &Object) -> Option<String> {
    let name = class.name();
    let Some((_, wanted)) = OF_THE_SYSTEM.iter().find(|(known, _)| *known == name) else {
        return Some(format!("{name} is not a known system priority class"));
    };
    if PriorityClass(class).value().number() != *wanted {
        return Some(format!("value of {name} PriorityClass must be {wanted}"));
    }
    let is_default = PriorityClass(class).global_default().is_true();
    is_default.then(|| format!("globalDefault of {name} PriorityClass must be false"))
}
