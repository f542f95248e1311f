//! `pods/resize`: changes of the resources of a running pod and of its containers.
//!
//! Kubernetes concept: [in-place
//! resize](https://kubernetes.io/docs/tasks/configure-pod-container/resize-container-resources/).

use std::sync::Arc;

use registry_core::RequestContext;
use registry_core::api::validation::{ErrorList, FieldError};
use registry_core::api::{FieldPath, Object};
use registry_core::capabilities;
use registry_core::registry::{Services, Store, Subresource, SubresourceStore, UpdateRules};
use registry_core::resource::ResourceType;
use registry_core::rest::Capabilities;
use resource_views::core::v1::{Container, ContainerResizePolicy, Pod, PodSpec};
use resource_views::{List, Map, Quantity, Typed as _};
use serde_json::Value;

use super::quality_of_service::quality_of_service;
use super::{Pods, partial_update};
use crate::api::core::pod_spec::validation::{self, annotations::is_mirror};
use crate::support::defaulting::Fields;
use crate::support::semantic;

/// The container lists whose resources may change.
const LISTS: [&str; 2] = ["containers", "initContainers"];
/// The fields of a container that may change.
const RESIZED: [&str; 2] = ["resources", "resizePolicy"];
/// The maps of amounts.
const AMOUNTS: [&str; 2] = ["requests", "limits"];
/// The resources whose amounts may change.
const RESIZABLE: [&str; 2] = ["cpu", "memory"];

/// The `resize` subresource of pods: only resources and resize policies change.
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
        // Validation refuses other containers with the reason.
        if LISTS.iter().any(|list| containers(new, list).len() != containers(old, list).len()) {
            return;
        }
        let asked = partial_update::keep_old(new, old);
        new.copy_field(&asked, &["spec", "resources"]);
        for list in LISTS {
            resize_list(new, &asked, list);
        }
        partial_update::count_change(new, old);
    }

    fn validate(&self, _: &ResourceType, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let refuse = |why: &str| FieldError::forbidden(partial_update::pod_itself(), why).into();
        if is_mirror(old) {
            return refuse("static pods cannot be resized");
        }
        if Pod(old).spec().os().name().text() == "windows" {
            return refuse("windows pods cannot be resized");
        }
        let mut errors = ErrorList::default();
        validation::check_pod(new, &validation::options_of_pod(context, Some(old)), &mut errors);
        let class = Pod(old).status().qos_class().optional_text().filter(|class| !class.is_empty());
        if class.unwrap_or_else(|| quality_of_service(old)) != quality_of_service(new) {
            let shown = Pod(new).status().qos_class().text();
            let detail = "Pod QOS Class may not change as a result of resizing";
            errors.push(FieldError::invalid(FieldPath::new("spec"), shown, detail));
        }
        if !runs_where_resizing_works(old) {
            let detail = "Pod running on node without support for resize";
            errors.push(FieldError::forbidden(FieldPath::new("spec"), detail));
        }
        check_changes(&Pod(new).spec(), &Pod(old).spec(), &mut errors);
        errors
    }
}

fn name_of(container: &Value) -> &str {
    Container::from_value(container).name().text()
}

fn containers<'o>(pod: &'o Object, list: &str) -> &'o [Value] {
    pod.get(&["spec", list]).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Copies the fields that may change to the containers, or all containers if one has another name.
fn resize_list(pod: &mut Object, asked: &Object, list: &str) {
    let wanted = containers(asked, list);
    let is_same = |(left, right): (&Value, &Value)| name_of(left) == name_of(right);
    if !wanted.iter().zip(containers(pod, list)).all(is_same) {
        pod.copy_field(asked, &["spec", list]);
        return;
    }
    let containers = pod.0.get_mut("spec").and_then(|spec| spec.get_mut(list)).and_then(Value::as_array_mut);
    let containers = containers.into_iter().flatten().filter_map(Value::as_object_mut);
    for (container, wanted) in containers.zip(wanted) {
        for field in RESIZED {
            match wanted.get(field) {
                Some(value) => container.insert(field.to_owned(), value.clone()),
                None => container.remove(field),
            };
        }
    }
}

/// Whether the kubelet reports the resources of running containers; one that does not is too old to change them.
fn runs_where_resizing_works(pod: &Object) -> bool {
    let status = Pod(pod).status();
    let statuses = status.container_statuses();
    let mut running = statuses.elements().filter(|status| status.state().running().exists());
    running.next().is_none_or(|status| status.resources().exists())
}

// === changes ===

fn check_changes(spec: &PodSpec<'_, '_>, before: &PodSpec<'_, '_>, errors: &mut ErrorList) {
    let has_amounts = |spec: &PodSpec<'_, '_>| {
        !spec.resources().requests().is_empty() || !spec.resources().limits().is_empty()
    };
    let of_pod = has_amounts(spec) || has_amounts(before);
    if of_pod {
        check_pod_amounts(spec, before, errors);
    }
    let found = errors.0.len();
    let [lists, lists_before] = [spec, before].map(|spec| [spec.containers(), spec.init_containers()]);
    for (list, (now, before)) in LISTS.iter().zip(lists.iter().zip(&lists_before)) {
        check_order(list, now, before, errors);
    }
    if errors.0.len() > found {
        return;
    }
    check_containers(spec, before, errors);
    if errors.is_empty() && !semantic::equal(Some(&masked_spec(spec, before, of_pod)), before.value()) {
        errors.push(spec.forbidden("only cpu and memory resources are mutable"));
    }
}

/// Checks that there are the same containers in the same order.
fn check_order(
    list: &str,
    now: &List<Container<'_, '_>>,
    before: &List<Container<'_, '_>>,
    errors: &mut ErrorList,
) {
    if now.len() != before.len() {
        errors.push(now.forbidden(format!("{list} may not be added or removed on resize")));
        return;
    }
    for (container, old) in now.elements().zip(before.elements()) {
        let name = container.name();
        if name.text() != old.name().text() {
            errors.push(name.forbidden(format!("{list} may not be renamed or reordered on resize")));
        }
    }
}

/// Checks the containers, which are the same in both specs. The order of the errors is kube-apiserver's.
fn check_containers(spec: &PodSpec<'_, '_>, before: &PodSpec<'_, '_>, errors: &mut ErrorList) {
    let (containers, containers_before) = (spec.containers(), before.containers());
    let (init, init_before) = (spec.init_containers(), before.init_containers());
    for (now, before) in [(&init, &init_before), (&containers, &containers_before)] {
        for (container, old) in now.elements().zip(before.elements()) {
            let (now, before) = (container.resources(), old.resources());
            check_not_removed(&now.requests(), &before.requests(), "resource requests", errors);
            check_not_removed(&now.limits(), &before.limits(), "resource limits", errors);
        }
    }
    for (container, old) in containers.elements().zip(containers_before.elements()) {
        if !semantic::equal(Some(&masked_container(&container, &old)), old.value()) {
            errors.push(spec.forbidden("only cpu and memory resources are mutable"));
        }
    }
    for (container, old) in init.elements().zip(init_before.elements()) {
        check_init_container(&container, &old, errors);
    }
}

fn check_init_container(container: &Container<'_, '_>, old: &Container<'_, '_>, errors: &mut ErrorList) {
    if !semantic::equal(Some(&masked_container(container, old)), old.value()) {
        let detail = "only cpu and memory resources for init or sidecar containers are mutable";
        errors.push(container.forbidden(detail));
    }
    let runs_once = container.restart_policy().text() != "Always";
    if runs_once && !semantic::equal(container.value(), old.value()) {
        let policies = container.resize_policy();
        let restarts =
            |policy: &ContainerResizePolicy<'_, '_>| policy.restart_policy().text() == "RestartContainer";
        for _ in policies.elements().filter(restarts) {
            let detail =
                "non-sidecar init containers with a resize policy of RestartContainer cannot be resized";
            errors.push(container.forbidden(detail));
        }
    }
}

fn check_not_removed(
    now: &Map<Quantity<'_, '_>>,
    before: &Map<Quantity<'_, '_>>,
    what: &str,
    errors: &mut ErrorList,
) {
    if before.entries().any(|(name, _)| !now.entry(name).exists()) {
        errors.push(now.forbidden(format!("{what} cannot be removed")));
    }
}

/// Checks the resources of the pod as a whole.
fn check_pod_amounts(spec: &PodSpec<'_, '_>, before: &PodSpec<'_, '_>, errors: &mut ErrorList) {
    let (now, old) = (spec.resources(), before.resources());
    if old.exists() && !now.exists() {
        errors.push(now.forbidden("pod-level resources cannot be removed"));
        return;
    }
    check_not_removed(&now.requests(), &old.requests(), "pod-level resource requests", errors);
    check_not_removed(&now.limits(), &old.limits(), "pod-level resource limits", errors);
    if !semantic::equal(masked_pod_resources(spec, before).as_ref(), old.value()) {
        errors.push(spec.forbidden("only cpu and memory resources are mutable at pod-level"));
    }
}

// === what remains after the changes that are allowed are undone ===

/// Returns resources with the old amounts of the processor and of memory.
fn masked(now: Option<&Value>, before: Option<&Value>, keeps_claims: bool) -> Fields {
    let mut masked = Fields::new();
    for name in AMOUNTS {
        let amounts = |value: Option<&Value>| {
            value.and_then(|value| value.get(name)).and_then(Value::as_object).cloned().unwrap_or_default()
        };
        let mut own = amounts(now);
        let old = amounts(before);
        for resource in RESIZABLE {
            match old.get(resource) {
                Some(amount) => own.insert(resource.to_owned(), amount.clone()),
                None => own.remove(resource),
            };
        }
        masked.insert(name.to_owned(), own.into());
    }
    if let Some(claims) = now.and_then(|now| now.get("claims")).filter(|_| keeps_claims) {
        masked.insert("claims".to_owned(), claims.clone());
    }
    masked.retain(|_, value| !value.as_object().is_some_and(Fields::is_empty));
    masked
}

fn masked_container(container: &Container<'_, '_>, old: &Container<'_, '_>) -> Value {
    let mut value = container.value().cloned().unwrap_or_default();
    let resources = masked(container.resources().value(), old.resources().value(), false);
    if let Some(fields) = value.as_object_mut() {
        fields.insert("resources".to_owned(), resources.into());
    }
    value
}

fn masked_pod_resources(spec: &PodSpec<'_, '_>, before: &PodSpec<'_, '_>) -> Option<Value> {
    let (now, old) = (spec.resources(), before.resources());
    let resources = masked(Some(now.value()?), old.value(), true);
    (old.exists() || !resources.is_empty()).then(|| resources.into())
}

/// Returns the spec with the old amounts; `of_pod` is whether the pod as a whole has amounts.
fn masked_spec(spec: &PodSpec<'_, '_>, before: &PodSpec<'_, '_>, of_pod: bool) -> Value {
    let mut value = spec.value().cloned().unwrap_or_default();
    let Some(fields) = value.as_object_mut() else { return value };
    for list in LISTS {
        let (now, old) = match list {
            "containers" => (spec.containers(), before.containers()),
            _ => (spec.init_containers(), before.init_containers()),
        };
        let masked: Vec<_> =
            now.elements().zip(old.elements()).map(|(now, old)| masked_container(&now, &old)).collect();
        fields.insert(list.to_owned(), masked.into());
    }
    if of_pod {
        match masked_pod_resources(spec, before) {
            Some(resources) => fields.insert("resources".to_owned(), resources),
            None => fields.remove("resources"),
        };
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Returns the errors of a change from one spec to another.
    fn refusals(new: Value, old: Value) -> Vec<String> {
        let [new, old] = [new, old].map(|spec| Object::from_value(json!({"spec": spec})).unwrap());
        let mut errors = ErrorList::default();
        check_changes(&Pod(&new).spec(), &Pod(&old).spec(), &mut errors);
        errors.0.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn resources_of_the_pod_are_added_with_amounts_only() {
        let spec = |resources: Value| json!({"resources": resources, "containers": [{"name": "c", "resources": {}}]});
        let refused = ["spec: Forbidden: only cpu and memory resources are mutable"];
        assert_eq!(refusals(spec(json!({})), spec(Value::Null)), refused);
        assert_eq!(refusals(spec(json!({"requests": {}})), spec(Value::Null)), refused);
        assert_eq!(refusals(spec(Value::Null), spec(json!({}))), refused);
        assert!(refusals(spec(json!({})), spec(json!({}))).is_empty());
        let amounts = json!({"requests": {"cpu": "1"}});
        assert!(refusals(spec(amounts.clone()), spec(Value::Null)).is_empty());
        assert!(refusals(spec(amounts), spec(json!({}))).is_empty());
    }

    #[test]
    fn removed_amounts_are_told_before_what_is_not_mutable() {
        let container = |name: &str, resources: Value| json!({"name": name, "resources": resources});
        let before = json!({"requests": {"cpu": "1"}, "limits": {"cpu": "1"}});
        let after = json!({"requests": {"x": "1"}});
        let spec = |resources: Value| {
            json!({
                "containers": [container("a", resources.clone()), container("b", resources.clone())],
                "initContainers": [container("i", resources.clone()), container("j", resources)],
            })
        };
        let removed = |list: &str, index: u8| {
            ["requests", "limits"].map(|kind| {
                format!("spec.{list}[{index}].resources.{kind}: Forbidden: resource {kind} cannot be removed")
            })
        };
        let immutable = "only cpu and memory resources are mutable";
        let of_init = "only cpu and memory resources for init or sidecar containers are mutable";
        let mut expected = Vec::new();
        for (list, index) in
            [("initContainers", 0), ("initContainers", 1), ("containers", 0), ("containers", 1)]
        {
            expected.extend(removed(list, index));
        }
        expected.extend([format!("spec: Forbidden: {immutable}"), format!("spec: Forbidden: {immutable}")]);
        expected.extend([0, 1].map(|index| format!("spec.initContainers[{index}]: Forbidden: {of_init}")));
        assert_eq!(refusals(spec(after), spec(before)), expected);
    }
}
