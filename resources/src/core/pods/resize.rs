//! `pods/resize`: changes of the resources of a running pod's containers.
//!
//! Kubernetes concept: [in-place
//! resize](https://kubernetes.io/docs/tasks/configure-pod-container/resize-container-resources/).

use std::collections::HashMap;
use std::sync::Arc;

use registry_core::RequestContext;
use registry_core::api::validation::{ErrorList, FieldError};
use registry_core::api::{FieldPath, Object};
use registry_core::capabilities;
use registry_core::registry::{Services, Store, Subresource, SubresourceStore, UpdateRules};
use registry_core::resource::ResourceType;
use registry_core::rest::Capabilities;
use serde_json::Value;

use super::strategy::quality_of_service;
use super::{Pods, partial_update};
use crate::core::pod_spec::validation;
use crate::support::field::Field;

/// The container lists whose resources may change.
const LISTS: [&str; 2] = ["containers", "initContainers"];
/// The fields of a container that may change.
const RESIZED: [&str; 2] = ["resources", "resizePolicy"];

/// The `resize` subresource of pods: only the containers' resources and resize policies change.
pub struct Resize;

impl Subresource for Resize {
    type Parent = Pods;
    type Storage = SubresourceStore;
    const NAME: &'static str = "resize";

    fn install(parent: &Arc<Store>, _: &Services) -> Capabilities {
        capabilities!(SubresourceStore::new(parent.clone(), &ResizeRules); getter, updater, patcher)
    }
}

struct ResizeRules;

impl UpdateRules for ResizeRules {
    fn changes_only(&self) -> Option<&'static [&'static [&'static str]]> {
        Some(&[
            &["spec", "containers", "*", "resources"],
            &["spec", "containers", "*", "resizePolicy"],
            &["spec", "initContainers", "*", "resources"],
            &["spec", "initContainers", "*", "resizePolicy"],
        ])
    }

    fn prepare(&self, _: &ResourceType, _: &RequestContext, new: &mut Object, old: &Object) {
        let asked = partial_update::keep_old(new, old);
        for list in LISTS {
            resize_list(new, &asked, list);
        }
        partial_update::count_change(new, old);
    }

    fn validate(&self, _: &ResourceType, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        if partial_update::is_static(old) {
            return FieldError::forbidden(partial_update::pod_itself(), "static pods cannot be resized")
                .into();
        }
        if old.get_str(&["spec", "os", "name"]) == Some("windows") {
            return FieldError::forbidden(partial_update::pod_itself(), "windows pods cannot be resized")
                .into();
        }
        let (spec, before) = (Field::of(new, "spec"), Field::of(old, "spec"));
        let mut errors = validation::validate(context, &spec);
        let class = old.get_str(&["status", "qosClass"]).unwrap_or_else(|| quality_of_service(old));
        if class != quality_of_service(new) {
            let detail = "Pod QOS Class may not change as a result of resizing";
            errors.push(FieldError::invalid(FieldPath::new("spec"), class, detail));
        }
        if !runs_where_resizing_works(old) {
            errors.push(spec.forbidden("Pod running on node without support for resize"));
        }
        for list in LISTS {
            let now = spec.get(list);
            let then = before.get(list);
            for (container, old) in now.elements().zip(then.elements()) {
                check_container(&spec, &container, &old, list == "initContainers", &mut errors);
            }
        }
        errors
    }
}

/// Copies the fields that may change to the containers of the same name.
fn resize_list(pod: &mut Object, asked: &Object, list: &str) {
    let wanted = asked.get(&["spec", list]).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let name_of = |container: Option<&Value>| container.and_then(Value::as_str).map(str::to_owned);
    let mut by_name: HashMap<Option<String>, &Value> = HashMap::new();
    for container in wanted {
        by_name.entry(name_of(container.get("name"))).or_insert(container);
    }
    let containers = pod.0.get_mut("spec").and_then(|spec| spec.get_mut(list)).and_then(Value::as_array_mut);
    for container in containers.into_iter().flatten().filter_map(Value::as_object_mut) {
        let Some(resized) = by_name.get(&name_of(container.get("name"))).copied() else {
            continue;
        };
        for field in RESIZED {
            match resized.get(field) {
                Some(value) => {
                    container.insert(field.to_owned(), value.clone());
                }
                None => {
                    container.remove(field);
                }
            }
        }
    }
}

/// Whether the kubelet reports the resources of running containers; one that does not is too old to change them.
fn runs_where_resizing_works(pod: &Object) -> bool {
    let empty = Vec::new();
    let statuses = pod.get(&["status", "containerStatuses"]).and_then(Value::as_array).unwrap_or(&empty);
    let runs = statuses.iter().any(|status| status.pointer("/state/running").is_some());
    !runs || statuses.iter().all(|status| status.get("resources").is_some())
}

fn check_container(
    spec: &Field<'_, '_>,
    container: &Field<'_, '_>,
    old: &Field<'_, '_>,
    is_init: bool,
    errors: &mut ErrorList,
) {
    let now = container.get("resources");
    let before = old.get("resources");
    if is_init && container.get("restartPolicy").text() != "Always" {
        if now.value() != before.value() {
            errors.push(spec.forbidden("resources for non-sidecar init containers are immutable"));
        }
        return;
    }
    let mut changes_others = now.get("claims").value() != before.get("claims").value();
    for amounts in ["limits", "requests"] {
        let now = now.get(amounts);
        let before = before.get(amounts);
        if before.entries().any(|(name, _)| !now.get(name).exists()) {
            errors.push(now.forbidden(format!("resource {amounts} cannot be removed")));
        }
        let is_other = |name: &str| !matches!(name, "cpu" | "memory");
        let others_now =
            now.entries().filter(|(name, _)| is_other(name)).map(|(name, one)| (name, one.value()));
        let others_before = before.entries().filter(|(name, _)| is_other(name));
        changes_others |= !others_now.eq(others_before.map(|(name, one)| (name, one.value())));
    }
    if changes_others {
        errors.push(spec.forbidden("only cpu and memory resources are mutable"));
    }
}
