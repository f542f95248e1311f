//! Rules of VolumeAttachments.

use registry_core::RequestContext;
use registry_core::api::validation::{ErrorList, names};
use registry_core::api::{FieldError, FieldPath, Object};
use registry_core::features::Feature;
use registry_core::resource::{GatedField, ObjectStrategy};

use crate::api::core::persistentvolumes::{sources, spec};
use crate::support::defaulting;
use crate::support::field::{Field, ShownAsGo as _};

/// Maximum size of the metadata of an attachment, in bytes.
const MAX_METADATA_BYTES: usize = 256 << 10;
/// Maximum length of the message of an error, in bytes.
const MAX_MESSAGE_BYTES: usize = 1 << 10;
const ONE_SOURCE: &str = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";

/// The spec is immutable.
pub(super) struct VolumeAttachmentStrategy;

impl ObjectStrategy for VolumeAttachmentStrategy {
    fn gated_fields(&self) -> Vec<GatedField> {
        ["status.attachError.errorCode", "status.detachError.errorCode"]
            .map(|path| GatedField::new(Feature::MutableCSINodeAllocatableCount, path))
            .into()
    }

    fn apply_defaults(&self, object: &mut Object) {
        defaulting::with_at(object, &["spec", "source", "inlineVolumeSpec"], sources::apply_defaults);
    }

    fn prepare_for_status_update(&self, _context: &RequestContext, new: &mut Object, old: &Object) {
        defaulting::keep_metadata(new, old);
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        check_spec(&Field::top_level(object, "spec"), &mut errors);
        check_status(&Field::top_level(object, "status"), &mut errors);
        let name = object.get_str(&["spec", "source", "persistentVolumeName"]);
        for complaint in name.map(names::dns_subdomain).unwrap_or_default() {
            // The path is one name with dots.
            let path = FieldPath::new("spec.source.persistentVolumeName");
            errors.push(FieldError::invalid(path, name.unwrap_or_default(), complaint));
        }
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = self.validate(context, new);
        let before = Field::top_level(old, "spec");
        Field::top_level(new, "spec").check_immutable_as(
            "<storage.VolumeAttachmentSpec>",
            &before,
            &mut errors,
        );
        errors
    }

    fn validate_status_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        self.validate_update(context, new, old)
    }
}

fn check_spec(spec: &Field<'_, '_>, errors: &mut ErrorList) {
    sources::check_driver_name(&spec.get("attacher"), errors);
    let source = spec.get("source");
    let name = source.get("persistentVolumeName");
    let inline = source.get("inlineVolumeSpec");
    match (inline.exists(), name.exists()) {
        (false, false) => errors.push(source.required(ONE_SOURCE)),
        (true, true) => errors.push(source.forbidden(ONE_SOURCE)),
        (false, true) => {
            if name.text().is_empty() {
                errors.push(name.required("must specify non empty persistentVolumeName"));
            }
        }
        (true, false) => spec::check_inline(&inline, errors),
    }
    spec.get("nodeName").check(names::dns_subdomain, errors);
}

fn check_status(status: &Field<'_, '_>, errors: &mut ErrorList) {
    let metadata = status.get("attachmentMetadata");
    let bytes: usize = metadata.texts().map(|(key, value)| key.len() + value.len()).sum();
    if bytes > MAX_METADATA_BYTES {
        errors.push(FieldError::too_long(metadata.path(), MAX_METADATA_BYTES));
    }
    for failure in ["attachError", "detachError"] {
        let failure = status.get(failure);
        let message = failure.get("message");
        if message.text().len() > MAX_MESSAGE_BYTES {
            // The message of the error names the limit of the metadata.
            errors.push(FieldError::too_long(message.path(), MAX_METADATA_BYTES));
        }
        failure.get("errorCode").check_between(0, i64::from(i32::MAX), errors);
    }
}
