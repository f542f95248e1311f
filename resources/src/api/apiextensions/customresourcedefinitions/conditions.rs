//! The status of definitions, as the controllers of the server compute it: pure functions of the definition and, for its
//! names, of the names in use.
//!
//! Kubernetes concept: the controllers in `apiextensions-apiserver/pkg/controller`.

use registry_core::api::go_text::aggregate;
use registry_core::api::{Object, time};
use resource_views::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionCondition, CustomResourceDefinitionConditionMut,
    CustomResourceDefinitionMut,
};
use resource_views::slot::{Fields, Slot};
use resource_views::{Text, Typed as _};
use serde_json::Value;

use super::findings::Place;
use super::view::{Spec, condition, has_condition};
use super::{approval, validation};

mod names;

pub use names::{NamesInUse, name_conditions};

/// The finalizer that holds a definition until its custom resources are deleted.
pub const CLEANUP_FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// The condition that says whether the resource is served.
pub const ESTABLISHED: &str = "Established";
/// The condition that says whether the names conflict with those of other definitions.
pub const NAMES_ACCEPTED: &str = "NamesAccepted";
/// The condition that says how a schema is not structural.
pub const NON_STRUCTURAL_SCHEMA: &str = "NonStructuralSchema";
/// The condition that says whether an API of the community is approved.
pub const API_APPROVAL: &str = "KubernetesAPIApprovalPolicyConformant";
/// The condition that says whether the definition is being deleted.
pub const TERMINATING: &str = "Terminating";

const TRUE: &str = "True";
const FALSE: &str = "False";
const UNKNOWN: &str = "Unknown";

/// A condition, without the time of its last change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The type.
    pub kind: &'static str,
    /// `True`, `False` or `Unknown`.
    pub status: &'static str,
    /// The reason, for machines.
    pub reason: String,
    /// The reason, for humans.
    pub message: String,
}

/// A change of a definition's status.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatusChange {
    /// The names that the definition has from now on, if they change.
    pub accepted_names: Option<Value>,
    /// Conditions to set.
    pub conditions: Vec<Condition>,
    /// The types of conditions to remove.
    pub removed: Vec<&'static str>,
}

// === impl Condition ===

impl Condition {
    fn new(kind: &'static str, status: &'static str, reason: &str, message: impl Into<String>) -> Self {
        Self { kind, status, reason: reason.to_owned(), message: message.into() }
    }

    /// Whether a definition has the same condition, apart from times.
    pub fn is_met(&self, definition: &Object) -> bool {
        condition(definition, self.kind).is_some_and(|condition| {
            condition.status().text() == self.status
                && condition.reason().text() == self.reason
                && condition.message().text() == self.message
        })
    }
}

// === impl StatusChange ===

impl StatusChange {
    /// Creates a change that sets one condition.
    pub fn from_condition(condition: Condition) -> Self {
        Self { conditions: vec![condition], ..Self::default() }
    }

    /// Applies the change to a definition. The times of conditions change only with their status.
    pub fn apply(&self, definition: &mut Object) {
        let mut conditions = CustomResourceDefinition(definition).status().conditions().values().to_vec();
        conditions.retain(|condition| !self.removed.contains(&type_of(condition)));
        for condition in &self.conditions {
            set_condition(&mut conditions, condition);
        }
        let mut status = CustomResourceDefinitionMut(definition).status().or_new();
        if let Some(names) = &self.accepted_names {
            status.accepted_names().set_value(names.clone());
        }
        status.conditions().set_value(conditions.into());
    }
}

fn type_of(condition: &Value) -> &str {
    CustomResourceDefinitionCondition::from_value(condition).r#type().text()
}

fn set_condition(conditions: &mut Vec<Value>, condition: &Condition) {
    let place = conditions.iter().position(|present| type_of(present) == condition.kind);
    let mut fields = match place.and_then(|place| conditions.get(place)) {
        Some(Value::Object(fields)) => fields.clone(),
        _ => Fields::new(),
    };
    let mut written = CustomResourceDefinitionConditionMut(&mut fields);
    if !written.status().is(condition.status) || written.last_transition_time().is_absent() {
        written.last_transition_time().set_value(time::now().into());
    }
    written.r#type().set(condition.kind);
    written.status().set(condition.status);
    set_or_remove(written.reason(), &condition.reason);
    set_or_remove(written.message(), &condition.message);
    match place.and_then(|place| conditions.get_mut(place)) {
        Some(present) => *present = fields.into(),
        None => conditions.push(fields.into()),
    }
}

fn set_or_remove(field: Slot<'_, Text<'static, 'static>>, text: &str) {
    if text.is_empty() {
        field.remove();
    } else {
        field.set(text);
    }
}

// === the controllers ===

/// Returns the change that says whether the resource is served, once its names are accepted; `None` if nothing is to
/// change. Call it when the resource is ready to be served.
pub fn establish(definition: &Object) -> Option<StatusChange> {
    if !has_condition(definition, NAMES_ACCEPTED, TRUE) || is_established(definition) {
        return None;
    }
    let spec = CustomResourceDefinition(definition).spec();
    let bundle = spec.conversion().webhook().client_config().ca_bundle().text();
    let condition = if validation::is_valid_bundle(bundle) {
        let message = "the initial names have been accepted";
        Condition::new(ESTABLISHED, TRUE, "InitialNamesAccepted", message)
    } else {
        let message = "The conversion webhook CABundle is invalid";
        Condition::new(ESTABLISHED, FALSE, "InvalidCABundle", message)
    };
    (!condition.is_met(definition)).then(|| StatusChange::from_condition(condition))
}

/// Returns the change that says how the schemas are not structural; `None` if nothing is to change.
pub fn non_structural_schema(definition: &Object) -> Option<StatusChange> {
    match why_not_structural(definition) {
        Some(condition) if condition.is_met(definition) => None,
        Some(condition) => Some(StatusChange::from_condition(condition)),
        None => condition(definition, NON_STRUCTURAL_SCHEMA)
            .map(|_| StatusChange { removed: vec![NON_STRUCTURAL_SCHEMA], ..StatusChange::default() }),
    }
}

fn why_not_structural(definition: &Object) -> Option<Condition> {
    let mut violations = Vec::new();
    if Spec::from_object(definition).preserves_unknown_fields() {
        violations.push("spec.preserveUnknownFields: Invalid value: true: must be false".to_owned());
    }
    let spec = CustomResourceDefinition(definition).spec();
    for (index, version) in spec.versions().elements().enumerate() {
        let schema = version.schema().open_apiv3_schema().value();
        let place = Place::new("spec").child("versions").index(index);
        let place = place.child("schema").child("openAPIV3Schema");
        match validation::why_not_structural(schema, &place) {
            Ok(errors) => violations.extend(errors.0.iter().map(ToString::to_string)),
            Err(reason) => {
                let name = version.name().text();
                let message = format!("failed to check validation schema for version {name}: {reason}");
                return Some(Condition::new(NON_STRUCTURAL_SCHEMA, UNKNOWN, "StructuralError", message));
            }
        }
    }
    if violations.is_empty() {
        return None;
    }
    Some(Condition::new(NON_STRUCTURAL_SCHEMA, TRUE, "Violations", aggregate(violations)))
}

/// Returns the change that says whether an API of the community is approved; `None` if nothing is to change.
pub fn api_approval(definition: &Object) -> Option<StatusChange> {
    if !approval::is_protected(CustomResourceDefinition(definition).spec().group().text()) {
        return None;
    }
    let (approval, message) = approval::read(definition);
    let (status, reason) = match approval {
        approval::Approval::Invalid => (FALSE, "InvalidAnnotation"),
        approval::Approval::Missing => (FALSE, "MissingAnnotation"),
        approval::Approval::Approved => (TRUE, "ApprovedAnnotation"),
        approval::Approval::Bypassed => (FALSE, "UnapprovedAnnotation"),
    };
    let condition = Condition::new(API_APPROVAL, status, reason, message);
    (!condition.is_met(definition)).then(|| StatusChange::from_condition(condition))
}

/// Whether the resource of a definition is served.
pub fn is_established(definition: &Object) -> bool {
    has_condition(definition, ESTABLISHED, TRUE)
}

/// Whether the custom resources of a definition are to be deleted now.
pub fn needs_cleanup(definition: &Object) -> bool {
    definition.deletion_timestamp().is_some()
        && definition.finalizers().any(|finalizer| finalizer == CLEANUP_FINALIZER)
}

/// Removes the finalizer of a definition whose custom resources are deleted.
pub fn release(definition: &mut Object) {
    let others = definition.finalizers().filter(|finalizer| *finalizer != CLEANUP_FINALIZER);
    let others = others.map(str::to_owned).collect();
    definition.set_finalizers(others);
}

// === deletion ===

/// The definition was deleted, and nothing has happened yet.
pub fn deletion_pending() -> Condition {
    let message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
    Condition::new(TERMINATING, TRUE, "InstanceDeletionPending", message)
}

/// Custom resources are being deleted.
pub fn deletion_in_progress() -> Condition {
    let message = "CustomResource deletion is in progress";
    Condition::new(TERMINATING, TRUE, "InstanceDeletionInProgress", message)
}

/// Custom resources could not be listed.
pub fn deletion_cannot_list(error: &str) -> Condition {
    let message = format!("could not list instances: {error}");
    Condition::new(TERMINATING, TRUE, "InstanceDeletionFailed", message)
}

/// Custom resources could not be deleted.
pub fn deletion_failed(errors: &str) -> Condition {
    let message = format!("could not issue all deletes: {errors}");
    Condition::new(TERMINATING, TRUE, "InstanceDeletionFailed", message)
}

/// Custom resources are still there.
pub fn deletion_unconfirmed(error: &str) -> Condition {
    let message = format!("could not confirm zero CustomResources remaining: {error}");
    Condition::new(TERMINATING, TRUE, "InstanceDeletionCheck", message)
}

/// All custom resources are deleted.
pub fn deletion_completed() -> Condition {
    Condition::new(TERMINATING, FALSE, "InstanceDeletionCompleted", "removed all instances")
}

/// The definition was never served, so there are no custom resources.
pub fn never_established() -> Condition {
    Condition::new(TERMINATING, FALSE, "NeverEstablished", "resource was never established")
}

/// A built-in resource stores its objects in the same place, so nothing was deleted.
pub fn overlaps_built_in() -> Condition {
    let message = "instances overlap with built-in resources in storage";
    Condition::new(TERMINATING, FALSE, "OverlappingBuiltInResource", message)
}
