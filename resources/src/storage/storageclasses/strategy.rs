//! Rules of StorageClasses.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::{ErrorList, FieldError, names};
use registry_core::resource::ObjectStrategy;

use crate::core::node_selector;
use crate::storage::parameters;
use crate::support::defaulting;
use crate::support::field::Field;

/// Maximum number of errors about terms that are the same: each is reported for every other one.
const MAX_DUPLICATES: usize = 1_000;

/// Provisioner, parameters, reclaim policy and volume binding mode are immutable.
pub(super) struct StorageClassStrategy;

impl ObjectStrategy for StorageClassStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        defaulting::fill_absent(&mut object.0, "reclaimPolicy", "Delete");
        defaulting::fill_absent(&mut object.0, "volumeBindingMode", "Immediate");
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        parameters::check_provisioner(&Field::of(object, "provisioner"), &mut errors);
        parameters::check(&Field::of(object, "parameters"), false, &mut errors);
        let policy = Field::of(object, "reclaimPolicy");
        if !policy.text().is_empty() {
            policy.check_one_of(&["Delete", "Retain"], &mut errors);
        }
        let modes = ["Immediate", "WaitForFirstConsumer"];
        Field::of(object, "volumeBindingMode").check_one_of(&modes, &mut errors);
        check_topologies(&Field::of(object, "allowedTopologies"), &mut errors);
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = self.validate(context, new);
        for field in ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"] {
            Field::of(new, field).check_immutable(&Field::of(old, field), &mut errors);
        }
        errors
    }

    fn warnings_on_create(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        let mut warnings = Vec::new();
        for term in Field::of(object, "allowedTopologies").elements() {
            for expression in term.get("matchLabelExpressions").elements() {
                let key = expression.get("key");
                if let Some(text) = node_selector::deprecation(key.text()) {
                    warnings.push(format!("{}: {text}", key.path()));
                }
            }
        }
        warnings
    }

    fn warnings_on_update(&self, context: &RequestContext, new: &Object, _old: &Object) -> Vec<String> {
        self.warnings_on_create(context, new)
    }
}

fn check_topologies(topologies: &Field<'_, '_>, errors: &mut ErrorList) {
    let mut seen: HashMap<BTreeMap<&str, BTreeSet<&str>>, usize> = HashMap::new();
    // Kubernetes compares each term with as many empty ones as there are terms, and with those before it.
    if !topologies.is_empty() {
        seen.insert(BTreeMap::new(), topologies.len());
    }
    let mut left = MAX_DUPLICATES;
    for term in topologies.elements() {
        let labels = check_term(&term, errors);
        let before = seen.entry(labels).or_default();
        for _ in 0..(*before).min(left.max(1)) {
            errors.push(FieldError::duplicate(term.get("matchLabelExpressions").path(), ""));
        }
        left = left.saturating_sub(*before);
        *before += 1;
    }
}

/// Checks a topology term: labels are unique, with distinct values. Returns them.
fn check_term<'v>(term: &Field<'v, '_>, errors: &mut ErrorList) -> BTreeMap<&'v str, BTreeSet<&'v str>> {
    let mut labels = BTreeMap::new();
    for expression in term.get("matchLabelExpressions").elements() {
        let key = expression.get("key");
        let values = expression.get("values");
        values.check_not_empty(errors);
        let mut seen = HashSet::new();
        for value in values.elements() {
            if !seen.insert(value.text()) {
                errors.push(value.duplicate());
            }
        }
        key.check(names::qualified_name, errors);
        if labels.insert(key.text(), seen.into_iter().collect()).is_some() {
            errors.push(key.duplicate());
        }
    }
    labels
}
