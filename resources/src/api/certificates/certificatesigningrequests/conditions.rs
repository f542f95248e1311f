//! Rules of a request's conditions.

use std::collections::HashSet;

use registry_core::api::validation::ErrorList;
use registry_core::api::{FieldError, Object, time};
use serde_json::Value;

use crate::support::defaulting;
use crate::support::field::Field;

/// Decisions, which are final; their status is always true.
const DECISIONS: [&str; 3] = ["Approved", "Denied", "Failed"];

/// Sets missing times of conditions; an unchanged condition keeps its times.
pub(super) fn set_times(new: &mut Object, old: &Object) {
    let before = old.get(&["status", "conditions"]).and_then(Value::as_array).cloned().unwrap_or_default();
    defaulting::with(&mut new.0, "status", |status| {
        defaulting::each(status, &["conditions"], |condition| {
            let same = before.iter().find(|earlier| {
                ["type", "status"].iter().all(|field| earlier.get(field) == condition.get(*field))
            });
            let since = same.and_then(|earlier| earlier.get("lastTransitionTime")).cloned();
            defaulting::fill(condition, "lastTransitionTime", since.unwrap_or_else(|| time::now().into()));
            defaulting::fill(condition, "lastUpdateTime", time::now());
        });
    });
}

/// Restores approvals and denials, which only the `approval` subresource may change, unless their number changed: that is
/// an error.
pub(super) fn keep_decisions(new: &mut Object, old: &Object) {
    let before = old.get(&["status", "conditions"]).and_then(Value::as_array).cloned().unwrap_or_default();
    let status = new.0.get_mut("status").and_then(|status| status.get_mut("conditions"));
    let Some(after) = status.and_then(Value::as_array_mut) else { return };
    for kind in ["Approved", "Denied"] {
        let is_one = |condition: &&Value| condition.get("type").and_then(Value::as_str) == Some(kind);
        let kept: Vec<&Value> = before.iter().filter(is_one).collect();
        if kept.len() != after.iter().filter(is_one).count() {
            continue;
        }
        let mut kept = kept.into_iter();
        for condition in after.iter_mut() {
            if condition.get("type").and_then(Value::as_str) == Some(kind)
                && let Some(kept) = kept.next()
            {
                condition.clone_from(kept);
            }
        }
    }
}

/// Checks the conditions of a request. A violation that the conditions of the stored request have already is accepted.
pub(super) fn check(request: &Object, old: Option<&Object>, errors: &mut ErrorList) {
    let status = Field::top_level(request, "status");
    let conditions = status.get("conditions");
    let known = old.map(kinds).unwrap_or_default();
    let had = |kind: &str| known.contains(&kind);
    let had_both = had("Approved") && had("Denied");
    let had_duplicates = known.iter().collect::<HashSet<_>>().len() < known.len();
    let mut seen: HashSet<&str> = HashSet::new();
    for condition in conditions.elements() {
        let kind = condition.get("type");
        let state = condition.get("status");
        if !had("") {
            kind.check_present(errors);
        }
        let accepted: &[&str] =
            if DECISIONS.contains(&kind.text()) { &["True"] } else { &["False", "True", "Unknown"] };
        state.check_word(accepted, errors);
        let contrary = match kind.text() {
            "Approved" => Some("Denied"),
            "Denied" => Some("Approved"),
            _ => None,
        };
        if !had_both && contrary.is_some_and(|contrary| seen.contains(contrary)) {
            let detail = "Approved and Denied conditions are mutually exclusive";
            errors.push(FieldError::invalid(conditions.path(), kind.text(), detail));
        }
        if !seen.insert(kind.text()) && !had_duplicates {
            errors.push(kind.duplicate());
        }
    }
}

/// Returns the types of the conditions of a request.
fn kinds(request: &Object) -> Vec<&str> {
    let conditions = request.get(&["status", "conditions"]).and_then(Value::as_array).into_iter().flatten();
    conditions.map(|condition| condition.get("type").and_then(Value::as_str).unwrap_or_default()).collect()
}

/// Checks that no decision is taken back, and that only approvals make new ones.
pub(super) fn check_change(new: &Object, old: &Object, is_approval: bool, errors: &mut ErrorList) {
    let status = Field::top_level(new, "status");
    let conditions = status.get("conditions");
    let (after, before) = (kinds(new), kinds(old));
    let count = |kinds: &[&str], kind: &str| kinds.iter().filter(|present| **present == kind).count();
    for kind in DECISIONS {
        if count(&after, kind) < count(&before, kind) {
            errors
                .push(conditions.forbidden(format!("updates may not remove a condition of type \"{kind}\"")));
        }
    }
    for kind in DECISIONS.iter().filter(|kind| !is_approval && **kind != "Failed") {
        if count(&after, kind) > count(&before, kind) {
            errors.push(conditions.forbidden(format!("updates may not add a condition of type \"{kind}\"")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn request(conditions: &Value) -> Object {
        Object::from_value(json!({"status": {"conditions": conditions}})).unwrap()
    }

    #[test]
    fn a_condition_keeps_its_date_while_it_says_the_same() {
        let old =
            request(&json!([{"type": "A", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z"}]));
        let mut new = request(&json!([{"type": "A", "status": "True"}, {"type": "B", "status": "True"}]));
        set_times(&mut new, &old);
        let conditions = new.get(&["status", "conditions"]).unwrap();
        assert_eq!(conditions[0]["lastTransitionTime"], "2020-01-01T00:00:00Z");
        assert!(
            conditions[1]["lastTransitionTime"].is_string() && conditions[1]["lastUpdateTime"].is_string()
        );
    }

    #[test]
    fn decisions_stand() {
        let causes = |new: Value, old: Value| {
            let mut errors = ErrorList::default();
            let (new, old) = (request(&new), request(&old));
            check(&new, Some(&old), &mut errors);
            check_change(&new, &old, true, &mut errors);
            errors.0.iter().map(|error| error.field.to_string()).collect::<Vec<_>>()
        };
        let of = |kind: &str| json!({"type": kind, "status": "True"});
        let none: [&str; 0] = [];
        assert_eq!(causes(json!([of("Approved")]), json!([])), none);
        assert_eq!(causes(json!([]), json!([of("Approved")])), ["status.conditions"]);
        assert_eq!(causes(json!([of("Approved"), of("Denied")]), json!([])), ["status.conditions"]);
        assert_eq!(
            causes(json!([{"type": "Denied", "status": "False"}]), json!([])),
            ["status.conditions[0].status"]
        );
        assert_eq!(causes(json!([of("X"), of("X")]), json!([])), ["status.conditions[1].type"]);
        let changed = json!({"type": "Approved", "status": "True", "message": "m"});
        let mut new = request(&json!([of("X"), changed]));
        keep_decisions(&mut new, &request(&json!([of("Approved")])));
        assert_eq!(new.get(&["status", "conditions"]), Some(&json!([of("X"), of("Approved")])));
    }
}
