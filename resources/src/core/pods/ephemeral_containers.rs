//! `pods/ephemeralcontainers`: containers that are added to a running pod for debugging.
//!
//! Kubernetes concept: [ephemeral
//! containers](https://kubernetes.io/docs/concepts/workloads/pods/ephemeral-containers/).

use std::collections::HashMap;
use std::sync::Arc;

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::{ErrorList, FieldError};
use registry_core::capabilities;
use registry_core::registry::{Services, Store, Subresource, SubresourceStore, UpdateRules};
use registry_core::resource::ResourceType;
use registry_core::rest::Capabilities;

use super::{Pods, partial_update};
use crate::core::pod_spec::validation;
use crate::support::field::Field;

/// The `ephemeralcontainers` subresource of pods: ephemeral containers may only be added.
pub struct EphemeralContainers;

impl Subresource for EphemeralContainers {
    type Parent = Pods;
    type Storage = SubresourceStore;
    const NAME: &'static str = "ephemeralcontainers";

    fn install(parent: &Arc<Store>, _: &Services) -> Capabilities {
        capabilities!(SubresourceStore::new(parent.clone(), &EphemeralContainersRules); getter, updater, patcher)
    }
}

struct EphemeralContainersRules;

impl UpdateRules for EphemeralContainersRules {
    fn changes_only(&self) -> Option<&'static [&'static [&'static str]]> {
        Some(&[&["spec", "ephemeralContainers"]])
    }

    fn prepare(&self, _: &ResourceType, _: &RequestContext, new: &mut Object, old: &Object) {
        let asked = partial_update::keep_old(new, old);
        new.copy_field(&asked, &["spec", "ephemeralContainers"]);
        partial_update::count_change(new, old);
    }

    fn validate(&self, _: &ResourceType, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        if partial_update::is_static(old) {
            return FieldError::forbidden(
                partial_update::pod_itself(),
                "static pods do not support ephemeral containers",
            )
            .into();
        }
        let spec = Field::of(new, "spec");
        let mut errors = validation::validate(context, &spec);
        let containers = spec.get("ephemeralContainers");
        let mut by_name = HashMap::new();
        for container in containers.elements() {
            by_name.entry(container.get("name").text()).or_insert(container.value());
        }
        for before in Field::of(old, "spec").get("ephemeralContainers").elements() {
            let name = before.get("name");
            let now = by_name.get(name.text());
            let what = match now {
                None => "removed",
                Some(now) if *now != before.value() => "changed",
                Some(_) => continue,
            };
            let detail = format!("existing ephemeral containers {:?} may not be {what}\n", name.text());
            errors.push(containers.forbidden(detail));
        }
        errors
    }
}
