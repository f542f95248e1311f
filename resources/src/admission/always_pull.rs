//! `AlwaysPullImages`: every image is pulled when a container starts, so that a private one is only used by those who may
//! pull it.

use std::collections::HashSet;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::admission::{
    AdmissionPlugin, Attributes, MutatingAdmission, Operation, ValidatingAdmission,
};
use registry_core::api::validation::FieldError;
use registry_core::api::{FieldPath, Object, StatusError};
use serde_json::Value;

use super::concerns;
use super::refusal::forbidden;
use crate::api::core::pods::Pods;

const ALWAYS: &str = "Always";
const LISTS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// The plug-in.
pub(super) struct AlwaysPull;

impl AdmissionPlugin for AlwaysPull {
    fn name(&self) -> &'static str {
        "AlwaysPullImages"
    }
}

#[async_trait]
impl MutatingAdmission for AlwaysPull {
    async fn admit(
        &self,
        _context: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&mut Object>,
        old: Option<&Object>,
    ) -> Result<(), StatusError> {
        let Some(pod) = object else { return Ok(()) };
        if !may_add_images(attributes, pod, old) {
            return Ok(());
        }
        let Some(Value::Object(spec)) = pod.0.get_mut("spec") else { return Ok(()) };
        for list in LISTS {
            let containers = spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
            for container in containers.filter_map(Value::as_object_mut) {
                container.insert("imagePullPolicy".to_owned(), ALWAYS.into());
            }
        }
        let volumes = spec.get_mut("volumes").and_then(Value::as_array_mut).into_iter().flatten();
        for image in volumes.filter_map(|volume| volume.get_mut("image")?.as_object_mut()) {
            image.insert("pullPolicy".to_owned(), ALWAYS.into());
        }
        Ok(())
    }
}

#[async_trait]
impl ValidatingAdmission for AlwaysPull {
    async fn validate(
        &self,
        _context: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&Object>,
        old: Option<&Object>,
    ) -> Result<(), StatusError> {
        let Some(pod) = object else { return Ok(()) };
        if !may_add_images(attributes, pod, old) {
            return Ok(());
        }
        let spec = FieldPath::new("spec");
        let elements = |list: &str| {
            let elements = pod.get(&["spec", list]).and_then(Value::as_array);
            elements.into_iter().flatten().enumerate().map(|(index, element)| (index, element.clone()))
        };
        let containers = LISTS.iter().flat_map(|list| {
            elements(list).map(|(index, container)| {
                let path = spec.child(list).index(index).child("imagePullPolicy");
                (path, container.get("imagePullPolicy").cloned().unwrap_or_default())
            })
        });
        let volumes = elements("volumes").filter_map(|(index, volume)| {
            let image = volume.get("image").filter(|image| !image.is_null())?;
            let path = spec.child("volumes").index(index).child("image").child("pullPolicy");
            Some((path, image.get("pullPolicy").cloned().unwrap_or_default()))
        });
        let other = containers.chain(volumes).find(|(_, policy)| policy.as_str() != Some(ALWAYS));
        let Some((path, policy)) = other else { return Ok(()) };
        Err(forbidden(attributes, object, FieldError::not_supported(path, policy, &[ALWAYS])))
    }
}

/// Whether a write creates a pod, or changes it to use an image that it did not use.
fn may_add_images(attributes: &Attributes<'_>, pod: &Object, old: Option<&Object>) -> bool {
    if !concerns::<Pods>(attributes, &[Operation::Create, Operation::Update]) {
        return false;
    }
    let Some(old) = old.filter(|_| attributes.operation == Operation::Update) else { return true };
    let known: HashSet<&str> = images(old).collect();
    images(pod).any(|image| !known.contains(image))
}

fn images(pod: &Object) -> impl Iterator<Item = &str> {
    let containers = LISTS.iter().filter_map(|list| pod.get(&["spec", list]).and_then(Value::as_array));
    containers.flatten().filter_map(|container| container.get("image")?.as_str())
}
