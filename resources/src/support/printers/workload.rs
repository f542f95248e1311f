//! The columns that workload controllers share.

use registry_core::resource::Column;

/// Number of wanted replicas.
pub(crate) const DESIRED: Column =
    Column::integer("Desired", |object| super::number(object, &["spec", "replicas"]))
        .documented_by(&["spec", "replicas"]);

/// Number of existing replicas.
pub(crate) const CURRENT: Column =
    Column::integer("Current", |object| super::number(object, &["status", "replicas"]))
        .documented_by(&["status", "replicas"]);

/// Number of ready replicas.
pub(crate) const READY: Column =
    Column::integer("Ready", |object| super::number(object, &["status", "readyReplicas"]))
        .documented_by(&["status", "readyReplicas"]);

/// Ready and wanted replicas: `1/2`.
pub(crate) const READY_OF_DESIRED: Column =
    Column::text("Ready", |object| super::share(object, &["status", "readyReplicas"], &["spec", "replicas"]))
        .described("Number of the pod with ready state");

/// The names of the containers in the pods' template.
pub(crate) const CONTAINERS: Column =
    Column::text("Containers", |object| super::container_names(object, &["spec", "template", "spec"]))
        .described("Names of each container in the template.")
        .wide();

/// Their images.
pub(crate) const IMAGES: Column =
    Column::text("Images", |object| super::container_images(object, &["spec", "template", "spec"]))
        .described("Images referenced by each container in the template.")
        .wide();

/// The selector of the pods.
pub(crate) const SELECTOR: Column =
    Column::text("Selector", |object| super::label_selector(object, &["spec", "selector"]))
        .documented_by(&["spec", "selector"])
        .wide();
