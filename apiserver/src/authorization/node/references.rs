//! The objects that a pod or a volume refers to, as far as a kubelet needs them.

use registry_core::api::Object;
use registry_core::codec::json::PartPaths;
use serde_json::Value;

use super::graph::{BoundVolume, Kind, OnNode, Reference};

/// The annotation of pods that a kubelet mirrors to the API.
const MIRROR: &str = "kubernetes.io/config.mirror";
/// The lists of containers of a pod.
const CONTAINERS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];
/// The sources of a pod's volume whose `secretRef` names a secret of the pod's namespace.
const SOURCES_WITH_SECRET: [&str; 7] =
    ["cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos"];
/// The secrets of a CSI volume that a kubelet needs.
const CSI_SECRETS: [&str; 3] = ["nodePublishSecretRef", "nodeStageSecretRef", "nodeExpandSecretRef"];

/// The parts of a pod from which [`pod_references`] is made.
pub(super) const POD_PARTS: PartPaths = &[
    &["metadata", "name"],
    &["metadata", "namespace"],
    &["metadata", "annotations", MIRROR],
    &["spec", "nodeName"],
    &["spec", "serviceAccountName"],
    &["spec", "imagePullSecrets"],
    &["spec", "initContainers", "env"],
    &["spec", "initContainers", "envFrom"],
    &["spec", "containers", "env"],
    &["spec", "containers", "envFrom"],
    &["spec", "ephemeralContainers", "env"],
    &["spec", "ephemeralContainers", "envFrom"],
    &["spec", "volumes"],
    &["spec", "resourceClaims"],
    &["status", "extendedResourceClaimStatus"],
    &["status", "resourceClaimStatuses"],
];

/// Returns what a pod gives to its node, if it has one.
pub(super) fn pod_references(pod: &Object) -> Option<OnNode> {
    let node = pod.get_str(&["spec", "nodeName"]).filter(|node| !node.is_empty())?;
    let mut found = Found { namespace: pod.namespace(), references: Vec::new() };
    // A node must not be able to create a pod that gives it access to other objects.
    if pod.annotation(MIRROR).is_none() {
        found.add_pod(pod);
    }
    Some(OnNode { node: node.into(), references: found.references.into() })
}

/// Returns what an object gives to the node that a field names.
pub(super) fn node_field_references(object: &Object, path: &[&str]) -> Option<OnNode> {
    let node = object.get_str(path).filter(|node| !node.is_empty())?;
    Some(OnNode { node: node.into(), references: Box::default() })
}

/// Returns the claim and the secrets of a volume, if it has a claim.
pub(super) fn volume_references(volume: &Object) -> Option<BoundVolume> {
    let claim = volume.get(&["spec", "claimRef"]).filter(|claim| claim.is_object())?;
    let namespace = text(claim, "namespace");
    let claim = Reference::new(Kind::Claim, namespace, text(claim, "name"));
    let spec = volume.get(&["spec"])?;
    let mut secrets = Vec::new();
    let mut add = |own_namespace: &str, name: &str| {
        let namespace = if own_namespace.is_empty() { namespace } else { own_namespace };
        if !name.is_empty() {
            secrets.push(Reference::new(Kind::Secret, namespace, name));
        }
    };
    if let Some(file) = spec.get("azureFile") {
        add(text(file, "secretNamespace"), text(file, "secretName"));
    }
    for source in SOURCES_WITH_SECRET {
        if let Some(secret) = spec.get(source).and_then(|source| source.get("secretRef")) {
            add(text(secret, "namespace"), text(secret, "name"));
        }
    }
    for field in CSI_SECRETS {
        if let Some(secret) = spec.get("csi").and_then(|csi| csi.get(field)) {
            add(text(secret, "namespace"), text(secret, "name"));
        }
    }
    Some(BoundVolume { claim, secrets })
}

/// Collects the references of a pod.
struct Found<'a> {
    namespace: &'a str,
    references: Vec<Reference>,
}

// === impl Found ===

impl Found<'_> {
    fn add(&mut self, kind: Kind, name: &str) {
        if !name.is_empty() {
            self.references.push(Reference::new(kind, self.namespace, name));
        }
    }

    /// Adds the object that the field `name` of a value names.
    fn add_named(&mut self, kind: Kind, value: Option<&Value>) {
        self.add(kind, value.map_or("", |value| text(value, "name")));
    }

    fn add_pod(&mut self, pod: &Object) {
        let Some(spec) = pod.get(&["spec"]) else { return };
        self.add(Kind::ServiceAccount, text(spec, "serviceAccountName"));
        for secret in list(spec, "imagePullSecrets") {
            self.add(Kind::Secret, text(secret, "name"));
        }
        for container in CONTAINERS.iter().flat_map(|containers| list(spec, containers)) {
            self.add_container(container);
        }
        for volume in list(spec, "volumes") {
            self.add_volume(pod.name(), volume);
        }
        for claim in list(spec, "resourceClaims") {
            self.add_resource_claim(pod, claim);
        }
        let extended = pod.get_str(&["status", "extendedResourceClaimStatus", "resourceClaimName"]);
        self.add(Kind::ResourceClaim, extended.unwrap_or_default());
    }

    fn add_container(&mut self, container: &Value) {
        for source in list(container, "envFrom") {
            self.add_named(Kind::Secret, source.get("secretRef"));
            self.add_named(Kind::ConfigMap, source.get("configMapRef"));
        }
        for source in list(container, "env").filter_map(|variable| variable.get("valueFrom")) {
            self.add_named(Kind::Secret, source.get("secretKeyRef"));
            self.add_named(Kind::ConfigMap, source.get("configMapKeyRef"));
        }
    }

    fn add_volume(&mut self, pod: &str, volume: &Value) {
        let secret_name = |source: &str| volume.get(source).map_or("", |source| text(source, "secretName"));
        self.add(Kind::Secret, secret_name("secret"));
        self.add(Kind::Secret, secret_name("azureFile"));
        for source in SOURCES_WITH_SECRET {
            self.add_named(Kind::Secret, volume.get(source).and_then(|source| source.get("secretRef")));
        }
        self.add_named(Kind::Secret, volume.get("csi").and_then(|csi| csi.get("nodePublishSecretRef")));
        self.add_named(Kind::ConfigMap, volume.get("configMap"));
        for source in volume.get("projected").into_iter().flat_map(|projected| list(projected, "sources")) {
            self.add_named(Kind::Secret, source.get("secret"));
            self.add_named(Kind::ConfigMap, source.get("configMap"));
        }
        if let Some(claim) = volume.get("persistentVolumeClaim").filter(|claim| claim.is_object()) {
            self.add(Kind::Claim, text(claim, "claimName"));
        } else if volume.get("ephemeral").is_some_and(Value::is_object) {
            self.add(Kind::Claim, &format!("{pod}-{}", text(volume, "name")));
        }
    }

    /// Adds the claim that a pod names, or the one that was generated for it.
    fn add_resource_claim(&mut self, pod: &Object, claim: &Value) {
        let own = text(claim, "resourceClaimName");
        if !own.is_empty() {
            self.add(Kind::ResourceClaim, own);
            return;
        }
        let statuses = pod.get(&["status", "resourceClaimStatuses"]).and_then(Value::as_array);
        let is_same = |status: &&Value| text(status, "name") == text(claim, "name");
        let status = statuses.into_iter().flatten().find(is_same);
        self.add(Kind::ResourceClaim, status.map_or("", |status| text(status, "resourceClaimName")));
    }
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(value: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    value.get(field).and_then(Value::as_array).into_iter().flatten()
}
