//! Rules of a request's conditions.

use std::collections::HashSet;

use registry_core::api::validation::ErrorList;
use registry_core::api::{FieldError, Object, time};
use resource_views::certificates::v1::{CertificateSigningRequest, CertificateSigningRequestMut};
use serde_json::Value;

/// Decisions, which are final; their status is always true.
const DECISIONS: [&str; 3] = ["Approved", "Denied", "Failed"];

/// Sets missing times of conditions; an unchanged condition keeps its times.
pub(super) fn set_times(new: &mut Object, old: &Object) {
    let before = CertificateSigningRequest(old).status();
    let before = before.conditions();
    let Some(mut status) = CertificateSigningRequestMut(new).status().present() else { return };
    for mut condition in status.conditions().elements() {
        let same = before.elements().find(|earlier| {
            earlier.r#type().value() == condition.r#type().value()
                && earlier.status().value() == condition.status().value()
        });
        let since = same.map(|earlier| earlier.last_transition_time().text()).filter(|time| !time.is_empty());
        let now = time::now();
        condition.last_transition_time().or(since.unwrap_or(&now));
        condition.last_update_time().or(&now);
    }
}

/// Restores approvals and denials, which only the `approval` subresource may change, unless their number changed: that is
/// an error.
pub(super) fn keep_decisions(new: &mut Object, old: &Object) {
    let before = CertificateSigningRequest(old).status();
    let before = before.conditions();
    for kind in ["Approved", "Denied"] {
        let mut kept = before.elements().filter(|condition| condition.r#type().text() == kind);
        let count = |kinds: &[&str]| kinds.iter().filter(|present| **present == kind).count();
        if count(&kinds(new)) != count(&kinds(old)) {
            continue;
        }
        let Some(mut status) = CertificateSigningRequestMut(new).status().present() else { return };
        for mut condition in status.conditions().elements() {
            if condition.r#type().is(kind)
                && let Some(Value::Object(kept)) = kept.next().and_then(|kept| kept.value())
            {
                condition.0.clone_from(kept);
            }
        }
    }
}

/// Checks the conditions of a request. A violation that the conditions of the stored request have already is accepted.
pub(super) fn check(request: &Object, old: Option<&Object>, errors: &mut ErrorList) {
    let status = CertificateSigningRequest(request).status();
    let conditions = status.conditions();
    let known = old.map(kinds).unwrap_or_default();
    let had = |kind: &str| known.contains(&kind);
    let had_both = had("Approved") && had("Denied");
    let had_duplicates = known.iter().collect::<HashSet<_>>().len() < known.len();
    let mut seen: HashSet<&str> = HashSet::new();
    for condition in conditions.elements() {
        let kind = condition.r#type();
        let state = condition.status();
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
    let status = CertificateSigningRequest(request).status();
    status.conditions().elements().map(|condition| condition.r#type().text()).collect()
}

/// Checks that no decision is taken back, and that only approvals make new ones.
pub(super) fn check_change(new: &Object, old: &Object, is_approval: bool, errors: &mut ErrorList) {
    let status = CertificateSigningRequest(new).status();
    let conditions = status.conditions();
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
