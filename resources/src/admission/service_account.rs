//! `ServiceAccount`: assigns every pod a service account of its namespace, and mounts the account's token.

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::admission::{AdmissionPlugin, Attributes, MutatingAdmission, Operation};
use registry_core::api::{Object, StatusError};
use registry_core::registry::InstalledApi;
use registry_core::registry::store::generate_name;
use registry_core::resource::Resource;
use serde_json::{Value, json};

use super::concerns;
use crate::core::pods::Pods;
use crate::core::serviceaccounts::ServiceAccounts;
use crate::support::lookup::Lookup;

/// The directory where programs look for the token.
const TOKEN_DIRECTORY: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// One hour, and a few seconds that distinguish mounted tokens from requested ones.
const TOKEN_SECONDS: i64 = 3607;
/// Marks a pod that a kubelet created from a static file; it has no service account.
const MIRROR_ANNOTATION: &str = "kubernetes.io/config.mirror";

/// The plug-in.
pub(super) struct ServiceAccountAdmission {
    accounts: Lookup,
}

impl ServiceAccountAdmission {
    /// Creates the plug-in over the installed accounts; `None` if they are not served.
    pub(super) fn new(installed: &InstalledApi) -> Option<Self> {
        Some(Self { accounts: Lookup::of::<ServiceAccounts>(installed)? })
    }
}

impl AdmissionPlugin for ServiceAccountAdmission {
    fn name(&self) -> &'static str {
        "ServiceAccount"
    }
}

#[async_trait]
impl MutatingAdmission for ServiceAccountAdmission {
    async fn admit(
        &self,
        context: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&mut Object>,
        _old: Option<&Object>,
    ) -> Result<(), StatusError> {
        let Some(pod) = object else { return Ok(()) };
        let is_mirror = pod.annotations().any(|(key, _)| key == MIRROR_ANNOTATION);
        if !concerns::<Pods>(attributes, &[Operation::Create]) || is_mirror {
            return Ok(());
        }
        let given = pod.get_str(&["spec", "serviceAccountName"]).filter(|name| !name.is_empty());
        let name = given.unwrap_or("default").to_owned();
        // The field has two names.
        for field in ["serviceAccountName", "serviceAccount"] {
            pod.set(&["spec", field], name.as_str().into());
        }
        let namespace = context.namespace.as_str();
        let Some(account) = self.accounts.get(namespace, &name).await? else {
            let why = format!(
                "error looking up service account {namespace}/{name}: serviceaccount \"{name}\" not found"
            );
            return Err(StatusError::forbidden(Pods::TYPE.group_resource(), attributes.name, why));
        };
        if mounts_token(pod, &account) {
            mount_token(pod);
        }
        let secrets = account.0.get("imagePullSecrets").and_then(Value::as_array);
        let own = pod.get(&["spec", "imagePullSecrets"]).and_then(Value::as_array);
        if let (Some(secrets), true) = (secrets, own.is_none_or(Vec::is_empty)) {
            pod.set(&["spec", "imagePullSecrets"], secrets.clone().into());
        }
        Ok(())
    }
}

/// Whether the token is mounted. The pod's setting precedes the account's; the default is true.
fn mounts_token(pod: &Object, account: &Object) -> bool {
    let own = pod.get(&["spec", "automountServiceAccountToken"]).and_then(Value::as_bool);
    let of_account = account.0.get("automountServiceAccountToken").and_then(Value::as_bool);
    own.or(of_account).unwrap_or(true)
}

/// Mounts a volume with the token into every container that mounts nothing else there.
fn mount_token(pod: &mut Object) {
    let volume = generate_name("kube-api-access-");
    let mount = json!({"name": volume, "readOnly": true, "mountPath": TOKEN_DIRECTORY});
    let mut needed = false;
    let Some(Value::Object(spec)) = pod.0.get_mut("spec") else { return };
    for list in ["initContainers", "containers"] {
        let containers = spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
        for container in containers.filter_map(Value::as_object_mut) {
            let Value::Array(mounts) = container.entry("volumeMounts").or_insert_with(|| json!([])) else {
                continue;
            };
            let path =
                |mount: &Value| mount.get("mountPath").and_then(Value::as_str) == Some(TOKEN_DIRECTORY);
            if !mounts.iter().any(path) {
                mounts.push(mount.clone());
                needed = true;
            }
        }
    }
    if let (true, Value::Array(volumes)) = (needed, spec.entry("volumes").or_insert_with(|| json!([]))) {
        volumes.push(token_volume(&volume));
    }
}

fn token_volume(name: &str) -> Value {
    json!({"name": name, "projected": {"defaultMode": 0o644, "sources": [
        {"serviceAccountToken": {"expirationSeconds": TOKEN_SECONDS, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [
            {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}},
        ]}},
    ]}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_is_mounted_where_nothing_else_is() {
        let mut pod = Object::from_value(json!({"spec": {"containers": [
            {"name": "plain"},
            {"name": "own", "volumeMounts": [{"name": "x", "mountPath": TOKEN_DIRECTORY}]},
        ]}}))
        .unwrap();
        mount_token(&mut pod);
        let mounts = |index: usize| pod.get(&["spec", "containers"]).unwrap()[index]["volumeMounts"].clone();
        let volume = pod.get(&["spec", "volumes"]).unwrap()[0]["name"].clone();
        assert!(volume.as_str().unwrap().starts_with("kube-api-access-"));
        assert_eq!(mounts(0)[0]["name"], volume);
        assert_eq!(mounts(1).as_array().unwrap().len(), 1);
    }
}
