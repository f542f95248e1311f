//! The completions that make an indexed job successful.

use registry_core::api::validation::ErrorList;
use resource_views::batch::v1::{JobSpec, SuccessPolicyRule};

use super::indexes;
use crate::support::field::ShownAsGo as _;

/// Maximum number of rules.
const MAX_RULES: usize = 20;
/// Maximum length of a list of indexes, in bytes.
const MAX_INDEXES_BYTES: usize = 64 << 10;

/// Checks the success policy of a job spec.
pub(super) fn check(spec: &JobSpec<'_, '_>, errors: &mut ErrorList) {
    let policy = spec.success_policy();
    if !policy.exists() {
        return;
    }
    if spec.completion_mode().text() != "Indexed" {
        errors.push(policy.invalid_as("<batch.SuccessPolicy>", "requires indexed completion mode"));
        return;
    }
    let rules = policy.rules();
    if rules.is_empty() {
        let detail = "at least one rules must be specified when the successPolicy is specified";
        errors.push(rules.required(detail));
    }
    rules.check_count(MAX_RULES, errors);
    for rule in rules.elements() {
        check_rule(&rule, spec.completions().number(), errors);
    }
}

fn check_rule(rule: &SuccessPolicyRule<'_, '_>, completions: i64, errors: &mut ErrorList) {
    let list = rule.succeeded_indexes();
    let count = rule.succeeded_count();
    if !list.exists() && !count.exists() {
        let detail = "at least one of succeededCount or succeededIndexes must be specified";
        errors.push(rule.required(detail));
    }
    let mut total = 0;
    if list.exists() {
        list.check_length(MAX_INDEXES_BYTES, errors);
        match indexes::count(list.text(), completions) {
            Ok(counted) => total = counted,
            Err(complaint) => {
                errors.push(list.invalid(format!("error parsing succeededIndexes: {complaint}")));
            }
        }
    }
    count.check_not_negative(errors);
    for (most, whole, applies) in [
        (completions, "the number of specified completions", true),
        (total, "the number of indexes in the specified succeededIndexes field", list.exists()),
    ] {
        if applies && count.integer().is_some_and(|count| count > most) {
            errors.push(count.invalid(format!("must be less than or equal to {most} ({whole})")));
        }
    }
}
