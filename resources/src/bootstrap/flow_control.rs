//! Priority levels and flow schemas: how much of each kind of request is worked on at once.
//!
//! The mandatory ones always are as the server has them. Suggested ones follow the server for as long as their
//! annotation says so, or nobody has changed them.
//!
//! Kubernetes concept: `priority-and-fairness-config-producer`; `pkg/registry/flowcontrol/ensurer`.

use std::time::Duration;

use async_trait::async_trait;
use futures::future::try_join;
use registry_core::api::{Object, StatusError};
use registry_core::registry::InstalledApi;

use super::{CONTROLLER_PERIOD, PostStartHook, wanted};
use crate::flowcontrol::flowschemas::FlowSchemas;
use crate::flowcontrol::prioritylevelconfigurations::PriorityLevelConfigurations;
use crate::support::system_writer::SystemWriter;

/// Whether the server keeps an object's spec as it would make it.
const AUTOUPDATE: &str = "apf.kubernetes.io/autoupdate-spec";
/// The objects without which requests have no place to go.
const MANDATORY: [&str; 2] = ["exempt", "catch-all"];

/// The hook.
pub(super) struct FlowControl {
    levels: SystemWriter,
    schemas: SystemWriter,
}

// === impl FlowControl ===

impl FlowControl {
    pub(super) fn new(installed: &InstalledApi) -> Option<Self> {
        let levels = SystemWriter::of::<PriorityLevelConfigurations>(installed)?;
        Some(Self { levels, schemas: SystemWriter::of::<FlowSchemas>(installed)? })
    }
}

#[async_trait]
impl PostStartHook for FlowControl {
    fn name(&self) -> &'static str {
        "priority-and-fairness-config-producer"
    }

    fn period(&self) -> Option<Duration> {
        Some(CONTROLLER_PERIOD)
    }

    async fn run(&self) -> Result<(), StatusError> {
        let of = |system_writer: &SystemWriter, objects: Vec<Object>| -> Vec<Object> {
            objects.into_iter().map(|object| system_writer.with_defaults(object)).collect()
        };
        let levels = of(&self.levels, wanted::objects::<PriorityLevelConfigurations>());
        let schemas = of(&self.schemas, wanted::objects::<FlowSchemas>());
        try_join(self.levels.ensure(levels, mended), self.schemas.ensure(schemas, mended)).await.map(drop)
    }
}

/// The object with the server's spec, where that is the server's to keep.
fn mended(present: &Object, wanted: &Object) -> Option<Object> {
    if present.get(&["spec"]) == wanted.get(&["spec"]) {
        return None;
    }
    let annotation = present.annotations().find(|(name, _)| *name == AUTOUPDATE).map(|(_, value)| value);
    let is_kept = MANDATORY.contains(&present.name())
        || match annotation {
            Some(value) => value == "true",
            // Of before there was the annotation: unless somebody changed it.
            None => present.generation() <= 1,
        };
    is_kept.then(|| {
        let mut object = present.clone();
        object.copy_field(wanted, &["spec"]);
        object.set(&["metadata", "annotations", AUTOUPDATE], "true".into());
        object
    })
}
