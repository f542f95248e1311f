//! Rules of MutatingAdmissionPolicies.

use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::{FieldError, Object};
use registry_core::cel::admission::{Returns, Uses};
use registry_core::context::Budget;
use registry_core::resource::ObjectStrategy;

use crate::api::admissionregistration::expressions::Expressions;
use crate::api::admissionregistration::matching;
use crate::support::defaulting;
use crate::support::field::Field;

/// Defaults and validation of mutations.
pub(super) struct MutatingPolicyStrategy;

impl ObjectStrategy for MutatingPolicyStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        defaulting::with(&mut object.0, "spec", |spec| {
            defaulting::fill_absent(spec, "failurePolicy", "Fail");
            defaulting::with(spec, "matchConstraints", matching::default_constraints);
        });
    }

    fn warnings_on_create(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        matching::warnings_of_name(object)
    }

    fn warnings_on_update(&self, _context: &RequestContext, new: &Object, _old: &Object) -> Vec<String> {
        matching::warnings_of_name(new)
    }

    fn validate(&self, context: &RequestContext, object: &Object) -> ErrorList {
        check(object, None, &context.budget)
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        check(new, Some(old), &context.budget)
    }
}

fn check(object: &Object, old: Option<&Object>, budget: &Budget) -> ErrorList {
    let mut errors = ErrorList::default();
    let spec = Field::top_level(object, "spec");
    let mut expressions = Expressions::for_policy(&spec, old, budget).with_variables();
    matching::check_policy(&spec, old, &mut expressions, &mut errors);
    matching::check_mutated_operations(&spec.get("matchConstraints"), &mut errors);
    expressions.check_variables(&spec.get("variables"), &mut errors);
    if spec.get("mutations").is_empty() {
        errors.push(spec.get("mutations").required("mutations must contain at least one item"));
    }
    for mutation in spec.get("mutations").elements() {
        check_mutation(&mutation, &mut expressions, &mut errors);
    }
    let policy = spec.get("reinvocationPolicy");
    if policy.check_present(&mut errors) {
        policy.check_one_of(&["IfNeeded", "Never"], &mut errors);
    }
    errors
}

/// Checks that a mutation has exactly one type, with the fields of that type.
fn check_mutation(mutation: &Field<'_, '_>, expressions: &mut Expressions<'_>, errors: &mut ErrorList) {
    let kind = mutation.get("patchType");
    if !kind.check_present(errors) {
        return;
    }
    let (wanted, other, returns) = match kind.text() {
        "ApplyConfiguration" => ("applyConfiguration", "jsonPatch", Returns::Object),
        "JSONPatch" => ("jsonPatch", "applyConfiguration", Returns::JsonPatches),
        _ => return errors.push(kind.unsupported(&["ApplyConfiguration", "JSONPatch"])),
    };
    if mutation.get(wanted).exists() {
        let patch = mutation.get(wanted);
        let expression = patch.get("expression");
        let source = expression.text().trim();
        if source.is_empty() {
            errors.push(expression.required(""));
        } else {
            let uses = Uses { patches: true, ..expressions.uses() };
            expressions.check(&expression, source, (returns, uses), errors);
        }
    } else {
        let detail = format!("must be specified when patchType is {}", kind.text());
        errors.push(mutation.get(wanted).required(detail));
    }
    if mutation.get(other).exists() {
        let detail = format!("must not be specified when patchType is {}", kind.text());
        errors.push(FieldError::invalid(mutation.get(other).path(), format!("{{{other}}}"), detail));
    }
}
