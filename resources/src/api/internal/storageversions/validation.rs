//! Validation of StorageVersions.

use std::collections::{HashMap, HashSet};

use registry_core::api::validation::{ErrorList, names};
use registry_core::api::{FieldError, FieldPath, Object};
use resource_views::apiserverinternal::v1alpha1::{
    ServerStorageVersion, StorageVersion, StorageVersionStatus,
};
use resource_views::{List, Text};
use serde_json::Value;

const NO_API_VERSION: &str = "an apiVersion is a DNS-1035 label, which must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyVersion')";
const EMPTY: &str = "must be non-empty";

/// Checks that a name is a group and a resource.
pub(super) fn check_name(name: &str, errors: &mut ErrorList) {
    let place = || FieldPath::new("metadata").child("name");
    let Some((group, resource)) = name.rsplit_once('.') else {
        errors.push(FieldError::invalid(place(), name, "name must be in the form of <group>.<resource>"));
        return;
    };
    for complaint in names::dns_subdomain(group) {
        errors.push(FieldError::invalid(place(), name, format!("the group segment {complaint}")));
    }
    for complaint in names::dns_1035_label(resource) {
        errors.push(FieldError::invalid(place(), name, format!("the resource segment {complaint}")));
    }
}

/// Checks what the servers report.
pub(super) fn check_status(object: &Object, errors: &mut ErrorList) {
    let status = StorageVersion(object).status();
    let versions = status.storage_versions();
    let mut servers = HashSet::new();
    for version in versions.elements() {
        let server = version.api_server_id();
        if !servers.insert(server.text()) {
            errors.push(server.duplicate());
        }
        check_server(&version, errors);
    }
    check_common(&status, &versions, errors);
    check_conditions(&status, errors);
}

fn check_server(version: &ServerStorageVersion<'_, '_>, errors: &mut ErrorList) {
    version.api_server_id().check(names::dns_subdomain, errors);
    let encoding = version.encoding_version();
    check_api_version(&encoding, errors);
    let decodable = version.decodable_versions();
    for entry in decodable.elements() {
        check_api_version(&entry, errors);
    }
    let known: HashSet<&str> = decodable.elements().map(|entry| entry.text()).collect();
    if !known.contains(encoding.text()) {
        let detail = format!("decodableVersions must include encodingVersion {}", encoding.text());
        errors.push(decodable.invalid(detail));
    }
    for served in version.served_versions().elements() {
        check_api_version(&served, errors);
        if !known.contains(served.text()) {
            let all: Vec<&str> = decodable.elements().map(|entry| entry.text()).collect();
            let detail = format!(
                "individual served version : {} must be included in decodableVersions : [{}]",
                served.text(),
                all.join(" ")
            );
            errors.push(served.invalid(detail));
        }
    }
}

/// Checks that the common version is the one that all servers have.
fn check_common(
    status: &StorageVersionStatus<'_, '_>,
    versions: &List<ServerStorageVersion<'_, '_>>,
    errors: &mut ErrorList,
) {
    let mut reported = versions.elements().map(|version| version.encoding_version().text());
    let first = reported.next();
    let actual = first.filter(|first| reported.all(|other| other == *first));
    let common = status.common_encoding_version();
    match (actual, common.optional_text()) {
        (None, Some(_)) => errors.push(common.invalid(
            "should be nil if servers do not agree on the same encoding version, or if there is no server reporting the \
             supported versions yet",
        )),
        (Some(actual), None) => {
            let detail = format!("the common encoding version is {actual}");
            errors.push(FieldError::invalid(common.path(), Value::Null, detail));
        }
        (Some(actual), Some(common_text)) if actual != common_text => {
            errors.push(common.invalid(format!("the actual common encoding version is {actual}")));
        }
        _ => {}
    }
}

/// Checks the conditions. The paths of errors lack the name of the list, as in Kubernetes.
fn check_conditions(status: &StorageVersionStatus<'_, '_>, errors: &mut ErrorList) {
    let mut seen = HashMap::new();
    for (index, condition) in status.conditions().elements().enumerate() {
        let place = |field: &'static str| status.path().index(index).child(field);
        let kind = condition.r#type().text();
        if let Some(first) = seen.insert(kind, index) {
            let detail =
                format!("the type of the condition is not unique, it also appears in conditions[{first}]");
            errors.push(FieldError::invalid(place("type"), kind, detail));
        }
        for (field, text) in [("type", kind), ("status", condition.status().text())] {
            for complaint in names::qualified_name(text) {
                errors.push(FieldError::invalid(place(field), text, complaint));
            }
        }
        for (field, text) in [("reason", condition.reason()), ("message", condition.message())] {
            if text.text().is_empty() {
                errors.push(FieldError::required(place(field), ""));
            }
        }
    }
}

/// Checks an `apiVersion`: a version, perhaps with a group.
fn check_api_version(field: &Text<'_, '_>, errors: &mut ErrorList) {
    let complaints = api_version_complaints(field.text());
    if !complaints.is_empty() {
        errors.push(field.invalid_text(complaints.join(",")));
    }
}

fn api_version_complaints(api_version: &str) -> Vec<String> {
    let parts: Vec<&str> = api_version.split('/').collect();
    let (group, version) = match parts.as_slice() {
        [version] => (None, *version),
        [group, version] => (Some(*group), *version),
        _ => return vec![NO_API_VERSION.to_owned()],
    };
    let mut complaints = Vec::new();
    if let Some(group) = group {
        complaints.extend(part_complaints("group", group, names::dns_subdomain));
    }
    complaints.extend(part_complaints("version", version, names::dns_1035_label));
    complaints
}

fn part_complaints(name: &str, text: &str, rule: fn(&str) -> Vec<String>) -> Vec<String> {
    let complaints = if text.is_empty() { vec![EMPTY.to_owned()] } else { rule(text) };
    complaints.into_iter().map(|complaint| format!("{name} part: {complaint}")).collect()
}
