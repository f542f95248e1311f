//! `storage.k8s.io/v1 StorageClass`: the parameters of volumes that are made for claims.

mod strategy;

use registry_core::resource::{Cell, Column};
use registry_derive::Resource;

use crate::support::printers;

/// `storageclasses` of `storage.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::storage::v1::StorageClass,
    group = "storage.k8s.io",
    version = "v1",
    retired("storage.k8s.io/v1beta1"),
    short("sc"),
    cluster,
    returns_deleted_object,
    columns = COLUMNS,
    strategy = strategy::StorageClassStrategy,
)]
pub struct StorageClasses;

/// The annotations of the class of claims that name none.
pub(crate) const IS_DEFAULT: [&str; 2] =
    ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];

static COLUMNS: &[Column] = &[
    Column { cell: Cell::Computed(|object| printers::name_of_class(object, &IS_DEFAULT)), ..Column::NAME },
    Column::text("Provisioner", |object| printers::text(object, &["provisioner"]))
        .documented_by(&["provisioner"]),
    Column::text("ReclaimPolicy", |object| printers::text_or(object, &["reclaimPolicy"], "Delete"))
        .documented_by(&["reclaimPolicy"]),
    Column::text("VolumeBindingMode", |object| {
        printers::text_or(object, &["volumeBindingMode"], "Immediate")
    })
    .documented_by(&["volumeBindingMode"]),
    Column::text("AllowVolumeExpansion", |object| printers::flag(object, &["allowVolumeExpansion"]))
        .documented_by(&["allowVolumeExpansion"]),
    Column::AGE,
];
