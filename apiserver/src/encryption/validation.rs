//! Validation of a configuration, with Kubernetes' messages. No message contains a secret.
//!
//! Kubernetes concept: `ValidateEncryptionConfiguration` in `k8s.io/apiserver/pkg/apis/apiserver/validation`.

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use registry_core::api::{ErrorList, FieldError, FieldPath};
use serde_json::json;

use super::config::{
    EncryptionConfiguration, Key, KeysConfiguration, KmsConfiguration, ProviderConfiguration, parse_resource,
};

const AES_BYTES: &[usize] = &[16, 24, 32];
const SECRETBOX_BYTES: &[usize] = &[32];
/// Resources of the server itself, which no API has.
const INTERNAL: [&str; 3] = ["apiserveripinfo", "serviceipallocations", "servicenodeportallocations"];

/// Returns the errors of a configuration.
pub(super) fn validate(configuration: &EncryptionConfiguration) -> ErrorList {
    let root = FieldPath::new("resources");
    let mut errors = ErrorList::default();
    if configuration.resources.is_empty() {
        errors.push(FieldError::required(root, "at least one resources is required"));
        return errors;
    }
    let mut kms_names = HashSet::new();
    for (number, rule) in configuration.resources.iter().enumerate() {
        let resources = root.index(number).child("resources");
        let providers = root.index(number).child("providers");
        if rule.resources.is_empty() {
            errors.push(FieldError::required(
                resources.clone(),
                format!("at least one {resources} is required"),
            ));
        }
        overlaps(&rule.resources, &resources, &mut errors);
        names(&rule.resources, &resources, &mut errors);
        if rule.providers.is_empty() {
            errors.push(FieldError::required(
                providers.clone(),
                format!("at least one {providers} is required"),
            ));
        }
        for (number, configuration) in rule.providers.iter().enumerate() {
            provider(configuration, &providers.index(number), &mut kms_names, &mut errors);
        }
    }
    errors
}

fn provider<'c>(
    configuration: &'c ProviderConfiguration,
    path: &FieldPath,
    kms_names: &mut HashSet<&'c str>,
    errors: &mut ErrorList,
) {
    let set = [
        ("kms", configuration.kms.is_some()),
        ("aesgcm", configuration.aesgcm.is_some()),
        ("aescbc", configuration.aescbc.is_some()),
        ("secretbox", configuration.secretbox.is_some()),
        ("identity", configuration.identity.is_some()),
    ];
    let set: Vec<&str> = set.into_iter().filter(|(_, is_set)| *is_set).map(|(name, _)| name).collect();
    match set.len() {
        0 => {
            let detail = "provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, \
                          Identity";
            errors.push(FieldError::invalid(path.clone(), json!({}), detail));
        }
        1 => {}
        _ => {
            let detail = "more than one provider specified in a single element, should split into different list \
                          elements";
            errors.push(FieldError::invalid(path.clone(), json!(set), detail));
        }
    }
    let child = |name: &str| path.child(name).child("keys");
    if let Some(service) = &configuration.kms {
        kms(service, &path.child("kms"), kms_names, errors);
        kms_names.insert(&service.name);
    } else if let Some(configured) = &configuration.aesgcm {
        keys(configured, &child("aesgcm"), AES_BYTES, errors);
    } else if let Some(configured) = &configuration.aescbc {
        keys(configured, &child("aescbc"), AES_BYTES, errors);
    } else if let Some(configured) = &configuration.secretbox {
        keys(configured, &child("secretbox"), SECRETBOX_BYTES, errors);
    }
}

fn overlaps(resources: &[String], path: &FieldPath, errors: &mut ErrorList) {
    let parsed: Vec<_> = resources.iter().map(|text| parse_resource(text)).collect();
    let distinct: HashSet<_> = parsed.iter().copied().collect();
    if distinct.len() < parsed.len() {
        let detail = "the same resource cannot be specified multiple times";
        errors.push(FieldError::invalid(path.clone(), json!(resources), detail));
    }
    let masks = |(group, resource): (&str, &str)| {
        resource == "*"
            && distinct.iter().any(|other| *other != (group, resource) && (other.0 == group || group == "*"))
    };
    if distinct.iter().any(|entry| masks(*entry)) {
        let detail = "using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed \
                      as they will be masked";
        errors.push(FieldError::invalid(path.clone(), json!(resources), detail));
    }
}

fn names(resources: &[String], path: &FieldPath, errors: &mut ErrorList) {
    for (number, name) in resources.iter().enumerate() {
        let (group, resource) = parse_resource(name);
        let detail = if name.to_lowercase() != *name {
            "resource name should not contain capital letters"
        } else if name == "*" {
            "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources"
        } else if INTERNAL.contains(&name.as_str()) {
            "resources which do not have REST API/s cannot be encrypted"
        } else if group == "events.k8s.io" {
            "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead in the \
             config file"
        } else if group == "extensions" {
            "'extensions' group has been removed and cannot be used for encryption"
        } else if group == "*" && resource != "*" {
            "encrypting the same resource across groups is not supported"
        } else {
            continue;
        };
        errors.push(FieldError::invalid(path.index(number), name.as_str(), detail));
    }
}

fn keys(configuration: &KeysConfiguration, path: &FieldPath, lengths: &[usize], errors: &mut ErrorList) {
    if configuration.keys.is_empty() {
        errors.push(FieldError::required(path.clone(), "at least one keys is required"));
    }
    for (number, entry) in configuration.keys.iter().enumerate() {
        key(entry, &path.index(number), lengths, errors);
    }
}

fn key(key: &Key, path: &FieldPath, lengths: &[usize], errors: &mut ErrorList) {
    if key.name.is_empty() {
        errors.push(FieldError::required(path.child("name"), "name is a mandatory field for a key"));
    }
    let path = path.child("secret");
    if key.secret.is_empty() {
        errors.push(FieldError::required(path, "secret is a mandatory field for a key"));
        return;
    }
    let Ok(secret) = STANDARD.decode(&key.secret) else {
        errors.push(FieldError::invalid(path, "REDACTED", "secrets must be base64 encoded"));
        return;
    };
    if !lengths.contains(&secret.len()) {
        let expected: Vec<String> = lengths.iter().map(ToString::to_string).collect();
        let detail = format!(
            "secret is not of the expected length, got {}, expected one of [{}]",
            secret.len(),
            expected.join(" ")
        );
        errors.push(FieldError::invalid(path, "REDACTED", detail));
    }
}

fn kms(configuration: &KmsConfiguration, path: &FieldPath, names: &HashSet<&str>, errors: &mut ErrorList) {
    let name = path.child("name");
    if configuration.name.is_empty() {
        errors.push(FieldError::required(name.clone(), "name is a mandatory field for a provider"));
    }
    let is_first_version = configuration.api_version == "v1";
    if !is_first_version && configuration.name.contains(':') {
        let detail = format!("invalid KMS provider name {}, must not contain ':'", configuration.name);
        errors.push(FieldError::invalid(name.clone(), configuration.name.as_str(), detail));
    }
    if !is_first_version && names.contains(configuration.name.as_str()) {
        let detail = format!("duplicate KMS provider name {}, names must be unique", configuration.name);
        errors.push(FieldError::invalid(name, configuration.name.as_str(), detail));
    }
    if configuration.timeout.is_zero() {
        errors.push(FieldError::invalid(path.child("timeout"), "0s", "timeout should be a positive value"));
    }
    let endpoint = path.child("endpoint");
    if configuration.endpoint.is_empty() {
        errors.push(FieldError::invalid(endpoint, "", "endpoint is a mandatory field for a kms"));
    } else {
        let scheme = configuration.endpoint.split_once(':').map_or("", |(scheme, _)| scheme);
        if scheme != "unix" {
            let detail = format!("unsupported scheme {scheme:?} for KMS provider, only unix is supported");
            errors.push(FieldError::invalid(endpoint, configuration.endpoint.as_str(), detail));
        }
    }
    match configuration.cache_size {
        Some(size) if !is_first_version => {
            let detail = "cachesize is not supported in v2";
            errors.push(FieldError::invalid(path.child("cachesize"), size, detail));
        }
        Some(0) => {
            let detail = "cachesize should be a positive value, or negative to disable";
            errors.push(FieldError::invalid(path.child("cachesize"), 0, detail));
        }
        _ => {}
    }
    if !matches!(configuration.api_version.as_str(), "v1" | "v2") {
        let detail = "unsupported apiVersion apiVersion for KMS provider, only v1 and v2 are supported";
        errors.push(FieldError::invalid(
            path.child("apiVersion"),
            configuration.api_version.as_str(),
            detail,
        ));
    }
}
