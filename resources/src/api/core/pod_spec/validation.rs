//! Validation of a pod spec.
//!
//! Errors have the order and the texts of kube-apiserver. A change may keep a violation that the object had before its rule was
//! made.
//!
//! | module | contents |
//! |---|---|
//! | `ratcheting` | the violations that a change may keep |
//! | `containers` | containers, init containers and ephemeral containers |
//! | `mounts` | the mounts and devices of containers |
//! | `volumes` | volumes, by their sources |
//! | `environment` | environment variables |
//! | `probes` | probes and lifecycle hooks |
//! | `restarts` | the restarts of containers |
//! | `resources` | requests, limits and overhead |
//! | `resource_claims` | references to resource claims |
//! | `security_context` | security contexts |
//! | `windows` | pods that run on Windows |
//! | `annotations` | annotations that Kubernetes reads |
//! | `scheduling` | tolerations, topology spread and gates |
//! | `affinity` | affinities to nodes and pods |
//! | `dns` | host names and the resolver |
//! | `text_rules` | rules of single values |
//! | `options` | the circumstances of a validation |
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
mod ratcheting;
mod resource_claims;
pub(crate) mod resources;
mod restarts;
mod scheduling;
pub(crate) mod security_context;
mod stop_signals;
mod text_rules;
pub(in crate::api::core) mod volumes;
mod windows;

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::object_meta::{validate_annotations, validate_labels};
use registry_core::api::validation::{ErrorList, names};
use resource_views::core::v1::{
    Container, Pod as PodView, PodSchedulingGroup, PodSpec, PodTemplateSpec, Volume,
};
use resource_views::{List, Map, Text, Typed as _};

use crate::support::label_selector;

use containers::Surroundings;
use resource_claims::ClaimNames;
use volumes::Volumes;

pub(crate) use options::Options;
pub(crate) use resources::{check_overhead, check_quantity};
pub(crate) use scheduling::check_tolerations;
pub(crate) use volumes::claim_template::check_metadata as check_claim_metadata;
pub(crate) use volumes::shares::check_driver_name;

const RESTART_POLICIES: &[&str] = &["Always", "OnFailure", "Never"];

/// Calls a function with each container: init containers, containers, ephemeral containers.
pub(crate) fn visit_containers<'v>(spec: &PodSpec<'v, '_>, mut visit: impl FnMut(&Container<'v, '_>)) {
    for container in spec.init_containers().elements() {
        visit(&container);
    }
    for container in spec.containers().elements() {
        visit(&container);
    }
    for container in spec.ephemeral_containers().elements() {
        visit(&container.into());
    }
}

/// Returns the options for a pod, and for a change of one.
pub(crate) fn options_of_pod(context: &RequestContext, old: Option<&Object>) -> Options {
    let options = Options::new(context, true);
    match old.map(PodView) {
        Some(old) => options.tolerating(&old.metadata(), &old.spec()),
        None => options,
    }
}

/// Checks the annotations and the spec of a pod.
pub(crate) fn check_pod(object: &Object, options: &Options, errors: &mut ErrorList) {
    let metadata = PodView(object).metadata();
    let annotations = metadata.annotations();
    let spec = PodView(object).spec();
    annotations::check(&annotations, &spec, options, errors);
    let pod = Pod { name: object.name(), is_static: annotations.entry(annotations::MIRROR).exists() };
    check_spec(&spec, Some(&pod), options, errors);
    if spec.service_account_name().text().is_empty() {
        check_no_tokens(&spec.volumes(), errors);
    }
    for container in spec.containers().elements() {
        containers::check_image_spaces(&container, errors);
    }
    for container in spec.init_containers().elements() {
        containers::check_image_spaces(&container, errors);
    }
}

/// Checks a template of pods; `old` is what it was, if it changes.
pub(crate) fn check_template(
    context: &RequestContext,
    template: &PodTemplateSpec<'_, '_>,
    old: Option<&PodTemplateSpec<'_, '_>>,
    errors: &mut ErrorList,
) {
    let options = Options::new(context, false);
    let options = match old {
        Some(old) => options.tolerating(&old.metadata(), &old.spec()),
        None => options,
    };
    check_metadata(template, &options, errors);
    let spec = template.spec();
    check_spec(&spec, None, &options, errors);
    let metadata = template.metadata();
    annotations::check_profiles(&metadata.annotations(), &spec, errors);
    let ephemeral = spec.ephemeral_containers();
    if !ephemeral.is_empty() {
        errors.push(ephemeral.forbidden("ephemeral containers not allowed in pod template"));
    }
}

/// Checks the labels and the annotations of a template of pods.
pub(crate) fn check_template_metadata(
    context: &RequestContext,
    template: &PodTemplateSpec<'_, '_>,
    errors: &mut ErrorList,
) {
    check_metadata(template, &Options::new(context, false), errors);
}

fn check_metadata(template: &PodTemplateSpec<'_, '_>, options: &Options, errors: &mut ErrorList) {
    let metadata = template.metadata();
    // The paths are those of the template itself, without `metadata`.
    errors.append(validate_labels(metadata.labels().texts(), &template.path().child("labels")));
    if let Some(value) = metadata.annotations().value() {
        let annotations = Map::<Text<'_, '_>>::typed(metadata.shown_as("annotations").with_value(value));
        errors.append(validate_annotations(annotations.texts(), &annotations.path()));
        annotations::check(&annotations, &template.spec(), options, errors);
    }
}

/// The pod that a spec belongs to.
struct Pod<'v> {
    name: &'v str,
    is_static: bool,
}

fn check_spec(spec: &PodSpec<'_, '_>, pod: Option<&Pod<'_>>, options: &Options, errors: &mut ErrorList) {
    let grace = spec.termination_grace_period_seconds();
    if !grace.exists() {
        errors.push(grace.required(""));
    }
    let volumes = Volumes::validate(&spec.volumes(), pod.map(|pod| pod.name), options, errors);
    let claims = spec.resource_claims();
    resource_claims::check(&claims, pod.is_some_and(|pod| pod.is_static), errors);
    let surroundings = Surroundings {
        spec,
        options,
        volumes: &volumes,
        claims: &ClaimNames::from_claims(&claims),
        uses_host_users: spec.host_users().truth() != Some(false),
    };
    surroundings.check(errors);
    resources::check_pod(spec, options, errors);
    containers::check_host_network(spec, options, errors);
    spec.restart_policy().check_word(RESTART_POLICIES, errors);
    dns::check_policy(spec, errors);
    label_selector::check_labels(&spec.node_selector(), errors);
    security_context::check_pod(spec, options, errors);
    affinity::check(&spec.affinity(), options, errors);
    dns::check_config(spec, errors);
    scheduling::check_readiness_gates(&spec.readiness_gates(), errors);
    scheduling::check_scheduling_gates(&spec.scheduling_gates(), errors);
    scheduling::check_spread(&spec.topology_spread_constraints(), options, errors);
    windows::check_host_processes(spec, options, errors);
    security_context::check_own_users(spec, options, errors);
    dns::check_hostname_override(spec, errors);
    check_names(spec, errors);
    scheduling::check_tolerations(&spec.tolerations(), options, errors);
    dns::check_host_aliases(&spec.host_aliases(), errors);
    spec.priority_class_name().check_if_set(names::dns_subdomain, errors);
    spec.runtime_class_name().check_if_present(names::dns_subdomain, errors);
    check_preemption(&spec.preemption_policy(), errors);
    resources::check_overhead(&spec.overhead(), options, errors);
    windows::check_system(spec, errors);
    check_group(&spec.scheduling_group(), errors);
    environment::check_files_in_volumes(spec, errors);
}

fn check_names(spec: &PodSpec<'_, '_>, errors: &mut ErrorList) {
    spec.service_account_name().check_if_set(names::dns_subdomain, errors);
    spec.node_name().check_if_set(names::dns_subdomain, errors);
    spec.active_deadline_seconds().check_between(1, i64::from(i32::MAX), errors);
    spec.hostname().check_if_set(names::dns_label, errors);
    spec.subdomain().check_if_set(names::dns_label, errors);
}

/// Checks the name of the group that a pod is scheduled with.
fn check_group(group: &PodSchedulingGroup<'_, '_>, errors: &mut ErrorList) {
    let name = group.pod_group_name();
    if name.exists() {
        name.check(names::dns_subdomain, errors);
    } else if group.exists() {
        errors.push(name.invalid("must specify one of: `podGroupName`"));
    }
}

fn check_preemption(policy: &Text<'_, '_>, errors: &mut ErrorList) {
    if policy.exists() {
        policy.check_word(&["PreemptLowerPriority", "Never"], errors);
    }
}

/// Checks that a pod without a service account has no token of one.
fn check_no_tokens(volumes: &List<Volume<'_, '_>>, errors: &mut ErrorList) {
    for volume in volumes.elements() {
        for source in volume.projected().sources().elements() {
            let detail = "must not be specified when serviceAccountName is not set";
            source.service_account_token().check_absent(detail, errors);
        }
    }
}
