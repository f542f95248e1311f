//! Rules of StorageClasses.

use std::collections::HashSet;

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::{ErrorList, FieldError, names};
use registry_core::resource::ObjectStrategy;

use crate::support::defaulting;
use crate::support::field::Field;

/// Provisioner, parameters, reclaim policy and volume binding mode are immutable.
pub(super) struct StorageClassStrategy;

impl ObjectStrategy for StorageClassStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        defaulting::fill(&mut object.0, "reclaimPolicy", "Delete");
        defaulting::fill(&mut object.0, "volumeBindingMode", "Immediate");
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        Field::of(object, "provisioner").check_present(&mut errors);
        Field::of(object, "reclaimPolicy").check_one_of(&["Delete", "Retain"], &mut errors);
        let modes = ["Immediate", "WaitForFirstConsumer"];
        Field::of(object, "volumeBindingMode").check_one_of(&modes, &mut errors);
        super::super::parameters::check(&Field::of(object, "parameters"), false, &mut errors);
        for term in Field::of(object, "allowedTopologies").elements() {
            check_term(&term, &mut errors);
        }
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = self.validate(context, new);
        Field::of(new, "parameters").check_immutable(&Field::of(old, "parameters"), &mut errors);
        Field::of(new, "provisioner").check_immutable(&Field::of(old, "provisioner"), &mut errors);
        Field::of(new, "reclaimPolicy").check_immutable(&Field::of(old, "reclaimPolicy"), &mut errors);
        Field::of(new, "volumeBindingMode")
            .check_immutable(&Field::of(old, "volumeBindingMode"), &mut errors);
        errors
    }
}

/// Checks a topology term: labels are unique, with distinct values.
fn check_term(term: &Field<'_, '_>, errors: &mut ErrorList) {
    let mut keys = HashSet::new();
    for expression in term.get("matchLabelExpressions").elements() {
        let key = expression.get("key");
        let values = expression.get("values");
        if values.is_empty() {
            errors.push(values.required(""));
        }
        let mut seen = HashSet::new();
        for value in values.elements() {
            if seen.contains(&value.text()) {
                errors.push(value.duplicate());
            }
            seen.insert(value.text());
        }
        key.check(names::qualified_name, errors);
        if keys.contains(&key.text()) {
            errors.push(FieldError::duplicate(key.path(), ""));
        }
        keys.insert(key.text());
    }
}
