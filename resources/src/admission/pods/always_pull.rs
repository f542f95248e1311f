//! `AlwaysPullImages`: every image is pulled when a container starts, so that a private one is only used by those who may
//! pull it.

use std::collections::HashSet;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::admission::{
    Attributes, MutatingAdmission, ObjectWrite, ObjectWriteMut, Operation, ValidatingAdmission,
};
use registry_core::api::validation::FieldError;
use registry_core::api::{Object, StatusError};
use resource_views::core::v1::{Container, ContainerMut, Pod, PodMut, PodSpec};
use resource_views::{List, Text};

use crate::admission::refusal::forbidden;
use crate::api::core::pods::Pods;

const ALWAYS: &str = "Always";

/// The plug-in.
pub(super) struct AlwaysPull;

#[async_trait]
impl MutatingAdmission for AlwaysPull {
    async fn admit(&self, _: &RequestContext, write: ObjectWriteMut<'_>) -> Result<(), StatusError> {
        let Some(pod) = write.object else { return Ok(()) };
        if !may_add_images(write.attributes, pod, write.old) {
            return Ok(());
        }
        let Some(mut spec) = PodMut(pod).spec().present() else { return Ok(()) };
        let always = |mut container: ContainerMut<'_>| container.image_pull_policy().set(ALWAYS);
        spec.init_containers().elements().for_each(always);
        spec.containers().elements().for_each(always);
        spec.ephemeral_containers().elements().for_each(|container| always(container.into()));
        for mut volume in spec.volumes().elements() {
            volume.image().edit(|mut image| image.pull_policy().set(ALWAYS));
        }
        Ok(())
    }
}

#[async_trait]
impl ValidatingAdmission for AlwaysPull {
    async fn validate(&self, _: &RequestContext, write: ObjectWrite<'_>) -> Result<(), StatusError> {
        let Some(pod) = write.object else { return Ok(()) };
        if !may_add_images(write.attributes, pod, write.old) {
            return Ok(());
        }
        let spec = Pod(pod).spec();
        let check = |policy: Text<'_, '_>| {
            if policy.text() == ALWAYS {
                return Ok(());
            }
            let value = policy.value().cloned().unwrap_or_default();
            Err(forbidden(
                write.attributes,
                write.object,
                FieldError::not_supported(policy.path(), value, &[ALWAYS]),
            ))
        };
        for containers in containers(&spec) {
            for container in containers.elements() {
                check(container.image_pull_policy())?;
            }
        }
        for volume in spec.volumes().elements() {
            let image = volume.image();
            if image.exists() {
                check(image.pull_policy())?;
            }
        }
        Ok(())
    }
}

/// Whether a write creates a pod, or changes it to use an image that it did not use.
fn may_add_images(attributes: &Attributes<'_>, pod: &Object, old: Option<&Object>) -> bool {
    if !attributes.are_of::<Pods>(Operation::WRITES) {
        return false;
    }
    let Some(old) = old.filter(|_| attributes.operation == Operation::Update) else { return true };
    let known: HashSet<&str> = images(old).into_iter().collect();
    images(pod).into_iter().any(|image| !known.contains(image))
}

fn containers<'v, 'p>(spec: &'p PodSpec<'v, 'p>) -> [List<Container<'v, 'p>>; 3] {
    [spec.init_containers(), spec.containers(), spec.ephemeral_containers().seen_as()]
}

fn images(pod: &Object) -> Vec<&str> {
    let spec = Pod(pod).spec();
    let containers = containers(&spec);
    let containers = containers.iter().flat_map(List::elements);
    containers.filter_map(|container| container.image().optional_text()).collect()
}
