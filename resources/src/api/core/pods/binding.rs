//! `pods/binding`: the assignment of a pod to a node by a scheduler.
//!
//! Kubernetes concept: [`Binding`](https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/binding-v1/).

use std::sync::Arc;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::{
    CreateOptions, FieldError, FieldPath, GroupResource, GroupVersionKind, Object, Preconditions, Reason,
    Scope, StatusError, time,
};
use registry_core::capabilities;
use registry_core::features::{Feature, Features};
use registry_core::registry::{Services, Store, Subresource, UpdateRules};
use registry_core::resource::ResourceType;
use registry_core::rest::{
    AdmitAll, Answer, Capabilities, NamedCreater, Storage, SuccessStatus, UpdatedObject, ValidateObject,
};
use registry_core::schema::Schema;
use resource_views::core::v1 as views;
use resource_views::core::v1::Pod;
use serde_json::json;

use super::Pods;
use super::conditions::set_condition;

/// The resource in error messages.
const RESOURCE: GroupResource = GroupResource { group: "", resource: "pods/binding" };

pub(crate) const BINDING: GroupVersionKind = GroupVersionKind { group: "", version: "v1", kind: "Binding" };

/// The `binding` subresource of pods.
pub struct PodBinding {
    pods: Arc<Store>,
    features: Features,
}

impl Subresource for PodBinding {
    type Parent = Pods;
    type Storage = Self;
    const NAME: &'static str = "binding";

    fn install(parent: &Arc<Store>, services: &Services) -> Capabilities {
        capabilities!(Arc::new(Self::new(parent.clone(), services.features)); named_creater)
    }
}

impl Storage for PodBinding {
    fn group_resource(&self) -> GroupResource {
        RESOURCE
    }

    fn kind(&self) -> GroupVersionKind {
        BINDING
    }

    fn scope(&self) -> Scope {
        Scope::Namespaced
    }

    fn schema(&self) -> Schema {
        crate::schema::built_in_kind(BINDING)
    }
}

#[async_trait]
impl NamedCreater for PodBinding {
    async fn create_named(
        &self,
        context: &RequestContext,
        name: &str,
        object: Object,
        admission: &dyn ValidateObject,
        options: &CreateOptions,
    ) -> Result<Answer, StatusError> {
        if object.name() != name {
            let message =
                format!("name in URL does not match name in Binding object: {name} != {}", object.name());
            return Err(StatusError::bad_request(message));
        }
        self.bind(context, &object, admission, options).await
    }
}

// === impl PodBinding ===

impl PodBinding {
    /// Creates it over the pods, on a server with these features.
    pub(crate) fn new(pods: Arc<Store>, features: Features) -> Self {
        Self { pods, features }
    }

    /// Assigns the pod that a binding is named after to the node that it names.
    pub(crate) async fn bind(
        &self,
        context: &RequestContext,
        binding: &Object,
        admission: &dyn ValidateObject,
        options: &CreateOptions,
    ) -> Result<Answer, StatusError> {
        let name = binding.name();
        let errors = validate(binding);
        if !errors.is_empty() {
            // The code and the missing reason are kube-apiserver's.
            return Err(StatusError::new(Reason::Unknown, errors.to_string()));
        }
        admission.validate(context, Some(binding), None).await?;
        let clears_nomination = self.features.contains(Feature::ClearingNominatedNodeNameAfterBinding);
        let mut assignment = Assignment { name, binding, clears_nomination };
        self.pods
            .with_rules(&BindingRules)
            .update(context, name, &mut assignment, &AdmitAll, options)
            .await?;
        Ok(Answer::Success(SuccessStatus { details: None, code: Some(201) }))
    }
}

fn validate(binding: &Object) -> ErrorList {
    let mut errors = ErrorList::default();
    let target = FieldPath::new("target");
    let reference = views::Binding(binding).target();
    let kind = reference.kind().text();
    if !matches!(kind, "" | "Node") {
        errors.push(FieldError::not_supported(target.child("kind"), kind, &["Node", "<empty>"]));
    }
    if reference.name().text().is_empty() {
        errors.push(FieldError::required(target.child("name"), ""));
    }
    errors
}

/// Assigns a pod to the node of a binding.
struct Assignment<'a> {
    name: &'a str,
    binding: &'a Object,
    /// Whether the pod loses the node that it was nominated for.
    clears_nomination: bool,
}

#[async_trait]
impl UpdatedObject for Assignment<'_> {
    fn preconditions(&self) -> Preconditions {
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Preconditions {
            uid: given(self.binding.uid()),
            resource_version: given(self.binding.resource_version()),
        }
    }

    async fn updated_object(
        &mut self,
        _context: &RequestContext,
        current: Option<&Object>,
    ) -> Result<Object, StatusError> {
        let name = self.name;
        let refuse = |why: String| Err(StatusError::conflict(RESOURCE, name, why));
        let Some(pod) = current else {
            return Err(StatusError::not_found(GroupResource { group: "", resource: "pods" }, name));
        };
        if pod.deletion_timestamp().is_some() {
            return refuse(format!("pod {name} is being deleted, cannot be assigned to a host"));
        }
        let node = Pod(pod).spec().node_name().text();
        if !node.is_empty() {
            return refuse(format!("pod {name} is already assigned to node {node:?}"));
        }
        if !Pod(pod).spec().scheduling_gates().is_empty() {
            return refuse(format!("pod {name} has non-empty .spec.schedulingGates"));
        }
        let mut assigned = pod.clone();
        let node = views::Binding(self.binding).target().name().text();
        assigned.set(&["spec", "nodeName"], node.into());
        if self.clears_nomination {
            assigned.remove(&["status", "nominatedNodeName"]);
        }
        for (key, value) in self.binding.annotations() {
            assigned.set(&["metadata", "annotations", key], value.into());
        }
        // Among them those that `PodTopologyLabels` takes over from the node.
        for (key, value) in self.binding.labels() {
            assigned.set(&["metadata", "labels", key], value.into());
        }
        set_scheduled(&mut assigned);
        Ok(assigned)
    }
}

/// Sets the condition `PodScheduled`.
fn set_scheduled(pod: &mut Object) {
    let condition = json!({
        "type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": time::now(),
    });
    set_condition(pod, condition);
}

/// The server made the assignment, so it is not validated. It does not change the desired state, so the generation is
/// kept.
struct BindingRules;

impl UpdateRules for BindingRules {
    fn prepare(&self, _: &ResourceType, _: &RequestContext, _: &mut Object, _: &Object) {}

    fn validate(&self, _: &ResourceType, _: &RequestContext, _: &Object, _: &Object) -> ErrorList {
        ErrorList::default()
    }
}
