//! The secrets that pods may use, for accounts that are marked: only those that the account lists.

use std::collections::HashSet;

use registry_core::admission::Attributes;
use registry_core::api::{Object, StatusError};
use serde_json::Value;

use super::super::refusal::{failed, forbidden};

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
    let mark = account.annotations().find(|(key, _)| *key == ENFORCED).map(|(_, value)| value);
    if !matches!(mark, Some("1" | "t" | "T" | "true" | "TRUE" | "True")) {
        return Ok(());
    }
    let mountable = names(account.0.get("secrets"));
    match scope {
        Scope::EphemeralContainers => {
            let refused =
                refused_in_containers(pod, account, &mountable, "ephemeralContainers", "ephemeral container");
            refused.map_or(Ok(()), |why| Err(failed(why)))
        }
        Scope::Pod => {
            let refused = refused_in_volumes(pod, account, &mountable)
                .or_else(|| {
                    refused_in_containers(pod, account, &mountable, "initContainers", "init container")
                })
                .or_else(|| refused_in_containers(pod, account, &mountable, "containers", "container"))
                .or_else(|| refused_image_pull_secrets(pod, account));
            refused.map_or(Ok(()), |why| Err(forbidden(attributes, Some(pod), why)))
        }
    }
}

fn names(list: Option<&Value>) -> HashSet<&str> {
    let entries = list.and_then(Value::as_array).into_iter().flatten();
    entries.filter_map(|entry| entry.get("name")?.as_str()).collect()
}

fn list<'p>(pod: &'p Object, field: &str) -> impl Iterator<Item = &'p Value> {
    pod.get(&["spec", field]).and_then(Value::as_array).into_iter().flatten()
}

fn refusal(what: &str, secret: &str, account: &Object) -> String {
    format!(
        "{what} secret.secretName={secret:?} is not allowed because service account {} does not reference that secret",
        account.name()
    )
}

fn refused_in_volumes(pod: &Object, account: &Object, mountable: &HashSet<&str>) -> Option<String> {
    let mut used = list(pod, "volumes")
        .filter_map(|volume| volume.get("secret").filter(|secret| !secret.is_null()))
        .map(|secret| secret.get("secretName").and_then(Value::as_str).unwrap_or_default());
    used.find(|name| !mountable.contains(name)).map(|name| refusal("volume with", name, account))
}

fn refused_in_containers(
    pod: &Object,
    account: &Object,
    mountable: &HashSet<&str>,
    field: &str,
    word: &str,
) -> Option<String> {
    list(pod, field).find_map(|container| {
        let name = container.get("name").and_then(Value::as_str).unwrap_or_default();
        let variables = container.get("env").and_then(Value::as_array).into_iter().flatten();
        let of_variables = variables.filter_map(|variable| {
            let secret = variable.pointer("/valueFrom/secretKeyRef/name")?.as_str()?;
            let own = variable.get("name").and_then(Value::as_str).unwrap_or_default();
            Some((format!("{word} {name} with envVar {own} referencing"), secret))
        });
        let sources = container.get("envFrom").and_then(Value::as_array).into_iter().flatten();
        let of_sources = sources.filter_map(|source| {
            let secret = source.pointer("/secretRef/name")?.as_str()?;
            Some((format!("{word} {name} with envFrom referencing"), secret))
        });
        let (what, secret) = of_variables.chain(of_sources).find(|(_, name)| !mountable.contains(name))?;
        Some(refusal(&what, secret, account))
    })
}

fn refused_image_pull_secrets(pod: &Object, account: &Object) -> Option<String> {
    let allowed = names(account.0.get("imagePullSecrets"));
    let used = list(pod, "imagePullSecrets")
        .map(|secret| secret.get("name").and_then(Value::as_str).unwrap_or_default());
    let (index, name) = used.enumerate().find(|(_, name)| !allowed.contains(name))?;
    Some(format!(
        "imagePullSecrets[{index}].name={name:?} is not allowed because service account {} does not reference that \
         imagePullSecret",
        account.name()
    ))
}
