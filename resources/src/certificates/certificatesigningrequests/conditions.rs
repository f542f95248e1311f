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
            let same = before
                .iter()
                .find(|one| ["type", "status"].iter().all(|field| one.get(field) == condition.get(*field)));
            let since = same.and_then(|one| one.get("lastTransitionTime")).cloned();
            defaulting::fill(condition, "lastTransitionTime", since.unwrap_or_else(|| time::now().into()));
            defaulting::fill(condition, "lastUpdateTime", time::now());
        });
    });
}

/// Restores approval and denial, which only the `approval` subresource may change.
pub(super) fn keep_decisions(new: &mut Object, old: &Object) {
    let of = |object: &Object| {
        object.get(&["status", "conditions"]).and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let is_decision = |condition: &Value| {
        matches!(condition.get("type").and_then(Value::as_str), Some("Approved" | "Denied"))
    };
    let mut conditions: Vec<Value> = of(old).into_iter().filter(is_decision).collect();
    conditions.extend(of(new).into_iter().filter(|condition| !is_decision(condition)));
    if conditions.is_empty() {
        new.remove(&["status", "conditions"]);
    } else {
        new.set(&["status", "conditions"], conditions.into());
    }
}

/// Checks the conditions of a changed request.
pub(super) fn check(new: &Object, old: &Object, errors: &mut ErrorList) {
    let new_status = Field::of(new, "status");
    let old_status = Field::of(old, "status");
    let new = new_status.get("conditions");
    let old = old_status.get("conditions");
    check_each(&new, errors);
    let count = |conditions: &Field<'_, '_>, kind: &str| {
        conditions.elements().filter(|condition| condition.get("type").text() == kind).count()
    };
    for kind in DECISIONS {
        if count(&new, kind) < count(&old, kind) {
            errors.push(new.forbidden(format!("updates may not remove a condition of type \"{kind}\"")));
        }
    }
}

fn check_each(conditions: &Field<'_, '_>, errors: &mut ErrorList) {
    let mut seen: HashSet<&str> = HashSet::new();
    for condition in conditions.elements() {
        let kind = condition.get("type");
        let status = condition.get("status");
        kind.check_present(errors);
        let accepted: &[&str] =
            if DECISIONS.contains(&kind.text()) { &["True"] } else { &["False", "True", "Unknown"] };
        if status.check_present(errors) {
            status.check_one_of(accepted, errors);
        }
        let contrary = match kind.text() {
            "Approved" => "Denied",
            "Denied" => "Approved",
            _ => "",
        };
        if !contrary.is_empty() && seen.contains(&contrary) {
            let detail = "Approved and Denied conditions are mutually exclusive";
            errors.push(FieldError::invalid(conditions.path(), kind.text(), detail));
        }
        if seen.contains(&kind.text()) {
            errors.push(kind.duplicate());
        }
        seen.insert(kind.text());
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
            check(&request(&new), &request(&old), &mut errors);
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
        let mut new = request(&json!([of("X")]));
        keep_decisions(&mut new, &request(&json!([of("Approved")])));
        assert_eq!(new.get(&["status", "conditions"]), Some(&json!([of("Approved"), of("X")])));
    }
}
