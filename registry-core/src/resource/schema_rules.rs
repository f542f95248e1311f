//! The validation that the schema of a kind describes, for the structs of authors and for custom resources alike.

use std::sync::Arc;

use serde_json::Value;

use crate::api::validation::FieldErrorKind;
use crate::api::{ErrorList, FieldError, FieldPath};
use crate::cel::{RuleBudget, ValidationRules};
use crate::context::{Budget, RequestContext};
use crate::schema::{Definition, StructuralSchema};

use super::WrittenValue;

const NOT_CHECKED: &str = "some validation rules were not checked because the object was invalid; correct the existing errors \
                           to complete validation";

/// The compiled schema of a kind with its rules in CEL.
#[derive(Debug)]
pub struct SchemaRules {
    /// The schema of the whole object, if there is one.
    structural: Option<Arc<StructuralSchema>>,
    /// The schema of `status`, if there is one.
    status: Option<StructuralSchema>,
    /// The rules in CEL, if there are any.
    rules: Option<ValidationRules>,
}

// === impl SchemaRules ===

impl SchemaRules {
    /// Compiles the rules of a schema, given its compiled form.
    pub fn compile(schema: &Value, structural: Option<Arc<StructuralSchema>>) -> Self {
        Self {
            status: structural.as_ref().and_then(|structural| structural.property("status")),
            structural,
            rules: ValidationRules::compile(schema, true),
        }
    }

    /// Compiles the rules of a struct's definition.
    pub fn from_definition(definition: &Definition) -> Self {
        Self::compile(definition.schema(), Some(Arc::clone(definition.structural())))
    }

    /// Validates a write. `more` adds errors of other checks, which prevent the evaluation of rules as the errors of the
    /// schema do.
    ///
    /// Errors that an update does not cause are warnings.
    pub fn validate(
        &self,
        context: &RequestContext,
        write: WrittenValue<'_>,
        more: impl FnOnce(&mut ErrorList),
    ) -> ErrorList {
        let mut errors = ErrorList::default();
        if write.is_status {
            self.validate_status(write, &context.budget, more, &mut errors);
        } else {
            self.validate_whole(write, &context.budget, more, &mut errors);
        }
        if let Some(rules) = &self.rules {
            evaluate(rules, context, write, &mut errors);
        }
        errors
    }

    /// Validates a write of the whole object, without rules.
    fn validate_whole(
        &self,
        write: WrittenValue<'_>,
        budget: &Budget,
        more: impl FnOnce(&mut ErrorList),
        errors: &mut ErrorList,
    ) {
        let root = FieldPath::root();
        if let Some(schema) = &self.structural {
            match write.old {
                None => schema.validate(&root, write.new, budget, errors),
                Some(old) => schema.validate_update(&root, write.new, old, budget, errors),
            }
        }
        more(errors);
        if let Some(schema) = &self.structural {
            schema.validate_embedded(&root, write.new, errors);
            schema.validate_lists(&root, write.new, write.old, errors);
        }
    }

    /// Validates a write of the status, without rules.
    fn validate_status(
        &self,
        write: WrittenValue<'_>,
        budget: &Budget,
        more: impl FnOnce(&mut ErrorList),
        errors: &mut ErrorList,
    ) {
        if let (Some(schema), Some(status)) = (&self.status, write.new.get("status")) {
            let path = FieldPath::new("status");
            let old = write.old.and_then(|old| old.get("status")).unwrap_or(&Value::Null);
            schema.validate_update(&path, status, old, budget, errors);
        }
        more(errors);
        if let Some(schema) = &self.structural {
            schema.validate_lists(&FieldPath::root(), write.new, write.old, errors);
        }
    }
}

/// Evaluates the rules, unless errors of types or sizes make that pointless. Errors that an update does not cause are
/// warnings.
fn evaluate(
    rules: &ValidationRules,
    context: &RequestContext,
    write: WrittenValue<'_>,
    errors: &mut ErrorList,
) {
    // On update, the errors of the metadata do not count, as in Kubernetes.
    let before = write.old.is_none().then_some(write.errors);
    let root = FieldPath::root();
    if errors
        .0
        .iter()
        .chain(before.into_iter().flat_map(|before| &before.0))
        .any(|error| blocks_rules(error.kind))
    {
        errors.push(FieldError::invalid(root, Value::Null, NOT_CHECKED));
        return;
    }
    let mut budget = RuleBudget::default().within(&context.budget);
    for error in rules.validate(&root, write.new, write.old, &mut budget, errors).0 {
        context.warn(error.to_string());
    }
}

/// Whether rules are not evaluated for an object with such an error.
fn blocks_rules(kind: FieldErrorKind) -> bool {
    use FieldErrorKind::{NotSupported, Required, TooLong, TooMany, TypeInvalid};
    matches!(kind, NotSupported | Required | TooLong | TooMany | TypeInvalid)
}
