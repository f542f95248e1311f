//! `v1 PodTemplate`: PodTemplate describes a template for creating copies of a predefined pod.

mod strategy;

use registry_core::resource::Column;
use registry_derive::Resource;
use resource_views::core::v1::PodTemplate;

use crate::support::printers;

/// `podtemplates` of `v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::core::v1::PodTemplate,
    version = "v1",
    generation,
    returns_deleted_object,
    columns = COLUMNS,
    strategy = strategy::PodTemplateStrategy,
)]
pub struct PodTemplates;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Containers", |object| printers::container_names(object, &["template", "spec"]))
        .described("Names of each container in the template."),
    Column::text("Images", |object| printers::container_images(object, &["template", "spec"]))
        .described("Images referenced by each container in the template."),
    Column::text("Pod Labels", |object| {
        printers::labels_text(PodTemplate(object).template().metadata().labels().value())
    })
    .described("The labels for the pod template."),
];
