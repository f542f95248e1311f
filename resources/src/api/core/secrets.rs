//! `v1 Secret`: Secret holds secret data of a certain type.

mod key_pair;
mod strategy;
mod token_use;

use registry_core::resource::Column;
use registry_derive::Resource;

use crate::support::printers;

pub use token_use::note_token_use;

/// `secrets` of `v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::core::v1::Secret,
    version = "v1",
    selectable(type_ = "type"),
    columns = COLUMNS,
    strategy = strategy::SecretStrategy,
)]
pub struct Secrets;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Type", |object| printers::text(object, &["type"])).documented_by(&["type"]),
    Column::text("Data", |object| printers::count(object, &["data"])).documented_by(&["data"]),
    Column::AGE,
];
