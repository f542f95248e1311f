//! Rules of VolumeAttachments.

use registry_core::RequestContext;
use registry_core::api::validation::{ErrorList, names};
use registry_core::api::{FieldError, FieldPath, Object};
use registry_core::features::Feature;
use registry_core::resource::{GatedField, ObjectStrategy};
use resource_views::storage::v1::{
    VolumeAttachment, VolumeAttachmentMut, VolumeAttachmentSpec, VolumeAttachmentStatus,
};

use crate::api::core::persistentvolumes::{sources, spec};
use crate::api::core::pod_spec::validation::check_driver_name;
use crate::support::field::ShownAsGo as _;

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
        VolumeAttachmentMut(object).spec().edit(|mut spec| {
            spec.source().edit(|mut source| source.inline_volume_spec().edit(sources::apply_defaults));
        });
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        check_spec(&VolumeAttachment(object).spec(), &mut errors);
        check_status(&VolumeAttachment(object).status(), &mut errors);
        let name = VolumeAttachment(object).spec().source().persistent_volume_name().optional_text();
        for complaint in name.map(names::dns_subdomain).unwrap_or_default() {
            // The path is one name with dots.
            let path = FieldPath::new("spec.source.persistentVolumeName");
            errors.push(FieldError::invalid(path, name.unwrap_or_default(), complaint));
        }
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = self.validate(context, new);
        let before = VolumeAttachment(old).spec();
        VolumeAttachment(new).spec().check_immutable_as(
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

fn check_spec(spec: &VolumeAttachmentSpec<'_, '_>, errors: &mut ErrorList) {
    check_driver_name(&spec.attacher(), errors);
    let source = spec.source();
    let name = source.persistent_volume_name();
    let inline = source.inline_volume_spec();
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
    spec.node_name().check(names::dns_subdomain, errors);
}

fn check_status(status: &VolumeAttachmentStatus<'_, '_>, errors: &mut ErrorList) {
    let metadata = status.attachment_metadata();
    let bytes: usize = metadata.texts().map(|(key, value)| key.len() + value.len()).sum();
    if bytes > MAX_METADATA_BYTES {
        errors.push(FieldError::too_long(metadata.path(), MAX_METADATA_BYTES));
    }
    for failure in [status.attach_error(), status.detach_error()] {
        let message = failure.message();
        if message.text().len() > MAX_MESSAGE_BYTES {
            // The message of the error names the limit of the metadata.
            errors.push(FieldError::too_long(message.path(), MAX_METADATA_BYTES));
        }
        failure.error_code().check_between(0, i64::from(i32::MAX), errors);
    }
}
