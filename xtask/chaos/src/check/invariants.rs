//! Promises about the objects of a scope at every revision: no value is assigned twice, no quota is exceeded.

use std::collections::BTreeMap;

use super::Violation;
use super::timeline::{Changes, Timeline};
use crate::history::{History, Scope};

/// Returns the first revision of each scope at which a promise is broken.
pub(super) fn check(history: &History, timeline: &Timeline<'_>) -> Vec<Violation> {
    // Without all deletions it is not known which objects there are.
    let complete = |scope: &Scope| timeline.scope(&scope.name).filter(|changes| changes.is_complete);
    let broken = |scope: &Scope| first_broken(scope, complete(scope)?);
    history.scopes.iter().filter_map(broken).collect()
}

fn first_broken(scope: &Scope, changes: &Changes<'_>) -> Option<Violation> {
    let mut assigned: BTreeMap<&str, &[String]> = BTreeMap::new();
    let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
    for (revision, object) in &changes.by_revision {
        for value in assigned.remove(object).unwrap_or_default() {
            owners.remove(&**value);
        }
        let Some((_, content)) = changes.at(object, *revision) else { continue };
        assigned.insert(object, content.assigned);
        for value in content.assigned {
            if let Some(first) = owners.insert(value, object) {
                return Some(Violation::AssignedTwice {
                    scope: scope.name.clone(),
                    revision: *revision,
                    value: value.clone(),
                    first: first.to_owned(),
                    second: (*object).to_owned(),
                });
            }
        }
        if let Some(quota) = scope.quota.filter(|quota| assigned.len() > *quota) {
            let (scope, revision, objects) = (scope.name.clone(), *revision, assigned.len());
            return Some(Violation::QuotaExceeded { scope, revision, objects, quota });
        }
    }
    None
}
