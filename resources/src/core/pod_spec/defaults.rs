//! Defaults of a pod spec that depend on other fields, or that the schema does not state.
//!
//! Kubernetes concept: `SetDefaults_PodSpec` and its kin in `pkg/apis/core/v1/defaults.go`.

use registry_core::api::Object;
use serde_json::{Value, json};

use crate::support::defaulting::{Fields, each, fill, fill_zero, with};

/// Default mode of files in projected volumes: `0644`.
const FILE_MODE: i64 = 0o644;

/// Sets the defaults of a pod.
pub(crate) fn apply_to_pod(pod: &mut Object) {
    let Some(spec) = pod.0.get_mut("spec").and_then(Value::as_object_mut) else { return };
    fill(spec, "enableServiceLinks", true);
    each(spec, &["containers", "initContainers"], requests_from_limits);
    apply(spec);
    if spec.get("hostNetwork") == Some(&Value::Bool(true)) {
        each(spec, &["containers", "initContainers"], host_ports);
    }
}

/// Sets the defaults of the pod template at a path.
pub(crate) fn apply_to_template(object: &mut Object, template: &[&str]) {
    let mut fields = Some(&mut object.0);
    for step in template.iter().chain(&["spec"]) {
        fields = fields.and_then(|fields| fields.get_mut(*step)).and_then(Value::as_object_mut);
    }
    if let Some(spec) = fields {
        apply(spec);
        if spec.get("hostNetwork") == Some(&Value::Bool(true)) {
            each(spec, &["containers", "initContainers"], host_ports);
        }
    }
}

fn apply(spec: &mut Fields) {
    fill(spec, "restartPolicy", "Always");
    fill(spec, "dnsPolicy", "ClusterFirst");
    fill(spec, "schedulerName", "default-scheduler");
    fill(spec, "terminationGracePeriodSeconds", 30);
    fill(spec, "securityContext", json!({}));
    // The older and the newer field have the same value.
    if let Some(account) = spec.get("serviceAccountName").or_else(|| spec.get("serviceAccount")).cloned() {
        spec.insert("serviceAccount".to_owned(), account.clone());
        spec.insert("serviceAccountName".to_owned(), account);
    }
    each(spec, &["containers", "initContainers"], container);
    each(spec, &["ephemeralContainers"], |ephemeral| {
        fill(ephemeral, "imagePullPolicy", pull_policy(ephemeral));
        fill(ephemeral, "terminationMessagePath", "/dev/termination-log");
        fill(ephemeral, "terminationMessagePolicy", "File");
    });
    each(spec, &["volumes"], volume);
}

fn container(container: &mut Fields) {
    fill(container, "imagePullPolicy", pull_policy(container));
    fill(container, "terminationMessagePath", "/dev/termination-log");
    fill(container, "terminationMessagePolicy", "File");
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        with(container, name, probe);
    }
    with(container, "lifecycle", |lifecycle| {
        for name in ["postStart", "preStop"] {
            with(lifecycle, name, |handler| with(handler, "httpGet", http_get));
        }
    });
    each(container, &["env"], |variable| {
        with(variable, "valueFrom", |source| {
            with(source, "fieldRef", |field| fill(field, "apiVersion", "v1"));
        });
    });
    with(container, "securityContext", |context| {
        if context.get("privileged") == Some(&Value::Bool(true)) {
            context.entry("procMount").or_insert_with(|| "Default".into());
        }
    });
}

/// Returns `Always` for images without a tag or with `latest`, `IfNotPresent` for all others.
fn pull_policy(container: &Fields) -> &'static str {
    let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
    let (name, digest) = image.split_once('@').map_or((image, None), |(name, digest)| (name, Some(digest)));
    // A colon before the last slash separates a registry's port.
    let tag = name.rsplit('/').next().and_then(|last| last.split_once(':')).map(|(_, tag)| tag);
    match (tag, digest) {
        (Some("latest") | None, None) => "Always",
        _ => "IfNotPresent",
    }
}

fn probe(probe: &mut Fields) {
    for (field, default) in
        [("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)]
    {
        fill_zero(probe, field, default);
    }
    with(probe, "httpGet", http_get);
    with(probe, "grpc", |grpc| fill(grpc, "service", ""));
}

fn http_get(action: &mut Fields) {
    fill(action, "path", "/");
    fill(action, "scheme", "HTTP");
}

/// Sets the requests of limited resources to their limits where unset.
fn requests_from_limits(container: &mut Fields) {
    with(container, "resources", |resources| {
        let Some(Value::Object(limits)) = resources.get("limits").cloned() else { return };
        let requests = resources.entry("requests").or_insert_with(|| json!({}));
        if let Some(requests) = requests.as_object_mut() {
            for (resource, limit) in limits {
                requests.entry(resource).or_insert(limit);
            }
        }
    });
}

/// Sets the host ports of containers on the host's network to the containers' ports.
fn host_ports(container: &mut Fields) {
    each(container, &["ports"], |port| {
        if let Some(number) = port.get("containerPort").cloned() {
            port.entry("hostPort").or_insert(number);
        }
    });
}

fn volume(volume: &mut Fields) {
    // A volume that names no source is an empty directory.
    if volume.keys().all(|key| key == "name") {
        volume.insert("emptyDir".to_owned(), json!({}));
    }
    for source in ["secret", "configMap", "downwardAPI"] {
        with(volume, source, |source| fill(source, "defaultMode", FILE_MODE));
    }
    with(volume, "downwardAPI", downward_items);
    with(volume, "hostPath", |path| fill(path, "type", ""));
    with(volume, "projected", |projected| {
        fill(projected, "defaultMode", FILE_MODE);
        each(projected, &["sources"], |source| {
            with(source, "serviceAccountToken", |token| fill(token, "expirationSeconds", 3_600));
            with(source, "downwardAPI", downward_items);
        });
    });
    with(volume, "ephemeral", |ephemeral| {
        with(ephemeral, "volumeClaimTemplate", |template| {
            with(template, "spec", |spec| fill(spec, "volumeMode", "Filesystem"));
        });
    });
    with(volume, "image", |image| {
        let policy = pull_policy(&Fields::from_iter([(
            "image".to_owned(),
            image.get("reference").cloned().unwrap_or_default(),
        )]));
        fill(image, "pullPolicy", policy);
    });
}

fn downward_items(source: &mut Fields) {
    each(source, &["items"], |item| with(item, "fieldRef", |field| fill(field, "apiVersion", "v1")));
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn the_pull_policy_follows_the_tag() {
        let policy = |image: &str| pull_policy(&Fields::from_iter([("image".to_owned(), image.into())]));
        for always in ["nginx", "nginx:latest", "host:5000/nginx", "host:5000/a/nginx:latest"] {
            assert_eq!(policy(always), "Always", "{always}");
        }
        for present in ["nginx:1", "host:5000/nginx:1", "nginx@sha256:abc", "nginx:latest@sha256:abc"] {
            assert_eq!(policy(present), "IfNotPresent", "{present}");
        }
    }
}
