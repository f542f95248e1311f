//! Rules of ControllerRevisions.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::resource::ObjectStrategy;
use serde_json::Value;

use crate::support::field::Field;

/// The data is an object and immutable.
pub(super) struct ControllerRevisionStrategy;

impl ObjectStrategy for ControllerRevisionStrategy {
    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let data = Field::of(object, "data");
        match data.value() {
            None | Some(Value::Null) => errors.push(data.required("data is mandatory")),
            Some(Value::Object(_)) => {}
            Some(_) => errors.push(data.required("data must be a valid JSON object")),
        }
        Field::of(object, "revision").check_not_negative(&mut errors);
        errors
    }

    fn validate_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        Field::of(new, "revision").check_not_negative(&mut errors);
        Field::of(new, "data").check_immutable(&Field::of(old, "data"), &mut errors);
        errors
    }
}
