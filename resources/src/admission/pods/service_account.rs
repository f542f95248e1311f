//! `ServiceAccount`: assigns every pod a service account of its namespace, and mounts the account's token.

mod secrets;

use std::time::Duration;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::admission::{
    Attributes, MutatingAdmission, ObjectWrite, ObjectWriteMut, Operation, ValidatingAdmission,
};
use registry_core::api::{Object, StatusError};
use registry_core::registry::InstalledApi;
use registry_core::registry::store::generate_name;
use registry_core::resource::Resource;
use resource_views::core::v1::{ContainerMut, Pod, PodMut, ServiceAccount};
use serde_json::{Value, json};

use super::references;
use crate::admission::refusal::forbidden;
use crate::api::core::pod_spec::validation::annotations::is_mirror;
use crate::api::core::pods::Pods;
use crate::api::core::serviceaccounts::ServiceAccounts;
use crate::support::lookup::Lookup;

/// The directory where programs look for the token.
const TOKEN_DIRECTORY: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// One hour, and a few seconds that distinguish mounted tokens from requested ones.
const TOKEN_SECONDS: i64 = 3607;
/// The account of pods that name none.
const DEFAULT: &str = "default";
/// Number of times that the default account is looked for.
const DEFAULT_ATTEMPTS: u32 = 10;
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(100);
/// The names of the volumes with tokens begin with this.
const VOLUME_PREFIX: &str = "kube-api-access-";

/// The plug-in.
pub(super) struct ServiceAccountAdmission {
    accounts: Lookup,
}

impl ServiceAccountAdmission {
    /// Creates the plug-in over the installed accounts; `None` if they are not served.
    pub(super) fn new(installed: &InstalledApi) -> Option<Self> {
        Some(Self { accounts: Lookup::for_resource::<ServiceAccounts>(installed)? })
    }

    /// Returns the account that a pod names. The default one is created soon after the namespace, and waited for.
    async fn account_of(
        &self,
        context: &RequestContext,
        attributes: &Attributes<'_>,
        pod: &Object,
    ) -> Result<Object, StatusError> {
        let namespace = context.namespace.as_str();
        let name = Pod(pod).spec().service_account_name().text();
        if name.is_empty() {
            let why = format!("no service account specified for pod {namespace}/{}", pod.name());
            return Err(forbidden(attributes, Some(pod), why));
        }
        let mut attempts = if name == DEFAULT { DEFAULT_ATTEMPTS } else { 1 };
        loop {
            if let Some(account) = self.accounts.get(namespace, name).await? {
                return Ok(account);
            }
            attempts -= 1;
            if attempts == 0 {
                let why = format!(
                    "error looking up service account {namespace}/{name}: serviceaccount \"{name}\" not found"
                );
                return Err(forbidden(attributes, Some(pod), why));
            }
            tokio::time::sleep(BETWEEN_ATTEMPTS).await;
        }
    }
}

#[async_trait]
impl MutatingAdmission for ServiceAccountAdmission {
    async fn admit(
        &self,
        context: &RequestContext,
        mut write: ObjectWriteMut<'_>,
    ) -> Result<(), StatusError> {
        let Some(pod) = write.object_of::<Pods>(&[Operation::Create]) else { return Ok(()) };
        if is_mirror(pod) {
            return check_mirror(write.attributes, pod);
        }
        let given = Pod(pod).spec().service_account_name().text();
        let name = if given.is_empty() { DEFAULT } else { given }.to_owned();
        // The field has two names.
        let mut spec = PodMut(pod).spec().or_new();
        spec.service_account_name().set(&name);
        spec.service_account().set(&name);
        let account = self.account_of(context, write.attributes, pod).await?;
        if mounts_token(pod, &account) {
            mount_token(pod);
        }
        let secrets = ServiceAccount(&account).image_pull_secrets();
        let mut spec = PodMut(pod).spec().or_new();
        if secrets.exists() && spec.image_pull_secrets().is_empty() {
            spec.image_pull_secrets().copy_from(&secrets);
        }
        secrets::check(write.attributes, pod, &account, secrets::Scope::Pod)
    }
}

#[async_trait]
impl ValidatingAdmission for ServiceAccountAdmission {
    async fn validate(&self, context: &RequestContext, write: ObjectWrite<'_>) -> Result<(), StatusError> {
        let Some(pod) = write.object else { return Ok(()) };
        let adds_ephemeral = write.attributes.resource.group_resource() == Pods::TYPE.group_resource()
            && write.attributes.subresource == "ephemeralcontainers"
            && write.attributes.operation == Operation::Update;
        if adds_ephemeral {
            let account = self.account_of(context, write.attributes, pod).await?;
            return secrets::check(write.attributes, pod, &account, secrets::Scope::EphemeralContainers);
        }
        if !write.attributes.are_of::<Pods>(&[Operation::Create]) {
            return Ok(());
        }
        if is_mirror(pod) {
            return check_mirror(write.attributes, pod);
        }
        let account = self.account_of(context, write.attributes, pod).await?;
        secrets::check(write.attributes, pod, &account, secrets::Scope::Pod)
    }
}

/// Checks a pod that a kubelet created from a static file: it exists before the API does, and depends on nothing in it.
fn check_mirror(attributes: &Attributes<'_>, pod: &Object) -> Result<(), StatusError> {
    let spec = Pod(pod).spec();
    let projects_token = || {
        spec.volumes().elements().any(|volume| {
            let projected = volume.projected();
            projected.sources().elements().any(|source| source.service_account_token().exists())
        })
    };
    let why = if !spec.service_account_name().text().is_empty() {
        "a mirror pod may not reference service accounts"
    } else if references::names_secret(pod) {
        "a mirror pod may not reference secrets"
    } else if projects_token() {
        "a mirror pod may not use ServiceAccountToken volume projections"
    } else {
        return Ok(());
    };
    Err(forbidden(attributes, Some(pod), why))
}

/// Whether the token is mounted. The pod's setting precedes the account's; the default is true.
fn mounts_token(pod: &Object, account: &Object) -> bool {
    let own = Pod(pod).spec().automount_service_account_token().truth();
    own.or(ServiceAccount(account).automount_service_account_token().truth()).unwrap_or(true)
}

/// Mounts a volume with the token into every container that mounts nothing else there. A volume that was made for it
/// before, as in a template that was read from a pod, is used again.
fn mount_token(pod: &mut Object) {
    let spec = Pod(pod).spec();
    let volumes = spec.volumes();
    let names: Vec<_> = volumes.elements().map(|volume| volume.name().text()).collect();
    let present = names.into_iter().find(|name| name.starts_with(VOLUME_PREFIX)).map(str::to_owned);
    let volume = present.clone().unwrap_or_else(|| generate_name(VOLUME_PREFIX));
    let mount = json!({"name": volume, "readOnly": true, "mountPath": TOKEN_DIRECTORY});
    let mut needed = false;
    let Some(mut spec) = PodMut(pod).spec().present() else { return };
    for container in spec.init_containers().elements() {
        needed |= add_mount(container, &mount);
    }
    for container in spec.containers().elements() {
        needed |= add_mount(container, &mount);
    }
    if needed && present.is_none() {
        spec.volumes().append(vec![token_volume(&volume)]);
    }
}

/// Adds a mount to a container that mounts nothing at its place; returns whether it was added.
fn add_mount(mut container: ContainerMut<'_>, mount: &Value) -> bool {
    let is_free =
        !container.volume_mounts().elements().any(|mut other| other.mount_path().is(TOKEN_DIRECTORY));
    if is_free {
        container.volume_mounts().append(vec![mount.clone()]);
    }
    is_free
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
mod tests;
