//! Warnings about deprecated versions.

use registry_core::api::compare_versions;

use crate::api::apiextensions::customresourcedefinitions::definition::{Definition, DefinitionVersion};

/// Returns the warning about requests for a version; `None` if it is not deprecated. Unless the definition says otherwise,
/// it names the newest served version that is not deprecated.
pub(super) fn warning(definition: &Definition, version: &DefinitionVersion) -> Option<String> {
    if !version.is_deprecated {
        return None;
    }
    if let Some(text) = &version.deprecation_warning {
        return Some(text.clone());
    }
    let Definition { group, names, .. } = definition;
    let warning = format!("{group}/{} {} is deprecated", version.name, names.kind);
    let others = definition.versions.iter().filter(|other| other.is_served && !other.is_deprecated);
    let newer = others.filter(|other| compare_versions(&other.name, &version.name).is_gt());
    match newer.max_by(|a, b| compare_versions(&a.name, &b.name)) {
        Some(newer) => Some(format!("{warning}; use {group}/{} {}", newer.name, names.kind)),
        None => Some(warning),
    }
}
