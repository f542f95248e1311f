//! Rules of VolumeAttachments.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::api::validation::names;
use registry_core::resource::ObjectStrategy;

use crate::support::defaulting;
use crate::support::field::Field;

/// The spec is immutable.
pub(super) struct VolumeAttachmentStrategy;

impl ObjectStrategy for VolumeAttachmentStrategy {
    fn repeats_metadata_errors(&self) -> bool {
        false
    }

    fn allow_unconditional_update(&self) -> bool {
        false
    }

    fn reset_status_fields(&self) -> &'static [&'static [&'static str]] {
        &[&["metadata"]]
    }

    fn prepare_for_status_update(&self, _context: &RequestContext, new: &mut Object, old: &Object) {
        defaulting::keep_metadata(new, old);
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = Field::of(object, "spec");
        if spec.get("attacher").check_present(&mut errors) {
            spec.get("attacher").check(names::dns_subdomain, &mut errors);
        }
        spec.get("nodeName").check_present(&mut errors);
        let source = spec.get("source");
        if source.get("persistentVolumeName").exists() == source.get("inlineVolumeSpec").exists() {
            errors.push(
                source.required("must specify exactly one of inlineVolumeSpec and persistentVolumeName"),
            );
        }
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = self.validate(context, new);
        Field::of(new, "spec").check_immutable(&Field::of(old, "spec"), &mut errors);
        errors
    }
}
