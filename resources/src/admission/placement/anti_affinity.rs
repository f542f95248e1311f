//! `LimitPodHardAntiAffinityTopology`: a pod may require to be apart from others by node, and not by any larger domain,
//! which it would have for itself.

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::admission::{ObjectWrite, Operation, ValidatingAdmission};
use registry_core::api::StatusError;
use resource_views::core::v1::Pod;

use crate::admission::refusal::forbidden;
use crate::api::core::pods::Pods;

const HOST: &str = "kubernetes.io/hostname";

/// The plug-in.
pub(super) struct AntiAffinityLimit;

#[async_trait]
impl ValidatingAdmission for AntiAffinityLimit {
    async fn validate(&self, _: &RequestContext, write: ObjectWrite<'_>) -> Result<(), StatusError> {
        let Some(pod) = write.object_of::<Pods>(Operation::WRITES) else { return Ok(()) };
        let spec = Pod(pod).spec();
        let affinity = spec.affinity();
        let affinity = affinity.pod_anti_affinity();
        let terms = affinity.required_during_scheduling_ignored_during_execution();
        let mut keys = terms.elements().map(|term| term.topology_key().text());
        let Some(other) = keys.find(|key| *key != HOST) else { return Ok(()) };
        let why = format!(
            "affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey {other} but only key {HOST} is allowed"
        );
        Err(forbidden(write.attributes, write.object, why))
    }
}
