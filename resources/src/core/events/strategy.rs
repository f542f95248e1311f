//! Rules of events.

use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::validation::names::NameRule;
use registry_core::api::{FieldError, FieldPath, Object};
use registry_core::resource::ObjectStrategy;

/// An event is in the namespace of what it is about.
pub(super) struct EventStrategy;

impl ObjectStrategy for EventStrategy {
    fn repeats_metadata_errors(&self) -> bool {
        false
    }

    fn requires_qualified_finalizers(&self) -> bool {
        false
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let about = object.get_str(&["involvedObject", "namespace"]).unwrap_or_default();
        let own = object.namespace();
        // Events about cluster-scoped objects are in `default`.
        let matches = if about.is_empty() { own == "default" } else { about == own };
        if matches {
            return ErrorList::default();
        }
        let path = FieldPath::new("involvedObject").child("namespace");
        FieldError::invalid(path, about, "does not match event.namespace").into()
    }

    fn name_rule(&self) -> NameRule {
        // Recorders make names of their own; whatever fits into a path is one.
        NameRule::PathSegment
    }

    fn supports_garbage_collection(&self) -> bool {
        false
    }

    fn allow_create_on_update(&self) -> bool {
        true
    }
}
