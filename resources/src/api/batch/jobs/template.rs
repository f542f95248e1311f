//! Changes of the template of a job's pods, which are possible while the job is suspended.

use registry_core::api::validation::{ErrorList, FieldPath};
use registry_core::api::{FieldError, Object};
use resource_views::List;
use resource_views::batch::v1::Job;
use resource_views::core::v1::{Container, ContainerMut, PodSpec, PodSpecMut};
use resource_views::slot::Slot;
use serde_json::Value;

use crate::support::conditions;
use crate::support::field::ShownAsGo as _;
use crate::support::semantic;

/// Checks that the template is the same, apart from what a suspended job may change.
pub(super) fn check_kept(new: &Object, old: &Object, errors: &mut ErrorList) {
    let spec = Job(new).spec();
    let template = spec.template();
    let before = Job(old).spec();
    let template_before = before.template();
    if !template_before.exists() {
        return;
    }
    if !before.suspend().is_true() || !is_mutable(old) {
        if semantic::differ(&template, &template_before) {
            errors.push(template.invalid_as("<core.PodTemplateSpec>", "field is immutable"));
        }
        return;
    }
    let after = template.spec();
    let mut expected = template_before.spec().value().cloned();
    if let Some(fields) = expected.as_mut().and_then(Value::as_object_mut) {
        let mut expected = PodSpecMut(fields);
        take_scheduling(&mut expected, &after);
        take_resources(expected.containers(), &after.containers());
        take_resources(expected.init_containers(), &after.init_containers());
    }
    if !semantic::equal(after.value(), expected.as_ref()) {
        // The path is one name with a dot.
        let path = FieldPath::new("spec").child("template.spec");
        let error = FieldError::invalid(path, Value::Null, "field is immutable");
        errors.push(error.shown_as(after.go_text("<core.PodSpec>")));
    }
}

/// Whether no pod of a suspended job exists.
fn is_mutable(job: &Object) -> bool {
    let status = Job(job).status();
    (!status.start_time().exists() || conditions::is_true(job, "Suspended")) && status.active().number() == 0
}

/// Takes the directives for the scheduler from another template.
fn take_scheduling(spec: &mut PodSpecMut<'_>, from: &PodSpec<'_, '_>) {
    spec.node_selector().copy_from(&from.node_selector());
    spec.tolerations().copy_from(&from.tolerations());
    spec.scheduling_gates().copy_from(&from.scheduling_gates());
    let theirs = from.affinity();
    let mut affinity = spec.affinity().or_new();
    affinity.node_affinity().copy_from(&theirs.node_affinity());
    if affinity.0.is_empty() && !theirs.exists() {
        spec.affinity().remove();
    }
}

/// Takes the resources of containers with the same names at the same places from another template.
fn take_resources<'m>(ours: Slot<'m, List<ContainerMut<'m>>>, theirs: &List<Container<'_, '_>>) {
    let ours: Vec<_> = ours.elements().collect();
    if ours.len() != theirs.len() {
        return;
    }
    for (mut own, their) in ours.into_iter().zip(theirs.elements()) {
        if own.name().value() == their.name().value() {
            own.resources().copy_from(&their.resources());
        }
    }
}
