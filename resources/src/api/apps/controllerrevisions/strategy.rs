//! Rules of ControllerRevisions.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::resource::ObjectStrategy;
use resource_views::apps::v1::ControllerRevision;
use serde_json::Value;

/// The data is an object and immutable.
pub(super) struct ControllerRevisionStrategy;

impl ObjectStrategy for ControllerRevisionStrategy {
    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let revision = ControllerRevision(object);
        let data = revision.data();
        match data.value() {
            None | Some(Value::Null) => errors.push(data.required("data is mandatory")),
            Some(Value::Object(_)) => {}
            Some(_) => errors.push(data.required("data must be a valid JSON object")),
        }
        revision.revision().check_not_negative(&mut errors);
        errors
    }

    fn validate_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let revision = ControllerRevision(new);
        revision.revision().check_not_negative(&mut errors);
        revision.data().check_immutable(&ControllerRevision(old).data(), &mut errors);
        errors
    }
}
