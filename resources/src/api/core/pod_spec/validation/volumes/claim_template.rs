//! Claims that are created for a pod, from a template in its spec.

use registry_core::api::validation::ErrorList;
use registry_core::api::validation::object_meta::{validate_annotations, validate_labels};
use resource_views::core::v1::PersistentVolumeClaimTemplate;
use resource_views::meta::v1::ObjectMeta;
use resource_views::{Typed as _, View};

use crate::api::core::volume_claim::{self, Tolerated};

/// Checks a template.
pub(super) fn check(template: &PersistentVolumeClaimTemplate<'_, '_>, errors: &mut ErrorList) {
    check_metadata(&template.metadata(), errors);
    volume_claim::check_spec(&template.spec(), Tolerated::default(), errors);
}

/// Checks the metadata of what is made from a template, which has labels and annotations only.
pub(crate) fn check_metadata(metadata: &ObjectMeta<'_, '_>, errors: &mut ErrorList) {
    if metadata.has_no_fields() {
        return;
    }
    let annotations = metadata.annotations();
    errors.append(validate_annotations(annotations.texts(), &annotations.path()));
    let labels = metadata.labels();
    errors.append(validate_labels(labels.texts(), &labels.path()));
    let mut refuse = |field: &View<'_, '_>| {
        if field.value().is_some_and(|value| value != "") {
            errors.push(field.forbidden("cannot be set"));
        }
    };
    refuse(&metadata.name());
    refuse(&metadata.generate_name());
    refuse(&metadata.namespace());
    refuse(&metadata.self_link());
    refuse(&metadata.uid().shown_as("uID"));
    refuse(&metadata.resource_version());
    if metadata.generation().number() != 0 {
        refuse(&metadata.generation());
    }
    refuse(&metadata.creation_timestamp());
    refuse(&metadata.deletion_timestamp());
    refuse(&metadata.deletion_grace_period_seconds());
    refuse(&metadata.owner_references());
    refuse(&metadata.finalizers());
    refuse(&metadata.managed_fields());
}
