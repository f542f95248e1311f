//! Plug-ins that only concern kinds which are behind feature gates that are off by default. They are known by name, so
//! that a command line that names them is accepted, and have no effect, even if their kinds are served:
//!
//! | plug-in | concerns |
//! |---|---|
//! | `PodGroupProtection` | pod groups (gate `GenericWorkload`) |
//! | `PodGroupWorkloadExists` | pod groups and workloads (gate `GenericWorkload`) |
//! | `JobValidation` | the parallelism of jobs with pod groups (gates `GenericWorkload`, `WorkloadWithJob`) |
//!
//! `AlwaysAdmit` has no effect either: it admits every write.

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::admission::{AdmissionPlugin, ObjectWrite, ValidatingAdmission};
use registry_core::api::StatusError;

/// The names of these plug-ins.
pub(super) const NAMES: [&str; 4] =
    ["PodGroupProtection", "PodGroupWorkloadExists", "JobValidation", "AlwaysAdmit"];

/// One of them.
pub(super) struct WithoutEffect(pub(super) &'static str);

impl AdmissionPlugin for WithoutEffect {
    fn name(&self) -> &'static str {
        self.0
    }
}

#[async_trait]
impl ValidatingAdmission for WithoutEffect {
    async fn validate(&self, _: &RequestContext, _: ObjectWrite<'_>) -> Result<(), StatusError> {
        Ok(())
    }
}
