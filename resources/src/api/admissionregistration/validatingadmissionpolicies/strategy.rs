//! Rules of ValidatingAdmissionPolicies.

use std::collections::HashSet;

use registry_core::api::validation::{ErrorList, names};
use registry_core::api::{FieldError, Object};
use registry_core::cel::admission::{Returns, Uses};
use registry_core::context::Budget;
use resource_views::List;
use resource_views::admissionregistration::v1::{
    AuditAnnotation, MutatingAdmissionPolicySpecMut, ValidatingAdmissionPolicy, ValidatingAdmissionPolicyMut,
    Validation,
};

use crate::api::admissionregistration::expressions::Expressions;
use crate::api::admissionregistration::matching;
use crate::api::admissionregistration::reserved_names::{ReservingStrategy, Rules};
use crate::support::conditions;

/// Maximum number of audit annotations.
const MAX_ANNOTATIONS: usize = 20;
/// Maximum length of the expression for the value of an audit annotation, in bytes.
const MAX_VALUE_EXPRESSION_BYTES: usize = 5 * 1024;

/// Defaults and validation of validations.
pub(super) struct ValidatingPolicyRules;

/// The rules, and those of names.
pub(super) type ValidatingPolicyStrategy = ReservingStrategy<ValidatingPolicyRules>;

#[expect(non_upper_case_globals, reason = "named as the type, like the value of a unit struct")]
pub(super) const ValidatingPolicyStrategy: ValidatingPolicyStrategy = ReservingStrategy::DEFAULT;

impl Rules for ValidatingPolicyRules {
    fn apply_defaults(object: &mut Object) {
        let spec = ValidatingAdmissionPolicyMut(object).spec();
        spec.edit(|spec| matching::default_policy(MutatingAdmissionPolicySpecMut(spec.0)));
    }

    fn check(object: &Object, old: Option<&Object>, budget: &Budget) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = ValidatingAdmissionPolicy(object).spec();
        let before = old.map(|old| ValidatingAdmissionPolicy(old).spec().into());
        let variables = spec.variables();
        let mut expressions = Expressions::for_policy(&spec.into(), before.as_ref(), budget);
        if !variables.is_empty() {
            expressions = expressions.with_variables();
        }
        matching::check_policy(&spec.into(), before.as_ref(), &mut expressions, &mut errors);
        expressions.check_variables(&variables, &mut errors);
        let validations = spec.validations();
        let annotations = spec.audit_annotations();
        if validations.len() + annotations.len() == 0 {
            let detail = "validations or auditAnnotations must contain at least one item";
            errors.push(validations.required(detail));
            errors.push(annotations.required(detail));
            return errors;
        }
        for validation in validations.elements() {
            check_validation(&validation, &mut expressions, &mut errors);
        }
        check_annotations(object, &annotations, &mut expressions, &mut errors);
        errors
    }

    fn check_status(object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let status = ValidatingAdmissionPolicy(object).status();
        let type_checking = status.type_checking();
        let warnings = type_checking.expression_warnings();
        for warning in warnings.elements() {
            warning.warning().check_present(&mut errors);
            if warning.field_ref().text().trim().is_empty() {
                errors.push(warning.field_ref().required(""));
            }
        }
        conditions::check(&status.conditions(), &mut errors);
        errors
    }
}

fn check_validation(
    validation: &Validation<'_, '_>,
    expressions: &mut Expressions<'_>,
    errors: &mut ErrorList,
) {
    let expression = validation.expression();
    let uses = expressions.uses();
    if expression.text().trim().is_empty() {
        errors.push(expression.required("expression is not specified"));
    } else {
        expressions.check(&expression, expression.text(), Returns::Bool, uses, errors);
    }
    let message_expression = validation.message_expression();
    let text = message_expression.text();
    if !text.is_empty() && text.trim().is_empty() {
        errors.push(message_expression.invalid("must be non-empty if specified"));
    } else if !text.is_empty() {
        let uses = Uses { authorizer: false, ..uses };
        expressions.check(&message_expression, text, Returns::String, uses, errors);
    }
    let message = validation.message();
    if !message.text().is_empty() && message.text().trim().is_empty() {
        errors.push(message.invalid("must be non-empty if specified"));
    } else if message.text().trim().contains(['\n', '\r']) {
        errors.push(message.invalid("must not contain line breaks"));
    }
    validation.reason().check_one_of(&["Forbidden", "Invalid", "RequestEntityTooLarge"], errors);
}

fn check_annotations(
    object: &Object,
    annotations: &List<AuditAnnotation<'_, '_>>,
    expressions: &mut Expressions<'_>,
    errors: &mut ErrorList,
) {
    if annotations.len() > MAX_ANNOTATIONS {
        errors
            .push(annotations.invalid(format!("must not have more than {MAX_ANNOTATIONS} auditAnnotations")));
    }
    let mut seen = HashSet::new();
    for annotation in annotations.elements() {
        let key = annotation.key();
        if object.name().is_empty() {
            errors.push(key.invalid("requires metadata.name be non-empty"));
        } else {
            let qualified = format!("{}/{}", object.name(), key.text());
            for complaint in names::qualified_name(&qualified) {
                errors.push(FieldError::invalid(key.path(), qualified.as_str(), complaint));
            }
        }
        let expression = annotation.value_expression();
        let source = expression.text().trim();
        if source.is_empty() {
            errors.push(expression.required("valueExpression is not specified"));
        } else if source.len() > MAX_VALUE_EXPRESSION_BYTES {
            let detail = format!("must not exceed {MAX_VALUE_EXPRESSION_BYTES} bytes in length");
            errors.push(expression.required(detail));
        } else {
            let uses = expressions.uses();
            expressions.check(&expression, source, Returns::StringOrNull, uses, errors);
        }
        if !seen.insert(key.text()) {
            errors.push(key.duplicate());
        }
    }
}
