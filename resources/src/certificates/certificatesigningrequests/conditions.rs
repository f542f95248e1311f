//! Rules of a request's conditions.

use std::collections::HashSet;

use registry_core::api::validation::ErrorList;
use registry_core::api::{FieldError, Object, time};
use serde_json::Value;

use crate::support::defaulting;
use crate::support::field::Field;

/// Decisions, which are final; their status is always true.
const DECISIONS: [&str; 3] = ["Approved", "Denied", "Failed"];

/// Decisions that only the `approval` subresource may add or change.
const OF_APPROVAL: [&str; 2] = ["Approved", "Denied"];

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

/// Restores the content of approval and denial, which only the `approval` subresource may change. If one of them was added
/// or removed, validation refuses the update.
pub(super) fn keep_decisions(new: &mut Object, old: &Object) {
    for kind in OF_APPROVAL {
        let before: Vec<Value> = of_type(old, kind).cloned().collect();
        if before.len() != of_type(new, kind).count() {
            continue;
        }
        let conditions = new.0.get_mut("status").and_then(|status| status.get_mut("conditions"));
        let conditions = conditions.and_then(Value::as_array_mut).into_iter().flatten();
        let is_of_kind = |condition: &&mut Value| condition.get("type").and_then(Value::as_str) == Some(kind);
        for (condition, kept) in conditions.filter(is_of_kind).zip(before) {
            *condition = kept;
        }
    }
}

/// Checks that an update removes no decision.
pub(super) fn check_kept(new: &Object, old: &Object, errors: &mut ErrorList) {
    let status = Field::of(new, "status");
    for kind in DECISIONS {
        if of_type(new, kind).count() < of_type(old, kind).count() {
            let detail = format!("updates may not remove a condition of type \"{kind}\"");
            errors.push(status.get("conditions").forbidden(detail));
        }
    }
}

/// Checks that an update neither approves nor denies.
pub(super) fn check_undecided(new: &Object, old: &Object, errors: &mut ErrorList) {
    let status = Field::of(new, "status");
    for kind in OF_APPROVAL {
        if of_type(new, kind).count() > of_type(old, kind).count() {
            let detail = format!("updates may not add a condition of type \"{kind}\"");
            errors.push(status.get("conditions").forbidden(detail));
        }
    }
}

fn of_type<'o>(request: &'o Object, kind: &'o str) -> impl Iterator<Item = &'o Value> {
    let conditions = request.get(&["status", "conditions"]).and_then(Value::as_array);
    let is_of_type = move |condition: &&Value| condition.get("type").and_then(Value::as_str) == Some(kind);
    conditions.into_iter().flatten().filter(is_of_type)
}

/// Checks each condition by itself.
pub(super) fn check_each(request: &Object, errors: &mut ErrorList) {
    let status = Field::of(request, "status");
    let conditions = status.get("conditions");
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
            check_each(&request(&new), &mut errors);
            check_kept(&request(&new), &request(&old), &mut errors);
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
        let mut changed = of("Approved");
        changed["message"] = "forged".into();
        let mut new = request(&json!([of("X"), changed]));
        keep_decisions(&mut new, &request(&json!([of("Approved")])));
        assert_eq!(new.get(&["status", "conditions"]), Some(&json!([of("X"), of("Approved")])));
        let mut errors = ErrorList::default();
        check_undecided(&request(&json!([of("Denied")])), &request(&json!([])), &mut errors);
        assert_eq!(errors.0.len(), 1);
    }
}
