//! Objects that a server reads from files: accepted as if a client created them, but not stored.

use serde_json::Value;

use crate::api::{Object, StatusError};
use crate::context::RequestContext;
use crate::resource::{ResourceType, with_defaults};
use crate::schema::{ConformError, EmptyFields, FieldIssue};

use super::store::{MainRules, Write};

/// Error of an object that is not accepted. Not retryable.
#[derive(Debug, thiserror::Error)]
pub enum UnacceptedError {
    /// A field has the wrong type.
    #[error("{}", .0.text)]
    Form(ConformError),
    /// Fields are unknown.
    #[error("strict decoding error: {}", .0.join(", "))]
    UnknownFields(Vec<String>),
    /// The rules of the kind refuse the object.
    #[error("{}", .0.message)]
    Refused(Box<StatusError>),
}

/// Returns an object in the form in which a store would have it: in the schema's form, with defaults, and valid. Unknown fields
/// are errors. The hooks of stores, which know other objects, are not asked.
///
/// # Errors
/// The object is not valid.
pub fn accept_unstored(resource: &ResourceType, mut value: Value) -> Result<Object, UnacceptedError> {
    let context = RequestContext::system("");
    let (mut unknown, mut empty) = (Vec::<FieldIssue>::new(), EmptyFields::default());
    let schema = resource.schema();
    schema
        .conform_as_sent(&context.budget, &mut value, &mut unknown, &mut empty)
        .map_err(UnacceptedError::Form)?;
    if !unknown.is_empty() {
        return Err(UnacceptedError::UnknownFields(unknown.iter().map(ToString::to_string).collect()));
    }
    accept(resource, value, &empty, &context).map_err(|failure| UnacceptedError::Refused(Box::new(failure)))
}

fn accept(
    resource: &ResourceType,
    value: Value,
    empty: &EmptyFields,
    context: &RequestContext,
) -> Result<Object, StatusError> {
    let schema = resource.schema();
    let strategy = resource.strategy.as_ref();
    let object = crate::resource::in_form(value)?;
    let dependent = |object: &mut Object| strategy.apply_defaults(object);
    let mut object = with_defaults(object, Some(empty), &schema, dependent, &context.budget)?;
    schema.nil_empties(&mut object.0);
    strategy.prepare_for_create(context, &mut object);
    Write { resource, context, new: &mut object, old: None, rules: &MainRules }.validate_new(empty)?;
    strategy.canonicalize(&mut object);
    Ok(object)
}
