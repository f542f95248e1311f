//! Rules of StorageClasses.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::{ErrorList, FieldError, names};
use registry_core::resource::ObjectStrategy;
use resource_views::List;
use resource_views::core::v1::TopologySelectorTerm;
use resource_views::storage::v1::{StorageClass, StorageClassMut};

use crate::api::core::node_selector;
use crate::api::storage::parameters;

/// Maximum number of errors about terms that are the same: each is reported for every other one.
const MAX_DUPLICATES: usize = 1_000;

/// Provisioner, parameters, reclaim policy and volume binding mode are immutable.
pub(super) struct StorageClassStrategy;

impl ObjectStrategy for StorageClassStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        StorageClassMut(object).reclaim_policy().or_if_absent("Delete");
        StorageClassMut(object).volume_binding_mode().or_if_absent("Immediate");
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        parameters::check_provisioner(&StorageClass(object).provisioner(), &mut errors);
        parameters::check(&StorageClass(object).parameters(), false, &mut errors);
        let policy = StorageClass(object).reclaim_policy();
        if !policy.text().is_empty() {
            policy.check_one_of(&["Delete", "Retain"], &mut errors);
        }
        let modes = ["Immediate", "WaitForFirstConsumer"];
        StorageClass(object).volume_binding_mode().check_one_of(&modes, &mut errors);
        check_topologies(&StorageClass(object).allowed_topologies(), &mut errors);
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = self.validate(context, new);
        let (new, old) = (StorageClass(new), StorageClass(old));
        new.parameters().check_immutable(&old.parameters(), &mut errors);
        new.provisioner().check_immutable(&old.provisioner(), &mut errors);
        new.reclaim_policy().check_immutable(&old.reclaim_policy(), &mut errors);
        new.volume_binding_mode().check_immutable(&old.volume_binding_mode(), &mut errors);
        errors
    }

    fn warnings(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        let mut warnings = Vec::new();
        for term in StorageClass(object).allowed_topologies().elements() {
            for expression in term.match_label_expressions().elements() {
                let key = expression.key();
                if let Some(text) = node_selector::deprecation(key.text()) {
                    warnings.push(format!("{}: {text}", key.path()));
                }
            }
        }
        warnings
    }
}

fn check_topologies(topologies: &List<TopologySelectorTerm<'_, '_>>, errors: &mut ErrorList) {
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
            errors.push(FieldError::duplicate(term.match_label_expressions().path(), ""));
        }
        left = left.saturating_sub(*before);
        *before += 1;
    }
}

/// Checks a topology term: labels are unique, with distinct values. Returns them.
fn check_term<'v>(
    term: &TopologySelectorTerm<'v, '_>,
    errors: &mut ErrorList,
) -> BTreeMap<&'v str, BTreeSet<&'v str>> {
    let mut labels = BTreeMap::new();
    for expression in term.match_label_expressions().elements() {
        let key = expression.key();
        let values = expression.values();
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
