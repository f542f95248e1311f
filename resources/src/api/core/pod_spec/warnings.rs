//! Warnings about pods and pod templates that are valid.
//!
//! Kubernetes concept: `warningsForPodSpecAndMeta` in `pkg/api/pod`.

mod paths;

use std::collections::{HashMap, HashSet};

use registry_core::api::validation::names;
use registry_core::api::{FieldPath, Object};
use resource_views::core::v1::{
    Affinity, ContainerPort, EnvVar, NodeSelectorTerm, Pod, PodSpec, PodTemplateSpec, Volume,
};
use resource_views::meta::v1::{LabelSelector, ObjectMeta};
use resource_views::{List, Map, Quantity as Amount, Text, Typed as _, View};

use super::validation::annotations::{self, APPARMOR};
use super::validation::resources::has_fraction;
use super::validation::visit_containers;
use crate::api::core::node_selector;
use crate::api::core::pod_spec::validation::annotations::{SECCOMP, SECCOMP_OF_POD};
use crate::support::address;

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

/// The ends of warnings about annotations that precede fields.
const SECCOMP_FIELD: &str = "non-functional in v1.27+; use the \"seccompProfile\" field instead";
const APPARMOR_FIELD: &str = "deprecated since v1.30; use the \"appArmorProfile\" field instead";

/// Maximum number of compared pairs of ports. Clients receive far fewer warnings.
const MAX_PORT_COMPARISONS: usize = 10_000;

/// Returns warnings about a name that becomes part of host names but is no valid label.
pub(crate) fn name_warnings(object: &Object, used_in: &str) -> Vec<String> {
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
pub(crate) fn new_workload_warnings(object: &Object, template: &PodTemplateSpec<'_, '_>) -> Vec<String> {
    let mut warnings = name_warnings(object, "Pod names and hostnames");
    warnings.extend(template_warnings(template));
    warnings
}

/// Returns warnings about an updated workload: those about its template, if that changed.
pub(crate) fn changed_workload_warnings(
    new: &Object,
    old: &Object,
    template: &PodTemplateSpec<'_, '_>,
) -> Vec<String> {
    if new.generation() == old.generation() { Vec::new() } else { template_warnings(template) }
}

/// Warnings about a pod.
pub(crate) fn pod_warnings(pod: &Object) -> Vec<String> {
    Warnings::default().collect(&Pod(pod).metadata(), &Pod(pod).spec(), false)
}

/// Warnings about a template of pods.
pub(crate) fn template_warnings(template: &PodTemplateSpec<'_, '_>) -> Vec<String> {
    Warnings::default().collect(&template.metadata(), &template.spec(), true)
}

#[derive(Default)]
struct Warnings(Vec<String>);

impl Warnings {
    fn add(&mut self, path: &FieldPath, text: &str) {
        self.0.push(format!("{path}: {text}"));
    }

    fn collect(
        mut self,
        metadata: &ObjectMeta<'_, '_>,
        spec: &PodSpec<'_, '_>,
        is_template: bool,
    ) -> Vec<String> {
        self.node_labels(spec);
        let annotations = metadata.annotations();
        for (key, text) in OLD_ANNOTATIONS {
            if annotations.entry(key).exists() {
                self.add(&annotations.path().key(key), text);
            }
        }
        self.old_volumes(&spec.volumes());
        self.0.extend(paths::overlapping(&spec.volumes()));
        let mut seen = HashSet::new();
        for alias in spec.host_aliases().elements() {
            self.repeated(&mut seen, "ip", &alias.ip());
        }
        let mut seen = HashSet::new();
        for secret in spec.image_pull_secrets().elements() {
            self.repeated(&mut seen, "name", &secret.name());
        }
        for secret in spec.image_pull_secrets().elements() {
            if secret.name().text().is_empty() {
                self.add(&secret.name().path(), "invalid empty name \"\"");
            }
        }
        self.fractions(&spec.overhead());
        self.profiles(&annotations, spec, is_template);
        visit_containers(spec, |container| {
            self.fractions(&container.resources().limits());
            self.fractions(&container.resources().requests());
            self.environment(&container.env());
        });
        self.ports(spec);
        self.port_names(spec);
        let grace = spec.termination_grace_period_seconds();
        if grace.integer().is_some_and(|seconds| seconds < 0) {
            self.add(&grace.path(), "must be >= 0; negative values are invalid and will be treated as 1");
        }
        self.pod_affinity(&spec.affinity());
        for nameserver in spec.dns_config().nameservers().elements() {
            self.0.extend(address::warning(&nameserver.path(), nameserver.text()));
        }
        for alias in spec.host_aliases().elements() {
            let address = alias.ip();
            self.0.extend(address::warning(&address.path(), address.text()));
        }
        self.0
    }

    /// Warns about volume types that do not work, and about parts of bytes in claims.
    fn old_volumes(&mut self, volumes: &List<Volume<'_, '_>>) {
        for volume in volumes.elements() {
            for (source, text) in old_sources(&volume) {
                if source.exists() {
                    self.add(&source.path(), text);
                }
            }
            let ephemeral = volume.ephemeral();
            let template = ephemeral.volume_claim_template();
            let spec = template.spec();
            self.fraction(&spec.resources().requests(), "storage");
            self.fraction(&spec.resources().limits(), "storage");
        }
    }

    /// Warns about terms that select no pod.
    fn pod_affinity(&mut self, affinity: &Affinity<'_, '_>) {
        for affinity in [affinity.pod_affinity(), affinity.pod_anti_affinity().into()] {
            for term in affinity.required_during_scheduling_ignored_during_execution().elements() {
                self.null_selector(&term.label_selector());
            }
            for weighted in affinity.preferred_during_scheduling_ignored_during_execution().elements() {
                self.null_selector(&weighted.pod_affinity_term().label_selector());
            }
        }
    }

    fn null_selector(&mut self, selector: &LabelSelector<'_, '_>) {
        if !selector.exists() {
            self.add(&selector.path(), "a null labelSelector results in matching no pod");
        }
    }

    fn node_labels(&mut self, spec: &PodSpec<'_, '_>) {
        for (key, label) in spec.node_selector().entries() {
            if let Some(text) = node_selector::deprecation(key) {
                self.add(&label.path(), text);
            }
        }
        let affinity = spec.affinity();
        let affinity = affinity.node_affinity();
        let required = affinity.required_during_scheduling_ignored_during_execution();
        for term in required.node_selector_terms().elements() {
            self.node_term(&term, false);
        }
        for preferred in affinity.preferred_during_scheduling_ignored_during_execution().elements() {
            self.node_term(&preferred.preference(), true);
        }
        for constraint in spec.topology_spread_constraints().elements() {
            let key = constraint.topology_key();
            if let Some(text) = node_selector::deprecation(key.text()) {
                self.add(&key.path(), &format!("{} is {text}", key.text()));
            }
            self.null_selector(&constraint.label_selector());
        }
    }

    fn node_term(&mut self, term: &NodeSelectorTerm<'_, '_>, checks_values: bool) {
        for expression in term.match_expressions().elements() {
            let key = expression.key();
            if let Some(text) = node_selector::deprecation(key.text()) {
                self.add(&key.path(), &format!("{} is {text}", key.text()));
            }
            for value in expression.values().elements().filter(|_| checks_values) {
                for complaint in names::label_value(value.text()) {
                    self.add(&value.path(), &format!("{} is invalid, {complaint}", value.text()));
                }
            }
        }
    }

    fn repeated<'v>(&mut self, seen: &mut HashSet<&'v str>, field: &str, value: &Text<'v, '_>) {
        if !seen.insert(value.text()) {
            self.add(&value.path(), &format!("duplicate {field} {:?}", value.text()));
        }
    }

    /// Warns about fractions of bytes.
    fn fractions(&mut self, amounts: &Map<Amount<'_, '_>>) {
        for resource in ["memory", "ephemeral-storage"] {
            self.fraction(amounts, resource);
        }
    }

    fn fraction(&mut self, amounts: &Map<Amount<'_, '_>>, resource: &str) {
        let amount = amounts.entry(resource);
        if let Some(quantity) = amount.quantity().filter(has_fraction) {
            let text = format!("fractional byte value \"{quantity}\" is invalid, must be an integer");
            self.add(&amount.path(), &text);
        }
    }

    /// Warns about annotations that select a profile where no field does.
    fn profiles(&mut self, annotations: &Map<Text<'_, '_>>, spec: &PodSpec<'_, '_>, is_template: bool) {
        let mut warn = |key: &str, text: &str| {
            if annotations.entry(key).exists() {
                self.add(&annotations.path().key(key), text);
            }
        };
        let of_pod = spec.security_context();
        if !of_pod.seccomp_profile().exists() {
            warn(SECCOMP_OF_POD, SECCOMP_FIELD);
        }
        visit_containers(spec, |container| {
            let name = container.name().text();
            let context = container.security_context();
            if !context.seccomp_profile().exists() {
                warn(&format!("{SECCOMP}{name}"), SECCOMP_FIELD);
            }
            let key = format!("{APPARMOR}{name}");
            let annotation = annotations.entry(&key);
            if is_template && annotation.exists() && !context.app_armor_profile().exists() {
                let of_pod = of_pod.app_armor_profile();
                let is_same =
                    of_pod.exists() && annotations::profile_of(annotation.text()).as_ref() == of_pod.value();
                if !is_same {
                    warn(&key, APPARMOR_FIELD);
                }
            }
        });
    }

    /// Warns about variables that are set twice, unless the second refers to the first.
    fn environment(&mut self, variables: &List<EnvVar<'_, '_>>) {
        let mut seen = HashSet::new();
        for variable in variables.elements() {
            let name = variable.name().text();
            let value = variable.value().text();
            if seen.insert(name) {
                continue;
            }
            let reference = format!("$({name})");
            if variable.value_from().exists() || value == reference || !value.contains(&reference) {
                let text =
                    format!("hides previous definition of {name:?}, which may be dropped when using apply");
                self.add(&variable.path(), &text);
            }
        }
    }

    /// Warns about an address of the host without a port there.
    fn lone_address(&mut self, port: &ContainerPort<'_, '_>) {
        let address = port.host_ip().text();
        if address.is_empty() || port.host_port().number() != 0 {
            return;
        }
        let text = format!(
            "hostIP set without hostPort: {{Name:{} HostPort:0 ContainerPort:{} Protocol:{} HostIP:{address}}}",
            port.name().text(),
            port.container_port().number(),
            port.protocol().text(),
        );
        self.add(&port.path(), &text);
    }

    /// Warns about names that several ports have.
    fn port_names(&mut self, spec: &PodSpec<'_, '_>) {
        let mut seen: HashMap<&str, FieldPath> = HashMap::new();
        visit_containers(spec, |container| {
            for port in container.ports().elements() {
                let name = port.name().text();
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
        });
    }

    fn ports(&mut self, spec: &PodSpec<'_, '_>) {
        struct Port<'a> {
            number: (Option<i64>, &'a str),
            host: (i64, &'a str),
            path: FieldPath,
        }
        let mut seen: HashMap<_, Vec<Port<'_>>> = HashMap::new();
        let mut comparisons_left = MAX_PORT_COMPARISONS;
        let mut is_stopped = false;
        visit_containers(spec, |container| {
            for port in container.ports().elements() {
                if is_stopped {
                    return;
                }
                self.lone_address(&port);
                let this = Port {
                    number: (port.container_port().integer(), port.protocol().text()),
                    host: (port.host_port().number(), port.host_ip().text()),
                    path: port.path(),
                };
                let same_number = seen.entry(this.number).or_default();
                for other in same_number.iter() {
                    is_stopped = comparisons_left == 0;
                    if is_stopped {
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
        });
    }
}

/// Returns the sources of a volume that are deprecated or were removed.
fn old_sources<'v, 'p>(volume: &'p Volume<'v, 'p>) -> [(View<'v, 'p>, &'static str); 9] {
    [
        (*volume.photon_persistent_disk(), "deprecated in v1.11, non-functional in v1.16+"),
        (*volume.git_repo(), "deprecated in v1.11, and disabled by default in v1.33+"),
        (*volume.scale_io(), "deprecated in v1.16, non-functional in v1.22+"),
        (*volume.flocker(), "deprecated in v1.22, non-functional in v1.25+"),
        (*volume.storageos().shown_as("storageOS"), "deprecated in v1.22, non-functional in v1.25+"),
        (*volume.quobyte(), "deprecated in v1.22, non-functional in v1.25+"),
        (*volume.glusterfs(), "deprecated in v1.25, non-functional in v1.26+"),
        (*volume.cephfs(), "deprecated in v1.28, non-functional in v1.31+"),
        (*volume.rbd(), "deprecated in v1.28, non-functional in v1.31+"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use resource_views::core::v1::PodTemplate;
    use serde_json::{Value, json};

    fn spec_warnings(name: &str, spec: &Value) -> Vec<String> {
        pod_warnings(&Object::from_value(json!({"metadata": {"name": name}, "spec": spec})).unwrap())
    }

    #[test]
    fn hidden_and_overlapping_values_are_told() {
        let environment = |second: &str| {
            spec_warnings(
                "p",
                &json!({"containers": [{"env": [{"name": "A", "value": "1"}, {"name": "A", "value": second}]}]}),
            )
        };
        let hides = "spec.containers[0].env[1]: hides previous definition of \"A\", which may be dropped when using apply";
        assert_eq!(environment("2"), [hides]);
        assert!(environment("$(A)2").is_empty());
        let memory = json!({"containers": [{"resources": {"requests": {"memory": "100m"}, "limits": {"memory": "1Gi"}}}]});
        assert_eq!(
            spec_warnings("p", &memory),
            [
                "spec.containers[0].resources.requests[memory]: fractional byte value \"100m\" is invalid, must be an integer"
            ]
        );
        let port = json!({"containerPort": 80, "protocol": "TCP"});
        assert_eq!(
            spec_warnings("p", &json!({"containers": [{"ports": [port]}, {"ports": [port]}]})),
            ["spec.containers[1].ports[0]: duplicate port definition with spec.containers[0].ports[0]"]
        );
        assert_eq!(
            spec_warnings("p", &json!({"nodeSelector": {"beta.kubernetes.io/os": "linux"}})),
            [
                "spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use \"kubernetes.io/os\" instead"
            ]
        );
    }

    #[test]
    fn a_dot_in_a_workloads_name_is_told() {
        let object = Object::from_value(json!({"metadata": {"name": "a.b"}})).unwrap();
        let warnings = new_workload_warnings(&object, &PodTemplate(&object).template());
        assert!(warnings[0].ends_with("a DNS label is recommended: [must not contain dots]"), "{warnings:?}");
    }
}
