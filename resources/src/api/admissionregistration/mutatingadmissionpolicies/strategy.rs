//! Rules of MutatingAdmissionPolicies.

use registry_core::api::validation::ErrorList;
use registry_core::api::{FieldError, Object};
use registry_core::cel::admission::{Returns, Uses};
use registry_core::context::Budget;
use resource_views::admissionregistration::v1::{
    MutatingAdmissionPolicy, MutatingAdmissionPolicyMut, Mutation,
};

use crate::api::admissionregistration::expressions::Expressions;
use crate::api::admissionregistration::matching;
use crate::api::admissionregistration::reserved_names::{ReservingStrategy, Rules};

/// Defaults and validation of mutations.
pub(super) struct MutatingPolicyRules;

/// The rules, and those of names.
pub(super) type MutatingPolicyStrategy = ReservingStrategy<MutatingPolicyRules>;

#[expect(non_upper_case_globals, reason = "named as the type, like the value of a unit struct")]
pub(super) const MutatingPolicyStrategy: MutatingPolicyStrategy = ReservingStrategy::DEFAULT;

impl Rules for MutatingPolicyRules {
    fn apply_defaults(object: &mut Object) {
        MutatingAdmissionPolicyMut(object).spec().edit(matching::default_policy);
    }

    fn check(object: &Object, old: Option<&Object>, budget: &Budget) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = MutatingAdmissionPolicy(object).spec();
        let before = old.map(|old| MutatingAdmissionPolicy(old).spec().into());
        let mut expressions = Expressions::for_policy(&spec.into(), before.as_ref(), budget).with_variables();
        matching::check_policy(&spec.into(), before.as_ref(), &mut expressions, &mut errors);
        matching::check_mutated_operations(&spec.match_constraints(), &mut errors);
        expressions.check_variables(&spec.variables(), &mut errors);
        if spec.mutations().is_empty() {
            errors.push(spec.mutations().required("mutations must contain at least one item"));
        }
        for mutation in spec.mutations().elements() {
            check_mutation(&mutation, &mut expressions, &mut errors);
        }
        let policy = spec.reinvocation_policy();
        if policy.check_present(&mut errors) {
            policy.check_one_of(&["IfNeeded", "Never"], &mut errors);
        }
        errors
    }
}

/// Checks that a mutation has exactly one type, with the fields of that type.
fn check_mutation(mutation: &Mutation<'_, '_>, expressions: &mut Expressions<'_>, errors: &mut ErrorList) {
    let kind = mutation.patch_type();
    if !kind.check_present(errors) {
        return;
    }
    let (applied, patched) = (mutation.apply_configuration(), mutation.json_patch());
    let configuration = ("applyConfiguration", *applied, applied.expression());
    let patch = ("jsonPatch", *patched, patched.expression());
    let ((_, wanted, expression), (other_name, other, _), returns) = match kind.text() {
        "ApplyConfiguration" => (configuration, patch, Returns::Object),
        "JSONPatch" => (patch, configuration, Returns::JsonPatches),
        _ => return errors.push(kind.unsupported(&["ApplyConfiguration", "JSONPatch"])),
    };
    if wanted.exists() {
        let source = expression.text().trim();
        if source.is_empty() {
            errors.push(expression.required(""));
        } else {
            let uses = Uses { patches: true, ..expressions.uses() };
            expressions.check(&expression, source, returns, uses, errors);
        }
    } else {
        errors.push(wanted.required(format!("must be specified when patchType is {}", kind.text())));
    }
    if other.exists() {
        let detail = format!("must not be specified when patchType is {}", kind.text());
        errors.push(FieldError::invalid(other.path(), format!("{{{other_name}}}"), detail));
    }
}
