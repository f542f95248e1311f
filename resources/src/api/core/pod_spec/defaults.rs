//! Defaults of a pod spec that depend on other fields, or that the schema does not state.
//!
//! Kubernetes concept: `SetDefaults_PodSpec` and its kin in `pkg/apis/core/v1/defaults.go`.

use registry_core::api::Object;
use resource_views::core::v1::{
    ContainerMut, DownwardAPIVolumeFileMut, HTTPGetActionMut, LifecycleHandlerMut, Pod, PodMut, PodSpecMut,
    PodTemplateSpecMut, ProbeMut, ResourceRequirementsMut, VolumeMut,
};
use resource_views::meta::v1::ObjectMetaMut;
use resource_views::slot::{Fields, Slot};
use resource_views::{List, Map, Quantity as Amount};
use serde_json::Value;

use super::resource_names::{HUGE_PAGES, is_of_pods};
use super::{images, totals};
use crate::api::core::volume_claim;
use crate::support::resource_list::round_up;

/// Annotations that had the init containers and their statuses before there were fields.
const OLD_ANNOTATIONS: [&str; 4] = [
    "pod.beta.kubernetes.io/init-containers",
    "pod.alpha.kubernetes.io/init-containers",
    "pod.beta.kubernetes.io/init-container-statuses",
    "pod.alpha.kubernetes.io/init-container-statuses",
];

/// Default mode of files in projected volumes: `0644`.
const FILE_MODE: i64 = 0o644;

/// Sets the defaults of a pod.
pub(crate) fn apply_to_pod(pod: &mut Object) {
    PodMut(pod).metadata().edit(drop_annotations);
    let Some(mut spec) = PodMut(pod).spec().present() else { return };
    spec.enable_service_links().or(true);
    // Such pods may exist since before the rule; a template may have it.
    if spec.termination_grace_period_seconds().integer().is_some_and(|seconds| seconds < 0) {
        spec.termination_grace_period_seconds().set(1);
    }
    round_amounts(&mut spec);
    spec.containers().elements().for_each(requests_from_limits);
    spec.init_containers().elements().for_each(requests_from_limits);
    limits_of_pod(pod);
    requests_of_pod(pod);
    let Some(mut spec) = PodMut(pod).spec().present() else { return };
    apply(&mut spec);
    if spec.host_network().is_true() {
        spec.containers().elements().for_each(host_ports);
        spec.init_containers().elements().for_each(host_ports);
    }
}

/// Sets the defaults of a template of pods.
pub(crate) fn apply_to_template(template: Slot<'_, PodTemplateSpecMut<'_>>) {
    let Some(mut template) = template.present() else { return };
    template.metadata().edit(drop_annotations);
    if let Some(mut spec) = template.spec().present() {
        round_amounts(&mut spec);
        apply(&mut spec);
    }
}

/// Drops annotations that had the init containers before they were a field.
fn drop_annotations(mut metadata: ObjectMetaMut<'_>) {
    if let Some(annotations) = metadata.annotations().entries() {
        for name in OLD_ANNOTATIONS {
            annotations.remove(name);
        }
    }
}

/// Calls a function with each container.
pub(crate) fn each_container(spec: &mut PodSpecMut<'_>, edit: impl Fn(ContainerMut<'_>)) {
    spec.init_containers().elements().for_each(&edit);
    spec.containers().elements().for_each(&edit);
    spec.ephemeral_containers().elements().for_each(|container| edit(container.into()));
}

/// Rounds amounts up to thousandths.
fn round_amounts(spec: &mut PodSpecMut<'_>) {
    round_up(spec.overhead());
    spec.resources().edit(round_resources);
    each_container(spec, |mut container| {
        container.resources().edit(round_resources);
    });
}

fn round_resources(mut resources: ResourceRequirementsMut<'_>) {
    round_up(resources.limits());
    round_up(resources.requests());
}

fn apply(spec: &mut PodSpecMut<'_>) {
    spec.restart_policy().or("Always");
    spec.dns_policy().or("ClusterFirst");
    spec.scheduler_name().or("default-scheduler");
    spec.termination_grace_period_seconds().or(30);
    spec.security_context().or_new();
    // The older and the newer field have the same value; the newer takes precedence.
    let newer = spec.service_account_name().text().to_owned();
    let account = if newer.is_empty() { spec.service_account().text().to_owned() } else { newer };
    if !account.is_empty() {
        spec.service_account().set(&account);
        spec.service_account_name().set(&account);
    }
    each_container(spec, container);
    spec.volumes().elements().for_each(volume);
}

fn container(mut container: ContainerMut<'_>) {
    let policy = images::pull_policy(container.image().text());
    container.image_pull_policy().or(policy);
    container.termination_message_path().or("/dev/termination-log");
    container.termination_message_policy().or("File");
    container.liveness_probe().edit(probe);
    container.readiness_probe().edit(probe);
    container.startup_probe().edit(probe);
    if let Some(mut lifecycle) = container.lifecycle().present() {
        lifecycle.post_start().edit(hook);
        lifecycle.pre_stop().edit(hook);
    }
    for mut variable in container.env().elements() {
        let Some(mut source) = variable.value_from().present() else { continue };
        if let Some(mut field) = source.field_ref().present() {
            field.api_version().or("v1");
        }
    }
}

fn hook(mut hook: LifecycleHandlerMut<'_>) {
    hook.http_get().edit(http_get);
}

fn probe(mut probe: ProbeMut<'_>) {
    probe.timeout_seconds().or_if_zero(1);
    probe.period_seconds().or_if_zero(10);
    probe.success_threshold().or_if_zero(1);
    probe.failure_threshold().or_if_zero(3);
    probe.http_get().edit(http_get);
    if let Some(mut grpc) = probe.grpc().present() {
        grpc.service().or("");
    }
}

fn http_get(mut action: HTTPGetActionMut<'_>) {
    action.path().or("/");
    action.scheme().or("HTTP");
}

/// Sets the requests of limited resources to their limits where unset.
fn requests_from_limits(mut container: ContainerMut<'_>) {
    let Some(mut resources) = container.resources().present() else { return };
    let Some(limits) = resources.limits().entries().cloned() else { return };
    let requests = resources.requests().or_new_entries();
    for (resource, limit) in limits {
        requests.entry(resource).or_insert(limit);
    }
}

/// Returns the limits and the requests of a pod as a whole.
fn amounts_of_pod(pod: &Object) -> (Fields, Fields) {
    let spec = Pod(pod).spec();
    let resources = spec.resources();
    let entries = |amounts: Map<Amount<'_, '_>>| {
        amounts.value().and_then(Value::as_object).cloned().unwrap_or_default()
    };
    (entries(resources.limits()), entries(resources.requests()))
}

/// Sets the limits of huge pages of a pod that has some amounts of its own to those of its containers, unless there are
/// requests of them.
fn limits_of_pod(pod: &mut Object) {
    let (mut limits, requests) = amounts_of_pod(pod);
    if limits.is_empty() && requests.is_empty() {
        return;
    }
    for (name, amount) in totals::containers_total(&Pod(pod).spec(), "limits") {
        if name.starts_with(HUGE_PAGES) && !requests.contains_key(&name) && !limits.contains_key(&name) {
            limits.insert(name, amount.to_string().into());
        }
    }
    if !limits.is_empty() {
        PodMut(pod).spec().or_new().resources().or_new().limits().set_value(limits.into());
    }
}

/// Sets the requests of a pod that has limits of its own to those of its containers, or else to the limits.
fn requests_of_pod(pod: &mut Object) {
    let (limits, mut requests) = amounts_of_pod(pod);
    if limits.is_empty() {
        return;
    }
    for (name, amount) in totals::containers_total(&Pod(pod).spec(), "requests") {
        if matches!(name.as_str(), "cpu" | "memory") && !requests.contains_key(&name) {
            requests.insert(name, amount.to_string().into());
        }
    }
    for (name, limit) in limits {
        if is_of_pods(&name) && !requests.contains_key(&name) {
            requests.insert(name, limit);
        }
    }
    if !requests.is_empty() {
        PodMut(pod).spec().or_new().resources().or_new().requests().set_value(requests.into());
    }
}

/// Sets the host ports of containers on the host's network to the containers' ports.
fn host_ports(mut container: ContainerMut<'_>) {
    for mut port in container.ports().elements() {
        if let Some(number) = port.container_port().integer().filter(|number| *number != 0) {
            port.host_port().or_if_zero(number);
        }
    }
}

fn volume(mut volume: VolumeMut<'_>) {
    // A volume that names no source is an empty directory.
    if volume.0.keys().all(|key| key == "name") {
        volume.empty_dir().or_new();
    }
    if let Some(mut secret) = volume.secret().present() {
        secret.default_mode().or(FILE_MODE);
    }
    if let Some(mut map) = volume.config_map().present() {
        map.default_mode().or(FILE_MODE);
    }
    if let Some(mut fields) = volume.downward_api().present() {
        fields.default_mode().or(FILE_MODE);
        downward_files(fields.items());
    }
    if let Some(mut path) = volume.host_path().present() {
        path.r#type().or("");
    }
    if let Some(mut projected) = volume.projected().present() {
        projected.default_mode().or(FILE_MODE);
        for mut source in projected.sources().elements() {
            if let Some(mut token) = source.service_account_token().present() {
                token.expiration_seconds().or(3_600);
            }
            if let Some(mut fields) = source.downward_api().present() {
                downward_files(fields.items());
            }
        }
    }
    if let Some(mut ephemeral) = volume.ephemeral().present()
        && let Some(mut template) = ephemeral.volume_claim_template().present()
        && let Some(mut spec) = template.spec().present()
    {
        volume_claim::apply_defaults(&mut spec);
    }
    if let Some(mut image) = volume.image().present() {
        let policy = images::pull_policy(image.reference().text());
        image.pull_policy().or(policy);
    }
}

fn downward_files(files: Slot<'_, List<DownwardAPIVolumeFileMut<'_>>>) {
    for mut file in files.elements() {
        if let Some(mut field) = file.field_ref().present() {
            field.api_version().or("v1");
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_bare_pod_gets_what_kubernetes_gives_it() {
        let mut pod = Object::from_value(json!({"spec": {"containers": [
            {"name": "c", "image": "nginx:1", "resources": {"limits": {"cpu": "1"}}, "livenessProbe": {"httpGet": {"port": 80}}},
        ], "volumes": [{"name": "v"}, {"name": "s", "secret": {"secretName": "x"}}]}}))
        .unwrap();
        apply_to_pod(&mut pod);
        let expected = json!({"spec": {"containers": [{
            "name": "c", "image": "nginx:1", "imagePullPolicy": "IfNotPresent",
            "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}},
            "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
            "livenessProbe": {"httpGet": {"port": 80, "path": "/", "scheme": "HTTP"}, "timeoutSeconds": 1,
                "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3},
        }], "volumes": [{"name": "v", "emptyDir": {}}, {"name": "s", "secret": {"secretName": "x", "defaultMode": 420}}],
        "restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler",
        "terminationGracePeriodSeconds": 30, "securityContext": {}, "enableServiceLinks": true}});
        assert_eq!(pod.into_value(), expected);
    }
}
