//! The references of pods to other objects of the API.
//!
//! Kubernetes concept: `VisitPodSecretNames` and `HasAPIObjectReference` in `pkg/api/pod`.

use registry_core::api::Object;
use resource_views::core::v1::{Container, Pod, PodSpec, Volume, VolumeProjection};
use resource_views::{Text, View};

use crate::api::core::pod_spec::validation::visit_containers;

/// Whether a pod names any secret.
pub(in crate::admission) fn names_secret(pod: &Object) -> bool {
    let in_container = |container: &Container<'_, '_>| {
        let (sources, variables) = (container.env_from(), container.env());
        sources.elements().any(|source| is_set(&source.secret_ref().name()))
            || variables.elements().any(|variable| is_set(&variable.value_from().secret_key_ref().name()))
    };
    let in_volume = |volume: &Volume<'_, '_>| {
        is_set(&volume.azure_file().secret_name())
            || is_set(&volume.cephfs().secret_ref().name())
            || is_set(&volume.cinder().secret_ref().name())
            || is_set(&volume.flex_volume().secret_ref().name())
            || is_set(&volume.rbd().secret_ref().name())
            || is_set(&volume.secret().secret_name())
            || is_set(&volume.scale_io().secret_ref().name())
            || is_set(&volume.iscsi().secret_ref().name())
            || is_set(&volume.storageos().secret_ref().name())
            || is_set(&volume.csi().node_publish_secret_ref().name())
            || volume.projected().sources().elements().any(|source| is_set(&source.secret().name()))
    };
    let spec = Pod(pod).spec();
    spec.image_pull_secrets().elements().any(|secret| is_set(&secret.name()))
        || has_container(&spec, in_container)
        || spec.volumes().elements().any(|volume| in_volume(&volume))
}

/// Whether a pod names any config map.
fn names_config_map(spec: &PodSpec<'_, '_>) -> bool {
    let in_container = |container: &Container<'_, '_>| {
        let (sources, variables) = (container.env_from(), container.env());
        sources.elements().any(|source| is_set(&source.config_map_ref().name()))
            || variables.elements().any(|variable| is_set(&variable.value_from().config_map_key_ref().name()))
    };
    let in_volume = |volume: &Volume<'_, '_>| {
        is_set(&volume.config_map().name())
            || volume.projected().sources().elements().any(|source| is_set(&source.config_map().name()))
    };
    has_container(spec, in_container) || spec.volumes().elements().any(|volume| in_volume(&volume))
}

fn is_set(name: &Text<'_, '_>) -> bool {
    !name.text().is_empty()
}

fn has_container(spec: &PodSpec<'_, '_>, test: impl Fn(&Container<'_, '_>) -> bool) -> bool {
    let mut found = false;
    visit_containers(spec, |container| found |= test(container));
    found
}

/// Error of a volume of which it is not known whether it needs an object. The texts are Kubernetes'.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::admission) enum UnknownReference {
    #[error("unknown volume type for volume  {0:?}")]
    Volume(String),
    #[error("unknown source for projected volume {0:?}")]
    Source(String),
}

/// Returns the resource that a pod needs from the API, if any.
///
/// # Errors
/// The pod has a volume of an unknown kind, which may need anything.
pub(in crate::admission) fn needed_resource(pod: &Object) -> Result<Option<&'static str>, UnknownReference> {
    let spec = Pod(pod).spec();
    if is_set(&spec.service_account_name()) {
        return Ok(Some("serviceaccounts"));
    }
    if names_secret(pod) {
        return Ok(Some("secrets"));
    }
    if names_config_map(&spec) {
        return Ok(Some("configmaps"));
    }
    if !spec.resource_claims().is_empty() {
        return Ok(Some("resourceclaims"));
    }
    for volume in spec.volumes().elements() {
        if needs_nothing(&volume) {
            continue;
        }
        if let Some(needed) = needed_by_volume(&volume) {
            return Ok(Some(needed));
        }
        if !volume.projected().exists() {
            return Err(UnknownReference::Volume(volume.name().text().to_owned()));
        }
        for source in volume.projected().sources().elements() {
            if let Some(needed) = needed_by_source(&source) {
                return Ok(Some(needed));
            }
            if !source.downward_api().exists() {
                return Err(UnknownReference::Source(volume.name().text().to_owned()));
            }
        }
    }
    Ok(None)
}

/// Whether a volume is of a kind that needs nothing from the API.
fn needs_nothing(volume: &Volume<'_, '_>) -> bool {
    let plain = [
        *volume.aws_elastic_block_store(),
        *volume.azure_disk(),
        *volume.cephfs(),
        *volume.cinder(),
        *volume.downward_api(),
        *volume.empty_dir(),
        *volume.fc(),
        *volume.flex_volume(),
        *volume.flocker(),
        *volume.gce_persistent_disk(),
        *volume.git_repo(),
        *volume.host_path(),
        *volume.image(),
        *volume.iscsi(),
        *volume.nfs(),
        *volume.photon_persistent_disk(),
        *volume.portworx_volume(),
        *volume.quobyte(),
        *volume.rbd(),
        *volume.scale_io(),
        *volume.storageos(),
        *volume.vsphere_volume(),
    ];
    plain.iter().any(View::exists)
}

/// Returns what a volume needs from the API, if it is of a kind that needs something.
fn needed_by_volume(volume: &Volume<'_, '_>) -> Option<&'static str> {
    first([
        (*volume.config_map(), "configmaps (via configmap volumes)"),
        (*volume.secret(), "secrets (via secret volumes)"),
        (*volume.csi(), "csidrivers (via CSI volumes)"),
        (*volume.glusterfs(), "endpoints (via glusterFS volumes)"),
        (*volume.persistent_volume_claim(), "persistentvolumeclaims"),
        (*volume.ephemeral(), "persistentvolumeclaims (via ephemeral volumes)"),
        (*volume.azure_file(), "secrets (via azureFile volumes)"),
    ])
}

/// Returns what a source of a projected volume needs from the API, if it is of a kind that needs something.
fn needed_by_source(source: &VolumeProjection<'_, '_>) -> Option<&'static str> {
    first([
        (*source.config_map(), "configmaps (via projected volumes)"),
        (*source.secret(), "secrets (via projected volumes)"),
        (*source.service_account_token(), "serviceaccounts (via projected volumes)"),
        (*source.cluster_trust_bundle(), "clustertrustbundles"),
        (*source.pod_certificate(), "podcertificates"),
    ])
}

fn first<const N: usize>(needs: [(View<'_, '_>, &'static str); N]) -> Option<&'static str> {
    needs.iter().find(|(source, _)| source.exists()).map(|(_, needed)| *needed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

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
