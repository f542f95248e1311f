//! Warnings about pods and pod templates that are valid.
//!
//! Kubernetes concept: `warningsForPodSpecAndMeta` in `pkg/api/pod`.

mod paths;

use std::collections::{HashMap, HashSet};

use registry_core::api::validation::names;
use registry_core::api::{FieldPath, Object};

use super::totals;
use super::validation::annotations::{self, APPARMOR};
use super::validation::resources::has_fraction;
use crate::core::address;
use crate::support::field::Field;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

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

/// Deprecated and removed volume types: the field, and its name in warnings.
const OLD_VOLUMES: [(&str, &str, &str); 9] = [
    ("photonPersistentDisk", "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("gitRepo", "gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"),
];

/// Annotations that precede the field for seccomp profiles: for the pod, and (a prefix) for a container.
const SECCOMP_OF_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_OF_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";
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

fn old_label(label: &str) -> Option<&'static str> {
    OLD_NODE_LABELS.iter().find(|(key, _)| *key == label).map(|(_, text)| *text)
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
        self.old_volumes(&spec.get("volumes"));
        self.0.extend(paths::overlapping(&spec.get("volumes")));
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
        self.port_names(spec);
        let grace = spec.get("terminationGracePeriodSeconds");
        if grace.integer().is_some_and(|seconds| seconds < 0) {
            self.add(&grace.path(), "must be >= 0; negative values are invalid and will be treated as 1");
        }
        self.pod_affinity(&spec.get("affinity"));
        for nameserver in spec.get("dnsConfig").get("nameservers").elements() {
            self.0.extend(address::warning(&nameserver.path(), nameserver.text()));
        }
        for alias in spec.get("hostAliases").elements() {
            let address = alias.get("ip");
            self.0.extend(address::warning(&address.path(), address.text()));
        }
        self.0
    }

    /// Warns about volume types that do not work, and about parts of bytes in claims.
    fn old_volumes(&mut self, volumes: &Field<'_, '_>) {
        for volume in volumes.elements() {
            for (kind, reported, text) in OLD_VOLUMES {
                let source = volume.get(kind).called(reported);
                if source.exists() {
                    self.add(&source.path(), text);
                }
            }
            let ephemeral = volume.get("ephemeral");
            let template = ephemeral.get("volumeClaimTemplate");
            let spec = template.get("spec");
            let resources = spec.get("resources");
            for amounts in ["requests", "limits"] {
                self.fraction(&resources.get(amounts), "storage");
            }
        }
    }

    /// Warns about terms that select no pod.
    fn pod_affinity(&mut self, affinity: &Field<'_, '_>) {
        for kind in ["podAffinity", "podAntiAffinity"] {
            let affinity = affinity.get(kind);
            for term in affinity.get(REQUIRED).elements() {
                self.null_selector(&term.get("labelSelector"));
            }
            for weighted in affinity.get(PREFERRED).elements() {
                self.null_selector(&weighted.get("podAffinityTerm").get("labelSelector"));
            }
        }
    }

    fn null_selector(&mut self, selector: &Field<'_, '_>) {
        if !selector.exists() {
            self.add(&selector.path(), "a null labelSelector results in matching no pod");
        }
    }

    fn node_labels(&mut self, spec: &Field<'_, '_>) {
        for (key, label) in spec.get("nodeSelector").entries() {
            if let Some(text) = old_label(key) {
                self.add(&label.path(), text);
            }
        }
        let affinity = spec.get("affinity");
        let affinity = affinity.get("nodeAffinity");
        let required = affinity.get(REQUIRED);
        for term in required.get("nodeSelectorTerms").elements() {
            self.node_term(&term, false);
        }
        for preferred in affinity.get(PREFERRED).elements() {
            self.node_term(&preferred.get("preference"), true);
        }
        for constraint in spec.get("topologySpreadConstraints").elements() {
            let key = constraint.get("topologyKey");
            if let Some(text) = old_label(key.text()) {
                self.add(&key.path(), &format!("{} is {text}", key.text()));
            }
            self.null_selector(&constraint.get("labelSelector"));
        }
    }

    fn node_term(&mut self, term: &Field<'_, '_>, checks_values: bool) {
        for expression in term.get("matchExpressions").elements() {
            let key = expression.get("key");
            if let Some(text) = old_label(key.text()) {
                self.add(&key.path(), &format!("{} is {text}", key.text()));
            }
            for value in expression.get("values").elements().filter(|_| checks_values) {
                for complaint in names::label_value(value.text()) {
                    self.add(&value.path(), &format!("{} is invalid, {complaint}", value.text()));
                }
            }
        }
    }

    fn repeated(&mut self, list: &Field<'_, '_>, field: &str) {
        let mut seen = HashSet::new();
        for element in list.elements() {
            let value = element.get(field);
            if !seen.insert(value.text()) {
                self.add(&value.path(), &format!("duplicate {field} {:?}", value.text()));
            }
        }
    }

    /// Warns about fractions of bytes.
    fn fractions(&mut self, amounts: &Field<'_, '_>) {
        for resource in ["memory", "ephemeral-storage"] {
            self.fraction(amounts, resource);
        }
    }

    fn fraction(&mut self, amounts: &Field<'_, '_>, resource: &str) {
        let amount = amounts.get(resource);
        let quantity = amount.value().and_then(totals::parse);
        if let Some(quantity) = quantity.filter(has_fraction) {
            let text = format!("fractional byte value \"{quantity}\" is invalid, must be an integer");
            self.add(&amounts.path().key(resource), &text);
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
                let key = format!("{APPARMOR}{name}");
                let annotation = annotations.get(&key);
                if is_template && annotation.exists() && !chooses(&container, "appArmorProfile") {
                    let of_pod = spec.get("securityContext");
                    let of_pod = of_pod.get("appArmorProfile");
                    let is_same = of_pod.exists()
                        && annotations::profile_of(annotation.text()).as_ref() == of_pod.value();
                    if !is_same {
                        warn(&key, APPARMOR_FIELD);
                    }
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

    /// Warns about an address of the host without a port there.
    fn lone_address(&mut self, port: &Field<'_, '_>) {
        let address = port.get("hostIP").text();
        if address.is_empty() || port.get("hostPort").number() != 0 {
            return;
        }
        let text = format!(
            "hostIP set without hostPort: {{Name:{} HostPort:0 ContainerPort:{} Protocol:{} HostIP:{address}}}",
            port.get("name").text(),
            port.get("containerPort").number(),
            port.get("protocol").text(),
        );
        self.add(&port.path(), &text);
    }

    /// Warns about names that several ports have.
    fn port_names(&mut self, spec: &Field<'_, '_>) {
        let mut seen: HashMap<&str, FieldPath> = HashMap::new();
        for list in CONTAINER_LISTS {
            for container in spec.get(list).elements() {
                for port in container.get("ports").elements() {
                    let name = port.get("name").text();
                    if name.is_empty() {
                        continue;
                    }
                    match seen.get(name) {
                        Some(first) => self.0.push(format!(
                            "{}: duplicate port name {name:?} with {first}, services and probes that select ports by name will use {first}",
                            port.path()
                        )),
                        None => {
                            seen.insert(name, port.path());
                        }
                    }
                }
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
                    self.lone_address(&port);
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
    fn hidden_and_overlapping_values_are_told() {
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
