//! Warnings about pods and pod templates that are valid.
//!
//! Kubernetes concept: `warningsForPodSpecAndMeta` in `pkg/api/pod`.

use std::collections::{HashMap, HashSet};

use registry_core::api::validation::names;
use registry_core::api::{FieldPath, Object};
use registry_core::schema::Quantity;

use crate::support::field::Field;

/// Deprecated node labels.
const OLD_NODE_LABELS: [(&str, &str); 8] = [
    ("beta.kubernetes.io/arch", "deprecated since v1.14; use \"kubernetes.io/arch\" instead"),
    ("beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead"),
    (
        "failure-domain.beta.kubernetes.io/region",
        "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead",
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead",
    ),
    (
        "beta.kubernetes.io/instance-type",
        "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead",
    ),
    ("app.kubernetes.io/created-by", "deprecated since v1.9"),
    (
        "scheduler.alpha.kubernetes.io/preferAvoidPods",
        "deprecated since v1.22; use Taints and Tolerations instead",
    ),
    ("node-role.kubernetes.io/master", "use \"node-role.kubernetes.io/control-plane\" instead"),
];

/// Annotations without effect.
const OLD_ANNOTATIONS: [(&str, &str); 3] = [
    (
        "scheduler.alpha.kubernetes.io/critical-pod",
        "non-functional in v1.16+; use the \"priorityClassName\" field instead",
    ),
    ("security.alpha.kubernetes.io/sysctls", "non-functional in v1.11+; use the \"sysctls\" field instead"),
    (
        "security.alpha.kubernetes.io/unsafe-sysctls",
        "non-functional in v1.11+; use the \"sysctls\" field instead",
    ),
];

/// Deprecated and removed volume types.
const OLD_VOLUMES: [(&str, &str); 9] = [
    ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
];

/// Annotations that precede the field for seccomp profiles: for the pod, and (a prefix) for a container.
const SECCOMP_OF_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_OF_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";
const APPARMOR_OF_CONTAINER: &str = "container.apparmor.security.beta.kubernetes.io/";
const SECCOMP_FIELD: &str = "non-functional in v1.27+; use the \"seccompProfile\" field instead";
const APPARMOR_FIELD: &str = "deprecated since v1.30; use the \"appArmorProfile\" field instead";

const CONTAINER_LISTS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// Maximum number of compared pairs of ports. Clients receive far fewer warnings.
const MAX_PORT_COMPARISONS: usize = 10_000;

/// Returns warnings about a name that becomes part of host names but is no valid label.
pub(crate) fn of_name(object: &Object, used_in: &str) -> Vec<String> {
    let complaints = names::dns_label(object.name());
    if complaints.is_empty() {
        return Vec::new();
    }
    vec![format!(
        "metadata.name: this is used in {used_in}, which can result in surprising behavior; a DNS label is recommended: [{}]",
        complaints.join(" ")
    )]
}

/// Returns warnings about a new workload: its name, with which its pods' names begin, and its template.
pub(crate) fn of_new_workload(object: &Object, template: &[&str]) -> Vec<String> {
    let mut warnings = of_name(object, "Pod names and hostnames");
    warnings.extend(of_template(object, template));
    warnings
}

/// Returns warnings about an updated workload: those about its template, if that changed.
pub(crate) fn of_changed_workload(new: &Object, old: &Object, template: &[&str]) -> Vec<String> {
    if new.generation() == old.generation() { Vec::new() } else { of_template(new, template) }
}

/// Warnings about a pod.
pub(crate) fn of_pod(pod: &Object) -> Vec<String> {
    Warnings::default().collect(&Field::of(pod, "metadata"), &Field::of(pod, "spec"), false)
}

/// Warnings about the template of pods at a path.
pub(crate) fn of_template(object: &Object, path: &[&str]) -> Vec<String> {
    fn below(field: &Field<'_, '_>, path: &[&str]) -> Vec<String> {
        match path.split_first() {
            Some((step, rest)) => below(&field.get(step), rest),
            None => Warnings::default().collect(&field.get("metadata"), &field.get("spec"), true),
        }
    }
    match path.split_first() {
        Some((first, rest)) => below(&Field::of(object, first), rest),
        None => Vec::new(),
    }
}

#[derive(Default)]
struct Warnings(Vec<String>);

impl Warnings {
    fn add(&mut self, path: &FieldPath, text: &str) {
        self.0.push(format!("{path}: {text}"));
    }

    fn collect(mut self, metadata: &Field<'_, '_>, spec: &Field<'_, '_>, is_template: bool) -> Vec<String> {
        self.node_labels(spec);
        let annotations = metadata.get("annotations");
        for (key, text) in OLD_ANNOTATIONS {
            if annotations.get(key).exists() {
                self.add(&annotations.path().key(key), text);
            }
        }
        for volume in spec.get("volumes").elements() {
            for (kind, text) in OLD_VOLUMES.iter().filter(|(kind, _)| volume.get(kind).exists()) {
                self.add(&volume.get(kind).path(), text);
            }
        }
        self.repeated(&spec.get("hostAliases"), "ip");
        self.repeated(&spec.get("imagePullSecrets"), "name");
        for secret in spec.get("imagePullSecrets").elements() {
            if secret.get("name").text().is_empty() {
                self.add(&secret.get("name").path(), "invalid empty name \"\"");
            }
        }
        self.fractions(&spec.get("overhead"));
        self.profiles(&annotations, spec, is_template);
        for list in CONTAINER_LISTS {
            for container in spec.get(list).elements() {
                let resources = container.get("resources");
                self.fractions(&resources.get("limits"));
                self.fractions(&resources.get("requests"));
                self.environment(&container.get("env"));
            }
        }
        self.ports(spec);
        let grace = spec.get("terminationGracePeriodSeconds");
        if grace.integer().is_some_and(|seconds| seconds < 0) {
            self.add(&grace.path(), "must be >= 0; negative values are invalid and will be treated as 1");
        }
        self.0
    }

    fn node_labels(&mut self, spec: &Field<'_, '_>) {
        let old = |label: &str| OLD_NODE_LABELS.iter().find(|(key, _)| *key == label).map(|(_, text)| *text);
        for (key, label) in spec.get("nodeSelector").entries() {
            if let Some(text) = old(key) {
                self.add(&label.path(), text);
            }
        }
        let affinity = spec.get("affinity");
        let affinity = affinity.get("nodeAffinity");
        let mut term = |term: &Field<'_, '_>| {
            for expression in term.get("matchExpressions").elements() {
                let key = expression.get("key");
                if let Some(text) = old(key.text()) {
                    self.add(&key.path(), &format!("{} is {text}", key.text()));
                }
            }
        };
        let required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution");
        required.get("nodeSelectorTerms").elements().for_each(|one| term(&one));
        for preferred in affinity.get("preferredDuringSchedulingIgnoredDuringExecution").elements() {
            term(&preferred.get("preference"));
        }
        for constraint in spec.get("topologySpreadConstraints").elements() {
            let key = constraint.get("topologyKey");
            if let Some(text) = old(key.text()) {
                self.add(&key.path(), &format!("{} is {text}", key.text()));
            }
            let selector = constraint.get("labelSelector");
            if !selector.exists() {
                self.add(&selector.path(), "a null labelSelector results in matching no pod");
            }
        }
    }

    fn repeated(&mut self, list: &Field<'_, '_>, field: &str) {
        let mut seen = HashSet::new();
        for one in list.elements() {
            let value = one.get(field);
            if !seen.insert(value.text()) {
                self.add(&value.path(), &format!("duplicate {field} {:?}", value.text()));
            }
        }
    }

    /// Warns about fractions of bytes.
    fn fractions(&mut self, amounts: &Field<'_, '_>) {
        for resource in ["memory", "ephemeral-storage"] {
            let amount = amounts.get(resource);
            let quantity = Quantity::parse(amount.text());
            if quantity.is_ok_and(|quantity| !quantity.is_whole()) {
                let text =
                    format!("fractional byte value {:?} is invalid, must be an integer", amount.text());
                self.add(&amounts.path().key(resource), &text);
            }
        }
    }

    /// Warns about annotations that select a profile where no field does.
    fn profiles(&mut self, annotations: &Field<'_, '_>, spec: &Field<'_, '_>, is_template: bool) {
        let chooses = |holder: &Field<'_, '_>, field: &str| {
            let context = holder.get("securityContext");
            context.get(field).exists()
        };
        let mut warn = |key: &str, text: &str| {
            if annotations.get(key).exists() {
                self.add(&annotations.path().key(key), text);
            }
        };
        if !chooses(spec, "seccompProfile") {
            warn(SECCOMP_OF_POD, SECCOMP_FIELD);
        }
        for list in CONTAINER_LISTS {
            for container in spec.get(list).elements() {
                let name = container.get("name").text();
                if !chooses(&container, "seccompProfile") {
                    warn(&format!("{SECCOMP_OF_CONTAINER}{name}"), SECCOMP_FIELD);
                }
                let armored = [spec, &container].iter().any(|holder| chooses(holder, "appArmorProfile"));
                if is_template && !armored {
                    warn(&format!("{APPARMOR_OF_CONTAINER}{name}"), APPARMOR_FIELD);
                }
            }
        }
    }

    /// Warns about variables that are set twice, unless the second refers to the first.
    fn environment(&mut self, variables: &Field<'_, '_>) {
        let mut seen = HashSet::new();
        for variable in variables.elements() {
            let name = variable.get("name").text();
            let value = variable.get("value").text();
            if seen.insert(name) {
                continue;
            }
            let reference = format!("$({name})");
            if variable.get("valueFrom").exists() || value == reference || !value.contains(&reference) {
                let text =
                    format!("hides previous definition of {name:?}, which may be dropped when using apply");
                self.add(&variable.path(), &text);
            }
        }
    }

    fn ports(&mut self, spec: &Field<'_, '_>) {
        struct Port<'a> {
            number: (Option<i64>, &'a str),
            host: (i64, &'a str),
            path: FieldPath,
        }
        let mut seen: HashMap<_, Vec<Port<'_>>> = HashMap::new();
        let mut comparisons_left = MAX_PORT_COMPARISONS;
        for list in CONTAINER_LISTS {
            for container in spec.get(list).elements() {
                for port in container.get("ports").elements() {
                    let this = Port {
                        number: (port.get("containerPort").integer(), port.get("protocol").text()),
                        host: (port.get("hostPort").integer().unwrap_or_default(), port.get("hostIP").text()),
                        path: port.path(),
                    };
                    let same_number = seen.entry(this.number).or_default();
                    for other in same_number.iter() {
                        if comparisons_left == 0 {
                            return;
                        }
                        comparisons_left -= 1;
                        let ((port, ip), (other_port, other_ip)) = (this.host, other.host);
                        let same = this.host == other.host;
                        let either_open = port == 0 || other_port == 0;
                        let either_anywhere = port == other_port && (ip.is_empty() || other_ip.is_empty());
                        let word = if same { "duplicate" } else { "overlapping" };
                        if same || either_open || either_anywhere {
                            self.add(&this.path, &format!("{word} port definition with {}", other.path));
                        }
                    }
                    same_number.push(this);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn of(name: &str, spec: &Value) -> Vec<String> {
        of_pod(&Object::from_value(json!({"metadata": {"name": name}, "spec": spec})).unwrap())
    }

    #[test]
    fn what_hides_or_overlaps_is_told() {
        let environment = |second: &str| {
            of(
                "p",
                &json!({"containers": [{"env": [{"name": "A", "value": "1"}, {"name": "A", "value": second}]}]}),
            )
        };
        let hides = "spec.containers[0].env[1]: hides previous definition of \"A\", which may be dropped when using apply";
        assert_eq!(environment("2"), [hides]);
        assert!(environment("$(A)2").is_empty());
        let memory = json!({"containers": [{"resources": {"requests": {"memory": "100m"}, "limits": {"memory": "1Gi"}}}]});
        assert_eq!(
            of("p", &memory),
            [
                "spec.containers[0].resources.requests[memory]: fractional byte value \"100m\" is invalid, must be an integer"
            ]
        );
        let port = json!({"containerPort": 80, "protocol": "TCP"});
        assert_eq!(
            of("p", &json!({"containers": [{"ports": [port]}, {"ports": [port]}]})),
            ["spec.containers[1].ports[0]: duplicate port definition with spec.containers[0].ports[0]"]
        );
        assert_eq!(
            of("p", &json!({"nodeSelector": {"beta.kubernetes.io/os": "linux"}})),
            [
                "spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use \"kubernetes.io/os\" instead"
            ]
        );
    }

    #[test]
    fn a_dot_in_a_workloads_name_is_told() {
        let object = Object::from_value(json!({"metadata": {"name": "a.b"}})).unwrap();
        let warnings = of_new_workload(&object, &["spec", "template"]);
        assert!(warnings[0].ends_with("a DNS label is recommended: [must not contain dots]"), "{warnings:?}");
    }
}
