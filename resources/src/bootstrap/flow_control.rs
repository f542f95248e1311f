//! Priority levels and flow schemas, which limit the concurrency of requests.
//!
//! The mandatory objects are always kept as the server defines them. Suggested ones follow the server while their
//! annotation says so, or while they are unmodified.
//!
//! Kubernetes concept: `priority-and-fairness-config-producer`; `pkg/registry/flowcontrol/ensurer`.

use std::time::Duration;

use async_trait::async_trait;
use futures::future::try_join;
use registry_core::api::{Object, StatusError};
use registry_core::registry::InstalledApi;
use resource_views::flowcontrol::v1::FlowSchema;

use super::{CONTROLLER_PERIOD, PostStartHook};
use crate::api::flowcontrol::flowschemas::FlowSchemas;
use crate::api::flowcontrol::mandatory;
use crate::api::flowcontrol::prioritylevelconfigurations::PriorityLevelConfigurations;
use crate::support::bootstrap_objects::bootstrap_objects;
use crate::support::system_writer::SystemWriter;

/// Whether the server updates an object's spec.
const AUTOUPDATE: &str = "apf.kubernetes.io/autoupdate-spec";

/// The hook.
pub(super) struct FlowControl {
    levels: SystemWriter,
    schemas: SystemWriter,
}

// === impl FlowControl ===

impl FlowControl {
    pub(super) fn new(installed: &InstalledApi) -> Option<Self> {
        let levels = SystemWriter::for_resource::<PriorityLevelConfigurations>(installed)?;
        Some(Self { levels, schemas: SystemWriter::for_resource::<FlowSchemas>(installed)? })
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
        let levels = of(&self.levels, bootstrap_objects::<PriorityLevelConfigurations>());
        let schemas = of(&self.schemas, bootstrap_objects::<FlowSchemas>());
        try_join(self.levels.ensure(levels, mended), self.schemas.ensure(schemas, mended)).await.map(drop)
    }
}

/// Returns the object with the server's spec, if the server manages it.
fn mended(present: &Object, wanted: &Object) -> Option<Object> {
    // The kinds of both have a spec.
    if FlowSchema(present).spec().value() == FlowSchema(wanted).spec().value() {
        return None;
    }
    let annotation = present.annotation(AUTOUPDATE);
    let is_kept = mandatory::NAMES.contains(&present.name())
        || match annotation {
            Some(value) => value == "true",
            // An object that precedes the annotation is managed unless it was modified.
            None => present.generation() <= 1,
        };
    is_kept.then(|| {
        let mut object = present.clone();
        object.copy_field(wanted, &["spec"]);
        object.set(&["metadata", "annotations", AUTOUPDATE], "true".into());
        object
    })
}
