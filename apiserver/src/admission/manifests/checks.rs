//! The rules of objects in files, beside those of the API: their names are reserved, and they refer to nothing that requests
//! change.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use registry_core::api::Object;
use resources::api::admissionregistration::RESERVED_ENDING;
use serde_json::Value;

use super::error::{InvalidManifest, ManifestsError};

/// The names of the objects of one kind, with their files.
#[derive(Default)]
pub(super) struct SeenNames(HashMap<String, PathBuf>);

// === impl SeenNames ===

impl SeenNames {
    /// Checks the name of another object.
    pub(super) fn check(&mut self, name: &str, path: &Path) -> Result<(), InvalidManifest> {
        if !name.ends_with(RESERVED_ENDING) {
            return Err(InvalidManifest::UnreservedName(name.to_owned()));
        }
        match self.0.insert(name.to_owned(), path.to_owned()) {
            Some(before) => Err(InvalidManifest::DuplicateName { name: name.to_owned(), before }),
            None => Ok(()),
        }
    }
}

/// Checks that an object of a kind refers to nothing in the API.
pub(super) fn check(kind: &'static str, object: &Object) -> Result<(), InvalidManifest> {
    let name = || object.name().to_owned();
    for (field, path) in [("spec.paramKind", ["spec", "paramKind"]), ("spec.paramRef", ["spec", "paramRef"])]
    {
        if object.get(&path).is_some_and(Value::is_object) {
            return Err(InvalidManifest::Reference { kind, name: name(), field });
        }
    }
    if let Some(policy) = policy_name(object)
        && !policy.ends_with(RESERVED_ENDING)
    {
        return Err(InvalidManifest::UnreservedPolicy { name: name(), policy: policy.to_owned() });
    }
    for webhook in object.get(&["webhooks"]).and_then(Value::as_array).into_iter().flatten() {
        let text = |pointer: &str| webhook.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let webhook_name = || text("/name").to_owned();
        if webhook.pointer("/clientConfig/service").is_some_and(Value::is_object) {
            return Err(InvalidManifest::Service { webhook: webhook_name(), name: name() });
        }
        if text("/clientConfig/url").is_empty() {
            return Err(InvalidManifest::NoUrl { webhook: webhook_name(), name: name() });
        }
    }
    Ok(())
}

/// Checks that the policies of all bindings exist.
pub(super) fn check_references(policies: &[Object], bindings: &[Object]) -> Result<(), ManifestsError> {
    let names: HashSet<&str> = policies.iter().map(Object::name).collect();
    for binding in bindings {
        let policy = policy_name(binding).unwrap_or_default();
        if !names.contains(policy) {
            let (binding, policy) = (binding.name().to_owned(), policy.to_owned());
            return Err(ManifestsError::NoPolicy { binding, policy });
        }
    }
    Ok(())
}

fn policy_name(binding: &Object) -> Option<&str> {
    binding.get_str(&["spec", "policyName"])
}
