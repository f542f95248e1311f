//! Objects that are created when missing, and managed by the operator from then on.
//!
//! Kubernetes concept: `pkg/controlplane/controller/systemnamespaces`, and the scheduling API's post-start hook.

use std::time::Duration;

use async_trait::async_trait;
use futures::future::try_join_all;
use registry_core::api::{Object, StatusError};
use registry_core::registry::InstalledApi;

use super::{CONTROLLER_PERIOD, PostStartHook};
use crate::api::core::namespaces::Namespaces;
use crate::api::scheduling::priorityclasses::PriorityClasses;
use crate::support::bootstrap_objects::bootstrap_objects;
use crate::support::system_writer::SystemWriter;

/// Creates missing objects of one resource.
pub(super) struct MakeMissing {
    name: &'static str,
    system_writer: SystemWriter,
    wanted: fn() -> Vec<Object>,
    period: Option<Duration>,
}

/// Creates the system namespaces.
pub(super) fn namespaces(installed: &InstalledApi) -> Option<MakeMissing> {
    let name = "start-system-namespaces-controller";
    Some(MakeMissing {
        name,
        system_writer: SystemWriter::for_resource::<Namespaces>(installed)?,
        wanted: bootstrap_objects::<Namespaces>,
        period: Some(CONTROLLER_PERIOD),
    })
}

/// Creates the priority classes of system-critical pods.
pub(super) fn priority_classes(installed: &InstalledApi) -> Option<MakeMissing> {
    let name = "scheduling/bootstrap-system-priority-classes";
    let system_writer = SystemWriter::for_resource::<PriorityClasses>(installed)?;
    Some(MakeMissing { name, system_writer, wanted: bootstrap_objects::<PriorityClasses>, period: None })
}

#[async_trait]
impl PostStartHook for MakeMissing {
    fn name(&self) -> &'static str {
        self.name
    }

    fn period(&self) -> Option<Duration> {
        self.period
    }

    async fn run(&self) -> Result<(), StatusError> {
        let ensured =
            (self.wanted)().into_iter().map(|object| self.system_writer.ensure_one(object, |_, _| None));
        try_join_all(ensured).await.map(drop)
    }
}
