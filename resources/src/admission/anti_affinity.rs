//! `LimitPodHardAntiAffinityTopology`: a pod may require to be apart from others by node, and not by any larger domain,
//! which it would have for itself.

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::admission::{AdmissionPlugin, Attributes, Operation, ValidatingAdmission};
use registry_core::api::{Object, StatusError};
use serde_json::Value;

use super::concerns;
use super::refusal::forbidden;
use crate::api::core::pods::Pods;

const HOST: &str = "kubernetes.io/hostname";
const REQUIRED: [&str; 4] =
    ["spec", "affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution"];

/// The plug-in.
pub(super) struct AntiAffinityLimit;

impl AdmissionPlugin for AntiAffinityLimit {
    fn name(&self) -> &'static str {
        "LimitPodHardAntiAffinityTopology"
    }
}

#[async_trait]
impl ValidatingAdmission for AntiAffinityLimit {
    async fn validate(
        &self,
        _context: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&Object>,
        _old: Option<&Object>,
    ) -> Result<(), StatusError> {
        let Some(pod) = object else { return Ok(()) };
        if !concerns::<Pods>(attributes, &[Operation::Create, Operation::Update]) {
            return Ok(());
        }
        let terms = pod.get(&REQUIRED).and_then(Value::as_array).into_iter().flatten();
        let mut keys = terms.map(|term| term.get("topologyKey").and_then(Value::as_str).unwrap_or_default());
        let Some(other) = keys.find(|key| *key != HOST) else { return Ok(()) };
        let why = format!(
            "affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey {other} but only key {HOST} is allowed"
        );
        Err(forbidden(attributes, object, why))
    }
}
