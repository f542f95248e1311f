//! `v1 PodTemplate`: PodTemplate describes a template for creating copies of a predefined pod.

mod strategy;

use registry_core::resource::Column;
use registry_derive::Resource;

use crate::cells;

/// `podtemplates` of `v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::core::v1::PodTemplate,
    version = "v1",
    plural = "podtemplates",
    generation,
    returns_deleted_object,
    storage_prefix = "podtemplates",
    columns = COLUMNS,
    strategy = strategy::PodTemplateStrategy,
)]
pub struct PodTemplates;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Containers", |object| cells::container_names(object, &["template", "spec"]))
        .described("Names of each container in the template."),
    Column::text("Images", |object| cells::container_images(object, &["template", "spec"]))
        .described("Images referenced by each container in the template."),
    Column::text("Pod Labels", |object| cells::labels_text(object.get(&["template", "metadata", "labels"])))
        .described("The labels for the pod template."),
];
