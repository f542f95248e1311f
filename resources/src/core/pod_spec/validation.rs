//! Validation of a pod spec.
//!
//! Kubernetes concept: `ValidatePodSpec` in `pkg/apis/core/validation`.

mod affinity;
pub(crate) mod annotations;
mod containers;
mod dns;
mod environment;
mod mounts;
mod options;
mod probes;
mod resource_claims;
pub(super) mod resources;
mod restarts;
mod scheduling;
pub(crate) mod security_context;
mod text_rules;
mod volumes;
mod windows;

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::object_meta::{validate_annotations, validate_labels};
use registry_core::api::validation::{ErrorList, names};

use crate::support::field::Field;
use crate::support::label_selector;

use containers::Surroundings;
use resource_claims::ClaimNames;
use volumes::Volumes;

pub(crate) use options::Options;
pub(crate) use resources::{
    check_any_name, check_container_name, check_overhead, check_quantity, is_of_pods, may_overcommit,
};
pub(crate) use scheduling::check_tolerations;
pub(crate) use volumes::claim_template::check_metadata as check_claim_metadata;

const RESTART_POLICIES: &[&str] = &["Always", "OnFailure", "Never"];

/// Calls a function with each container: init containers, containers, ephemeral containers.
pub(crate) fn visit_containers(spec: &Field<'_, '_>, mut visit: impl FnMut(&Field<'_, '_>)) {
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        for container in spec.get(list).elements() {
            visit(&container);
        }
    }
}

/// Returns the options for a pod, and for a change of one.
pub(crate) fn options_of_pod(context: &RequestContext, old: Option<&Object>) -> Options {
    let options = Options::new(context, true);
    match old {
        Some(old) => options.tolerating(&Field::of(old, "metadata"), &Field::of(old, "spec")),
        None => options,
    }
}

/// Checks the annotations and the spec of a pod.
pub(crate) fn check_pod(pod: &Object, options: &Options, errors: &mut ErrorList) {
    let metadata = Field::of(pod, "metadata");
    let annotations = metadata.get("annotations");
    let spec = Field::of(pod, "spec");
    annotations::check(&annotations, &spec, options, errors);
    let pod = Pod { name: pod.name(), is_static: annotations.get(annotations::MIRROR).exists() };
    check_spec(&spec, Some(&pod), options, errors);
    if spec.get("serviceAccountName").text().is_empty() {
        check_no_tokens(&spec.get("volumes"), errors);
    }
    for list in ["containers", "initContainers"] {
        for container in spec.get(list).elements() {
            containers::check_image_spaces(&container, errors);
        }
    }
}

/// Checks a template of pods; `old` is what it was, if it changes.
pub(crate) fn check_template(
    context: &RequestContext,
    template: &Field<'_, '_>,
    old: Option<&Field<'_, '_>>,
    errors: &mut ErrorList,
) {
    let options = Options::new(context, false);
    let options = match old {
        Some(old) => options.tolerating(&old.get("metadata"), &old.get("spec")),
        None => options,
    };
    check_metadata(template, &options, errors);
    let spec = template.get("spec");
    check_spec(&spec, None, &options, errors);
    let metadata = template.get("metadata");
    annotations::check_profiles(&metadata.get("annotations"), &spec, errors);
    let ephemeral = spec.get("ephemeralContainers");
    if !ephemeral.is_empty() {
        errors.push(ephemeral.forbidden("ephemeral containers not allowed in pod template"));
    }
}

/// Checks the labels and the annotations of a template of pods.
pub(crate) fn check_template_metadata(
    context: &RequestContext,
    template: &Field<'_, '_>,
    errors: &mut ErrorList,
) {
    check_metadata(template, &Options::new(context, false), errors);
}

fn check_metadata(template: &Field<'_, '_>, options: &Options, errors: &mut ErrorList) {
    let metadata = template.get("metadata");
    // The paths are those of the template itself, without `metadata`.
    errors.append(validate_labels(metadata.get("labels").texts(), &template.path().child("labels")));
    let annotations = template.get("annotations");
    let annotations = match metadata.get("annotations").value() {
        Some(value) => annotations.holding(value),
        None => annotations,
    };
    errors.append(validate_annotations(annotations.texts(), &annotations.path()));
    annotations::check(&annotations, &template.get("spec"), options, errors);
}

/// The pod that a spec belongs to.
struct Pod<'v> {
    name: &'v str,
    is_static: bool,
}

fn check_spec(spec: &Field<'_, '_>, pod: Option<&Pod<'_>>, options: &Options, errors: &mut ErrorList) {
    let grace = spec.get("terminationGracePeriodSeconds");
    if !grace.exists() {
        errors.push(grace.required(""));
    }
    let volumes = Volumes::validate(&spec.get("volumes"), pod.map(|pod| pod.name), options, errors);
    let claims = spec.get("resourceClaims");
    resource_claims::check(&claims, pod.is_some_and(|pod| pod.is_static), errors);
    let surroundings = Surroundings {
        spec,
        options,
        volumes: &volumes,
        claims: &ClaimNames::of(&claims),
        uses_host_users: spec.get("hostUsers").truth() != Some(false),
    };
    surroundings.check(errors);
    resources::check_pod(spec, options, errors);
    containers::check_host_network(spec, options, errors);
    spec.get("restartPolicy").check_word(RESTART_POLICIES, errors);
    dns::check_policy(spec, errors);
    label_selector::check_labels(&spec.get("nodeSelector"), errors);
    security_context::check_pod(spec, options, errors);
    affinity::check(&spec.get("affinity"), options, errors);
    dns::check_config(spec, errors);
    scheduling::check_readiness_gates(&spec.get("readinessGates"), errors);
    scheduling::check_scheduling_gates(&spec.get("schedulingGates"), errors);
    scheduling::check_spread(&spec.get("topologySpreadConstraints"), options, errors);
    windows::check_host_processes(spec, options, errors);
    security_context::check_own_users(spec, options, errors);
    dns::check_hostname_override(spec, errors);
    check_names(spec, errors);
    scheduling::check_tolerations(&spec.get("tolerations"), options, errors);
    dns::check_host_aliases(&spec.get("hostAliases"), errors);
    spec.get("priorityClassName").check_if_set(names::dns_subdomain, errors);
    spec.get("runtimeClassName").check_if_present(names::dns_subdomain, errors);
    check_preemption(&spec.get("preemptionPolicy"), errors);
    resources::check_overhead(&spec.get("overhead"), options, errors);
    windows::check_system(spec, errors);
    environment::check_files_in_volumes(spec, errors);
}

fn check_names(spec: &Field<'_, '_>, errors: &mut ErrorList) {
    spec.get("serviceAccountName").check_if_set(names::dns_subdomain, errors);
    spec.get("nodeName").check_if_set(names::dns_subdomain, errors);
    spec.get("activeDeadlineSeconds").check_between(1, i64::from(i32::MAX), errors);
    spec.get("hostname").check_if_set(names::dns_label, errors);
    spec.get("subdomain").check_if_set(names::dns_label, errors);
}

fn check_preemption(policy: &Field<'_, '_>, errors: &mut ErrorList) {
    if policy.exists() {
        policy.check_word(&["PreemptLowerPriority", "Never"], errors);
    }
}

/// Checks that a pod without a service account has no token of one.
fn check_no_tokens(volumes: &Field<'_, '_>, errors: &mut ErrorList) {
    for volume in volumes.elements() {
        for source in volume.get("projected").get("sources").elements() {
            let detail = "must not be specified when serviceAccountName is not set";
            source.get("serviceAccountToken").check_absent(detail, errors);
        }
    }
}
