//! The secrets that pods may use, for accounts that are marked: only those that the account lists.

use std::collections::HashSet;

use registry_core::admission::Attributes;
use registry_core::api::{Object, StatusError};
use resource_views::List;
use resource_views::core::v1::{Container, Pod, PodSpec, ServiceAccount};

use crate::admission::refusal::{failed, forbidden};

/// Marks an account whose pods may use no other secrets.
const ENFORCED: &str = "kubernetes.io/enforce-mountable-secrets";

/// The part of a pod that is checked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// Volumes, containers, and the secrets for images.
    Pod,
    /// Containers that are added to a pod.
    EphemeralContainers,
}

/// Checks that a pod uses no secrets but those of its account, if the account is marked.
pub(super) fn check(
    attributes: &Attributes<'_>,
    pod: &Object,
    account: &Object,
    scope: Scope,
) -> Result<(), StatusError> {
    let mark = account.annotation(ENFORCED);
    if !matches!(mark, Some("1" | "t" | "T" | "true" | "TRUE" | "True")) {
        return Ok(());
    }
    let secrets = ServiceAccount(account).secrets();
    let mountable: Mountable<'_> =
        secrets.elements().filter_map(|secret| secret.name().optional_text()).collect();
    let spec = Pod(pod).spec();
    let in_containers = |containers: List<Container<'_, '_>>, word: &str| {
        containers.elements().find_map(|container| refused_in(&container, account, &mountable, word))
    };
    match scope {
        Scope::EphemeralContainers => {
            let refused = in_containers(spec.ephemeral_containers().seen_as(), "ephemeral container");
            refused.map_or(Ok(()), |why| Err(failed(why)))
        }
        Scope::Pod => {
            let refused = refused_in_volumes(&spec, account, &mountable)
                .or_else(|| in_containers(spec.init_containers(), "init container"))
                .or_else(|| in_containers(spec.containers(), "container"))
                .or_else(|| refused_image_pull_secrets(&spec, account));
            refused.map_or(Ok(()), |why| Err(forbidden(attributes, Some(pod), why)))
        }
    }
}

/// The names of the secrets that pods of an account may use.
type Mountable<'v> = HashSet<&'v str>;

fn refusal(what: &str, secret: &str, account: &Object) -> String {
    format!(
        "{what} secret.secretName={secret:?} is not allowed because service account {} does not reference that secret",
        account.name()
    )
}

fn refused_in_volumes(spec: &PodSpec<'_, '_>, account: &Object, mountable: &Mountable<'_>) -> Option<String> {
    let volumes = spec.volumes();
    let mut used = volumes.elements().filter_map(|volume| {
        let secret = volume.secret();
        secret.exists().then(|| secret.secret_name().text())
    });
    used.find(|name| !mountable.contains(name)).map(|name| refusal("volume with", name, account))
}

fn refused_in(
    container: &Container<'_, '_>,
    account: &Object,
    mountable: &Mountable<'_>,
    word: &str,
) -> Option<String> {
    let name = container.name().text();
    for variable in container.env().elements() {
        let secret = variable.value_from().secret_key_ref().name().optional_text();
        if let Some(secret) = secret.filter(|secret| !mountable.contains(secret)) {
            let what = format!("{word} {name} with envVar {} referencing", variable.name().text());
            return Some(refusal(&what, secret, account));
        }
    }
    let sources = container.env_from();
    let mut used = sources.elements().filter_map(|source| source.secret_ref().name().optional_text());
    let secret = used.find(|secret| !mountable.contains(secret))?;
    Some(refusal(&format!("{word} {name} with envFrom referencing"), secret, account))
}

fn refused_image_pull_secrets(spec: &PodSpec<'_, '_>, account: &Object) -> Option<String> {
    let secrets = ServiceAccount(account).image_pull_secrets();
    let allowed: HashSet<_> = secrets.elements().filter_map(|secret| secret.name().optional_text()).collect();
    let used = spec.image_pull_secrets();
    let mut used = used.elements().map(|secret| secret.name().text()).enumerate();
    let (index, name) = used.find(|(_, name)| !allowed.contains(name))?;
    Some(format!(
        "imagePullSecrets[{index}].name={name:?} is not allowed because service account {} does not reference that \
         imagePullSecret",
        account.name()
    ))
}
