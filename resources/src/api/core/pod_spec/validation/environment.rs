//! Environment variables, and the fields and resources of a pod that they and volumes can show.

use std::collections::HashMap;

use registry_core::api::FieldError;
use registry_core::api::validation::{ErrorList, names};
use resource_views::core::v1::{
    EnvFromSource, EnvVar, FileKeySelector, ObjectFieldSelector, PodSpec, ResourceFieldSelector, Volume,
};
use resource_views::{List, Quantity as Amount};

use super::text_rules;
use crate::api::core::config_data;

/// The fields that environment variables can show.
pub(super) const OF_VARIABLES: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

/// The fields that files in volumes can show.
pub(super) const OF_FILES: &[&str] =
    &["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];

/// The fields that have a name in the downward API, whether or not a variable or a file can show them.
const NAMED: &[&str] = &[
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.serviceAccountName",
    "spec.schedulerName",
    "status.phase",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

const RESOURCES: &[&str] = &[
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];
const HUGE_PAGES: [&str; 2] = ["limits.hugepages-", "requests.hugepages-"];

/// Units in which amounts of bytes can be shown.
const UNITS: [&str; 13] = ["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];

/// Checks the variables of a container.
pub(super) fn check_variables(variables: &List<EnvVar<'_, '_>>, errors: &mut ErrorList) {
    for variable in variables.elements() {
        variable.name().check_named(text_rules::variable_name, errors);
        check_source(&variable, errors);
    }
}

fn check_source(variable: &EnvVar<'_, '_>, errors: &mut ErrorList) {
    let source = variable.value_from();
    if !source.exists() {
        return;
    }
    let mut sources = 0;
    let field = source.field_ref();
    if field.exists() {
        sources += 1;
        check_field(&field, OF_VARIABLES, errors);
    }
    let resource = source.resource_field_ref();
    if resource.exists() {
        sources += 1;
        check_resource(&resource, false, errors);
    }
    let (map, secret) = (source.config_map_key_ref(), source.secret_key_ref());
    for (reference, name, key) in [(*map, map.name(), map.key()), (*secret, secret.name(), secret.key())] {
        if reference.exists() {
            sources += 1;
            name.check(names::dns_subdomain, errors);
            key.check_named(config_data::key_complaints, errors);
        }
    }
    let file = source.file_key_ref();
    if file.exists() {
        sources += 1;
        check_file(&file, errors);
    }
    let detail = match sources {
        0 => {
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        }
        _ if !variable.value().text().is_empty() => "may not be specified when `value` is not empty",
        1 => return,
        _ => "may not have more than one field specified at a time",
    };
    errors.push(FieldError::invalid(source.path(), "", detail));
}

/// Checks a reference to a line in a file of a volume.
fn check_file(file: &FileKeySelector<'_, '_>, errors: &mut ErrorList) {
    file.key().check_named(text_rules::variable_name, errors);
    file.volume_name().check_named(names::dns_label, errors);
    file.path().check_named(text_rules::path_without_backsteps, errors);
}

/// Checks the sources of many variables.
pub(super) fn check_bulk_sources(sources: &List<EnvFromSource<'_, '_>>, errors: &mut ErrorList) {
    for source in sources.elements() {
        source.prefix().check_if_set(text_rules::variable_name, errors);
        let mut found = 0;
        let (map, secret) = (source.config_map_ref(), source.secret_ref());
        for (reference, name) in [(*map, map.name()), (*secret, secret.name())] {
            if reference.exists() {
                found += 1;
                // A dash at the end is accepted, as in the beginnings of generated names.
                name.check_named(|name| names::NameRule::DnsSubdomain.check_prefix(name), errors);
            }
        }
        let detail = match found {
            0 => "must specify one of: `configMapRef` or `secretRef`",
            1 => continue,
            _ => "may not have more than one field specified at a time",
        };
        errors.push(FieldError::invalid(sources.path(), "", detail));
    }
}

// === the downward API ===

/// Checks a reference to a field of the pod. Labels and annotations can be selected by key: `metadata.labels['key']`.
pub(super) fn check_field(reference: &ObjectFieldSelector<'_, '_>, shown: &[&str], errors: &mut ErrorList) {
    let version = reference.api_version();
    let path = reference.field_path();
    if !version.check_present(errors) || !path.check_present(errors) {
        return;
    }
    let refuse = |why: String| path.invalid(format!("error converting fieldPath: {why}"));
    if version.text() != "v1" {
        errors.push(refuse(format!("unsupported pod version: {}", version.text())));
        return;
    }
    let text = path.text();
    if let Some((map, key)) = split_subscript(text) {
        let complaints = match map {
            "metadata.annotations" => names::qualified_name(&key.to_lowercase()),
            "metadata.labels" => names::qualified_name(key),
            _ => {
                errors.push(refuse(format!("field label does not support subscript: {text}")));
                return;
            }
        };
        let key = if map == "metadata.annotations" { key.to_lowercase() } else { key.to_owned() };
        for complaint in complaints {
            errors.push(FieldError::invalid(reference.path(), key.as_str(), complaint));
        }
        return;
    }
    // An old name of the field.
    let text = if text == "spec.host" { "spec.nodeName" } else { text };
    if !NAMED.contains(&text) {
        errors.push(refuse(format!("field label not supported: {text}")));
    } else if !shown.contains(&text) {
        errors.push(FieldError::not_supported(path.path(), text, shown));
    }
}

fn split_subscript(path: &str) -> Option<(&str, &str)> {
    let (map, key) = path.strip_suffix("']")?.split_once("['")?;
    (!map.is_empty()).then_some((map, key))
}

/// Checks a reference to an amount of a container. A reference in a volume must name the container.
pub(super) fn check_resource(
    reference: &ResourceFieldSelector<'_, '_>,
    is_of_volume: bool,
    errors: &mut ErrorList,
) {
    let container = reference.container_name();
    let resource = reference.resource();
    let name = resource.text();
    if is_of_volume && container.text().is_empty() {
        errors.push(container.required(""));
    } else if name.is_empty() {
        errors.push(resource.required(""));
    } else if !RESOURCES.contains(&name) && !HUGE_PAGES.iter().any(|prefix| name.starts_with(prefix)) {
        errors.push(resource.unsupported(RESOURCES));
    }
    check_divisor(name, &reference.divisor(), errors);
}

/// Checks the unit in which an amount is shown.
fn check_divisor(resource: &str, divisor: &Amount<'_, '_>, errors: &mut ErrorList) {
    let Some(quantity) = divisor.quantity() else { return };
    if quantity.is_zero() {
        return;
    }
    let quantity = quantity.to_string();
    let kind = match resource.split_once('.') {
        Some(("limits" | "requests", "cpu")) => {
            if !matches!(quantity.as_str(), "1m" | "1") {
                let detail = "only divisor's values 1m and 1 are supported with the cpu resource";
                errors.push(FieldError::invalid(divisor.path(), resource, detail));
            }
            return;
        }
        Some(("limits" | "requests", "memory")) => "memory",
        Some(("limits" | "requests", "ephemeral-storage")) => "local ephemeral storage",
        Some(("limits" | "requests", name)) if name.starts_with("hugepages-") => "hugepages",
        _ => return,
    };
    if !UNITS.contains(&quantity.as_str()) {
        let detail =
            format!("only divisor's values {} are supported with the {kind} resource", UNITS.join(", "));
        errors.push(FieldError::invalid(divisor.path(), resource, detail));
    }
}

// === files ===

/// Checks that the files that variables are read from are in empty directories.
pub(super) fn check_files_in_volumes(spec: &PodSpec<'_, '_>, errors: &mut ErrorList) {
    let volumes = spec.volumes();
    let mut by_name: Option<HashMap<&str, bool>> = None;
    super::visit_containers(spec, |container| {
        for variable in container.env().elements() {
            let source = variable.value_from();
            let file = source.file_key_ref();
            if !file.exists() {
                continue;
            }
            let by_name = by_name.get_or_insert_with(|| {
                let named = |volume: Volume<'_, '_>| volume.empty_dir().exists();
                volumes.elements().map(|volume| (volume.name().text(), named(volume))).collect()
            });
            let name = file.volume_name();
            match by_name.get(name.text()) {
                None => errors.push(name.not_found()),
                Some(true) => {}
                Some(false) => errors.push(name.invalid_text("referenced volume must be of type emptyDir")),
            }
        }
    });
}
