//! `resource.k8s.io/v1alpha3 DeviceTaintRule`: taints for devices that an administrator selects. Kubernetes 1.36 stores
//! rules in this version.

mod strategy;
pub mod v1beta2;

use registry_core::api::Object;
use registry_core::resource::{CellValue, Column};
use registry_derive::Resource;
use resource_views::resource::v1alpha3::DeviceTaintRule;

use crate::support::printers;

/// `devicetaintrules` of `resource.k8s.io/v1alpha3`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::resource::v1alpha3::DeviceTaintRule,
    group = "resource.k8s.io",
    version = "v1alpha3",
    introduced = "1.33",
    off_by_default,
    cluster,
    status,
    generation,
    columns = COLUMNS,
    reset_by_status(metadata),
    deprecated = "resource.k8s.io/v1alpha3 DeviceTaintRule is deprecated in v1.36+, unavailable in v1.39+",
    strategy = strategy::DeviceTaintRuleStrategy,
)]
pub struct DeviceTaintRules;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Key", |object| printers::text(object, &["spec", "taint", "key"]))
        .documented_by(&["spec", "taint", "key"]),
    Column::text("Value", |object| printers::text(object, &["spec", "taint", "value"]))
        .documented_by(&["spec", "taint", "value"]),
    Column::text("Effect", |object| printers::text(object, &["spec", "taint", "effect"]))
        .documented_by(&["spec", "taint", "effect"]),
    Column::dated("TimeAdded", time_added).documented_by(&["spec", "taint", "timeAdded"]),
    Column::AGE,
];

fn time_added(object: &Object) -> CellValue {
    match DeviceTaintRule(object).spec().taint().time_added().optional_text() {
        Some(moment) => CellValue::age_of(Some(moment)),
        None => "".into(),
    }
}
