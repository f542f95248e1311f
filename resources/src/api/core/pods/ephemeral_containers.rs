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
use resource_views::core::v1::Pod;

use super::{Pods, partial_update, spec_change};
use crate::api::core::pod_spec::validation::{self, annotations::is_mirror};
use crate::support::go_text::difference;
use crate::support::semantic;

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

/// The field that the subresource changes.
const CONTAINERS: &[&str] = &["spec", "ephemeralContainers"];

impl UpdateRules for EphemeralContainersRules {
    fn changes_only(&self) -> Option<&'static [&'static [&'static str]]> {
        Some(&[CONTAINERS])
    }

    fn prepare(&self, _: &ResourceType, _: &RequestContext, new: &mut Object, old: &Object) {
        let asked = partial_update::keep_old(new, old);
        new.copy_field(&asked, CONTAINERS);
        partial_update::count_change(new, old);
    }

    fn validate(&self, _: &ResourceType, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        if is_mirror(old) {
            return FieldError::forbidden(
                partial_update::pod_itself(),
                "static pods do not support ephemeral containers",
            )
            .into();
        }
        let mut errors = ErrorList::default();
        let options = validation::options_of_pod(context, Some(old));
        validation::check_pod(new, &options, &mut errors);
        spec_change::check_annotations(new, old, &options, &mut errors);
        let spec = Pod(new).spec();
        let containers = spec.ephemeral_containers();
        let mut by_name = HashMap::new();
        for container in containers.elements() {
            by_name.insert(container.name().text(), container.value());
        }
        for before in Pod(old).spec().ephemeral_containers().elements() {
            let name = before.name();
            let now = by_name.get(name.text());
            let detail = match now {
                None => format!("existing ephemeral containers {:?} may not be removed\n", name.text()),
                Some(now) if !semantic::equal(*now, before.value()) => {
                    let diff =
                        difference::value_difference(before.value(), *now, "*<core.EphemeralContainer>");
                    format!("existing ephemeral containers {:?} may not be changed\n{diff}", name.text())
                }
                Some(_) => continue,
            };
            errors.push(containers.forbidden(detail));
        }
        errors
    }
}
