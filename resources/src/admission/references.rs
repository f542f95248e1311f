//! The references of pods to other objects of the API.
//!
//! Kubernetes concept: `VisitPodSecretNames` and `HasAPIObjectReference` in `pkg/api/pod`.

use registry_core::api::Object;
use serde_json::Value;

const CONTAINERS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// The references of volumes to secrets: the kind of volume, and the path of the name.
const SECRETS_OF_VOLUMES: [(&str, &str); 10] = [
    ("azureFile", "/secretName"),
    ("cephfs", "/secretRef/name"),
    ("cinder", "/secretRef/name"),
    ("flexVolume", "/secretRef/name"),
    ("rbd", "/secretRef/name"),
    ("secret", "/secretName"),
    ("scaleIO", "/secretRef/name"),
    ("iscsi", "/secretRef/name"),
    ("storageos", "/secretRef/name"),
    ("csi", "/nodePublishSecretRef/name"),
];

/// The kinds of volumes that need nothing from the API.
const PLAIN_VOLUMES: [&str; 22] = [
    "awsElasticBlockStore",
    "azureDisk",
    "cephfs",
    "cinder",
    "downwardAPI",
    "emptyDir",
    "fc",
    "flexVolume",
    "flocker",
    "gcePersistentDisk",
    "gitRepo",
    "hostPath",
    "image",
    "iscsi",
    "nfs",
    "photonPersistentDisk",
    "portworxVolume",
    "quobyte",
    "rbd",
    "scaleIO",
    "storageos",
    "vsphereVolume",
];

/// The kinds of volumes that do, and what they need.
const API_VOLUMES: [(&str, &str); 7] = [
    ("configMap", "configmaps (via configmap volumes)"),
    ("secret", "secrets (via secret volumes)"),
    ("csi", "csidrivers (via CSI volumes)"),
    ("glusterfs", "endpoints (via glusterFS volumes)"),
    ("persistentVolumeClaim", "persistentvolumeclaims"),
    ("ephemeral", "persistentvolumeclaims (via ephemeral volumes)"),
    ("azureFile", "secrets (via azureFile volumes)"),
];

/// The sources of projected volumes that do, and what they need.
const API_SOURCES: [(&str, &str); 5] = [
    ("configMap", "configmaps (via projected volumes)"),
    ("secret", "secrets (via projected volumes)"),
    ("serviceAccountToken", "serviceaccounts (via projected volumes)"),
    ("clusterTrustBundle", "clustertrustbundles"),
    ("podCertificate", "podcertificates"),
];

fn elements<'p>(pod: &'p Object, field: &str) -> impl Iterator<Item = &'p Value> {
    pod.get(&["spec", field]).and_then(Value::as_array).into_iter().flatten()
}

fn has(value: &Value, field: &str) -> bool {
    value.get(field).is_some_and(|value| !value.is_null())
}

fn names(value: &Value, pointer: &str) -> bool {
    value.pointer(pointer).and_then(Value::as_str).is_some_and(|name| !name.is_empty())
}

/// Whether a pod names any secret.
pub(super) fn names_secret(pod: &Object) -> bool {
    let of_volume = |volume: &Value| {
        SECRETS_OF_VOLUMES
            .iter()
            .any(|(kind, path)| volume.get(kind).is_some_and(|source| names(source, path)))
            || sources(volume).any(|source| names(source, "/secret/name"))
    };
    elements(pod, "imagePullSecrets").any(|secret| names(secret, "/name"))
        || in_containers(pod, "/secretRef/name", "/valueFrom/secretKeyRef/name")
        || elements(pod, "volumes").any(of_volume)
}

/// Whether a pod names any config map.
fn names_config_map(pod: &Object) -> bool {
    let of_volume = |volume: &Value| {
        names(volume, "/configMap/name") || sources(volume).any(|source| names(source, "/configMap/name"))
    };
    in_containers(pod, "/configMapRef/name", "/valueFrom/configMapKeyRef/name")
        || elements(pod, "volumes").any(of_volume)
}

/// Whether the environment of a container has a name at one of these paths.
fn in_containers(pod: &Object, from: &str, variable: &str) -> bool {
    let entries = |container: &'_ Value, field: &str, path: &str| {
        container.get(field).and_then(Value::as_array).into_iter().flatten().any(|entry| names(entry, path))
    };
    CONTAINERS.iter().any(|list| {
        elements(pod, list)
            .any(|container| entries(container, "envFrom", from) || entries(container, "env", variable))
    })
}

fn sources(volume: &Value) -> impl Iterator<Item = &Value> {
    volume.pointer("/projected/sources").and_then(Value::as_array).into_iter().flatten()
}

/// Error of a volume of which it is not known whether it needs an object. The texts are Kubernetes'.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum UnknownReference {
    #[error("unknown volume type for volume  {0:?}")]
    Volume(String),
    #[error("unknown source for projected volume {0:?}")]
    Source(String),
}

/// Returns the resource that a pod needs from the API, if any.
///
/// # Errors
/// The pod has a volume of an unknown kind, which may need anything.
pub(super) fn needed_resource(pod: &Object) -> Result<Option<&'static str>, UnknownReference> {
    if pod.get_str(&["spec", "serviceAccountName"]).is_some_and(|name| !name.is_empty()) {
        return Ok(Some("serviceaccounts"));
    }
    if names_secret(pod) {
        return Ok(Some("secrets"));
    }
    if names_config_map(pod) {
        return Ok(Some("configmaps"));
    }
    if elements(pod, "resourceClaims").next().is_some() {
        return Ok(Some("resourceclaims"));
    }
    for volume in elements(pod, "volumes") {
        let name = volume.get("name").and_then(Value::as_str).unwrap_or_default();
        if PLAIN_VOLUMES.iter().any(|kind| has(volume, kind)) {
            continue;
        }
        if let Some((_, needed)) = API_VOLUMES.iter().find(|(kind, _)| has(volume, kind)) {
            return Ok(Some(needed));
        }
        if !has(volume, "projected") {
            return Err(UnknownReference::Volume(name.to_owned()));
        }
        for source in sources(volume) {
            if let Some((_, needed)) = API_SOURCES.iter().find(|(kind, _)| has(source, kind)) {
                return Ok(Some(needed));
            }
            if !has(source, "downwardAPI") {
                return Err(UnknownReference::Source(name.to_owned()));
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_need_is_found() {
        let needed = |spec: Value| needed_resource(&Object::from_value(json!({"spec": spec})).unwrap());
        let volume = |source: Value| json!({"volumes": [source]});
        assert_eq!(needed(json!({})), Ok(None));
        assert_eq!(needed(volume(json!({"hostPath": {"path": "/"}}))), Ok(None));
        assert_eq!(needed(volume(json!({"projected": {"sources": [{"downwardAPI": {}}]}}))), Ok(None));
        let table = [
            (json!({"serviceAccountName": "a"}), "serviceaccounts"),
            (json!({"imagePullSecrets": [{"name": "a"}]}), "secrets"),
            (volume(json!({"csi": {"nodePublishSecretRef": {"name": "a"}}})), "secrets"),
            (json!({"containers": [{"envFrom": [{"configMapRef": {"name": "a"}}]}]}), "configmaps"),
            (json!({"resourceClaims": [{}]}), "resourceclaims"),
            (volume(json!({"csi": {"driver": "a"}})), "csidrivers (via CSI volumes)"),
            (volume(json!({"ephemeral": {}})), "persistentvolumeclaims (via ephemeral volumes)"),
            (
                volume(json!({"projected": {"sources": [{"serviceAccountToken": {}}]}})),
                "serviceaccounts (via projected volumes)",
            ),
        ];
        for (spec, resource) in table {
            assert_eq!(needed(spec), Ok(Some(resource)));
        }
        assert!(needed(volume(json!({"name": "v", "zork": {}}))).is_err());
        assert!(needed(volume(json!({"projected": {"sources": [{"zork": {}}]}}))).is_err());
    }
}
