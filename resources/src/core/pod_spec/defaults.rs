//! Defaults of a pod spec that depend on other fields, or that the schema does not state.
//!
//! Kubernetes concept: `SetDefaults_PodSpec` and its kin in `pkg/apis/core/v1/defaults.go`.

use registry_core::api::Object;
use serde_json::{Value, json};

use super::validation::is_of_pods;
use super::{images, totals};
use crate::support::defaulting::{Fields, each, fill, fill_absent, fill_zero, with};

const HUGE_PAGES: &str = "hugepages-";
const GRACE: &str = "terminationGracePeriodSeconds";
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
    with(&mut pod.0, "metadata", drop_annotations);
    let Some(spec) = pod.0.get_mut("spec").and_then(Value::as_object_mut) else { return };
    fill(spec, "enableServiceLinks", true);
    // Such pods may exist since before the rule; a template may have it.
    if spec.get(GRACE).and_then(Value::as_i64).is_some_and(|seconds| seconds < 0) {
        spec.insert(GRACE.to_owned(), 1.into());
    }
    round_amounts(spec);
    each(spec, &["containers", "initContainers"], requests_from_limits);
    limits_of_pod(spec);
    requests_of_pod(spec);
    apply(spec);
    if spec.get("hostNetwork") == Some(&Value::Bool(true)) {
        each(spec, &["containers", "initContainers"], host_ports);
    }
}

/// Sets the defaults of the pod template at a path.
pub(crate) fn apply_to_template(object: &mut Object, template: &[&str]) {
    let mut fields = Some(&mut object.0);
    for step in template {
        fields = fields.and_then(|fields| fields.get_mut(*step)).and_then(Value::as_object_mut);
    }
    let Some(template) = fields else { return };
    with(template, "metadata", drop_annotations);
    with(template, "spec", |spec| {
        round_amounts(spec);
        apply(spec);
    });
}

/// Drops annotations that had the init containers before they were a field.
fn drop_annotations(metadata: &mut Fields) {
    with(metadata, "annotations", |annotations| {
        for name in OLD_ANNOTATIONS {
            annotations.remove(name);
        }
    });
}

/// Rounds amounts up to thousandths.
fn round_amounts(spec: &mut Fields) {
    with(spec, "overhead", round_up);
    let resources = |holder: &mut Fields| {
        with(holder, "resources", |resources| {
            with(resources, "limits", round_up);
            with(resources, "requests", round_up);
        });
    };
    resources(spec);
    each(spec, &["containers", "initContainers", "ephemeralContainers"], resources);
}

fn round_up(amounts: &mut Fields) {
    const NANOS: i128 = 1_000_000;
    for amount in amounts.values_mut() {
        // Amounts in canonical form show that they are finer.
        let is_fine = amount.as_str().is_some_and(|text| text.ends_with(['n', 'u']));
        let Some(quantity) = totals::parse(amount).filter(|_| is_fine) else { continue };
        if let Some(nanos) = quantity.nanos() {
            let rounded = nanos.div_euclid(NANOS) + i128::from(nanos.rem_euclid(NANOS) != 0);
            *amount = quantity.with_nanos(rounded * NANOS).to_string().into();
        }
    }
}

fn apply(spec: &mut Fields) {
    fill(spec, "restartPolicy", "Always");
    fill(spec, "dnsPolicy", "ClusterFirst");
    fill(spec, "schedulerName", "default-scheduler");
    fill(spec, "terminationGracePeriodSeconds", 30);
    fill(spec, "securityContext", json!({}));
    // The older and the newer field have the same value; the newer takes precedence.
    let is_set = |account: &&Value| account.as_str().is_some_and(|name| !name.is_empty());
    let account =
        ["serviceAccountName", "serviceAccount"].iter().find_map(|name| spec.get(*name).filter(is_set));
    if let Some(account) = account.cloned() {
        spec.insert("serviceAccount".to_owned(), account.clone());
        spec.insert("serviceAccountName".to_owned(), account);
    }
    each(spec, &["containers", "initContainers", "ephemeralContainers"], container);
    each(spec, &["volumes"], volume);
    drop_disabled(spec);
}

/// Drops fields of features that are off by default.
fn drop_disabled(spec: &mut Fields) {
    spec.remove("schedulingGroup");
    each(spec, &["containers", "initContainers", "ephemeralContainers"], |container| {
        let Some(lifecycle) = container.get_mut("lifecycle").and_then(Value::as_object_mut) else { return };
        if lifecycle.remove("stopSignal").is_some() && lifecycle.is_empty() {
            container.remove("lifecycle");
        }
    });
    each(spec, &["volumes"], |volume| {
        with(volume, "projected", |projected| {
            each(projected, &["sources"], |source| {
                source.remove("clusterTrustBundle");
                source.remove("podCertificate");
            });
        });
    });
}

fn container(container: &mut Fields) {
    let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
    fill(container, "imagePullPolicy", images::pull_policy(image));
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

/// Sets the limits of huge pages of a pod that has some amounts of its own to those of its containers, unless there are
/// requests of them.
fn limits_of_pod(spec: &mut Fields) {
    let Some(resources) = spec.get("resources").filter(|resources| !resources.is_null()) else { return };
    let amounts = |kind: &str| resources.get(kind).and_then(Value::as_object).cloned().unwrap_or_default();
    let (mut limits, requests) = (amounts("limits"), amounts("requests"));
    if limits.is_empty() && requests.is_empty() {
        return;
    }
    let all = Value::Object(std::mem::take(spec));
    for (name, amount) in totals::of_containers(&all, "limits") {
        if name.starts_with(HUGE_PAGES) && !requests.contains_key(&name) && !limits.contains_key(&name) {
            limits.insert(name, amount.to_string().into());
        }
    }
    restore(spec, all);
    set_amounts(spec, "limits", limits);
}

/// Sets the requests of a pod that has limits of its own to those of its containers, or else to the limits.
fn requests_of_pod(spec: &mut Fields) {
    let Some(resources) = spec.get("resources") else { return };
    let amounts = |kind: &str| resources.get(kind).and_then(Value::as_object).cloned().unwrap_or_default();
    let (limits, mut requests) = (amounts("limits"), amounts("requests"));
    if limits.is_empty() {
        return;
    }
    let all = Value::Object(std::mem::take(spec));
    for (name, amount) in totals::of_containers(&all, "requests") {
        if matches!(name.as_str(), "cpu" | "memory") && !requests.contains_key(&name) {
            requests.insert(name, amount.to_string().into());
        }
    }
    restore(spec, all);
    for (name, limit) in limits {
        if is_of_pods(&name) && !requests.contains_key(&name) {
            requests.insert(name, limit);
        }
    }
    set_amounts(spec, "requests", requests);
}

fn restore(spec: &mut Fields, value: Value) {
    if let Value::Object(fields) = value {
        *spec = fields;
    }
}

fn set_amounts(spec: &mut Fields, kind: &str, amounts: Fields) {
    if !amounts.is_empty() {
        with(spec, "resources", |resources| {
            resources.insert(kind.to_owned(), amounts.into());
        });
    }
}

/// Sets the host ports of containers on the host's network to the containers' ports.
fn host_ports(container: &mut Fields) {
    each(container, &["ports"], |port| {
        if let Some(number) = port.get("containerPort").and_then(Value::as_i64).filter(|number| *number != 0)
        {
            fill_zero(port, "hostPort", number);
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
            with(template, "spec", |spec| fill_absent(spec, "volumeMode", "Filesystem"));
        });
    });
    with(volume, "image", |image| {
        let reference = image.get("reference").and_then(Value::as_str).unwrap_or_default();
        let policy = images::pull_policy(reference);
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
}
