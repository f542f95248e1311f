//! Volumes of a pod spec.

use std::collections::HashSet;

use registry_core::api::validation::{ErrorList, names};

use crate::support::field::Field;

/// The names of the volumes of a pod spec.
pub(crate) struct Volumes<'a> {
    names: HashSet<&'a str>,
}

impl<'a> Volumes<'a> {
    /// Checks the volumes, and returns their names.
    pub(super) fn validate(volumes: &Field<'a, '_>, errors: &mut ErrorList) -> Self {
        let mut names = HashSet::new();
        for volume in volumes.elements() {
            let name = volume.get("name");
            if name.check_present(errors) {
                name.check(names::dns_label, errors);
                if !names.insert(name.text()) {
                    errors.push(name.duplicate());
                }
            }
            check_source(&volume, errors);
        }
        Self { names }
    }

    /// Whether there is a volume of that name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }
}

fn check_source(volume: &Field<'_, '_>, errors: &mut ErrorList) {
    let sources = volume.len().saturating_sub(usize::from(volume.get("name").exists()));
    if sources > 1 {
        for (kind, _) in volume.entries().filter(|(key, _)| *key != "name").skip(1) {
            let path = volume.path().child(kind);
            let detail = "may not specify more than 1 volume type";
            errors.push(registry_core::api::FieldError::forbidden(path, detail));
        }
    }
    let host_path = volume.get("hostPath");
    if host_path.exists() {
        let path = host_path.get("path");
        if path.check_present(errors) && path.text().split('/').any(|step| step == "..") {
            errors.push(path.invalid("must not contain '..'"));
        }
    }
    for (source, field) in [("secret", "secretName"), ("persistentVolumeClaim", "claimName")] {
        let source = volume.get(source);
        if source.exists() {
            source.get(field).check_present(errors);
        }
    }
    let config_map = volume.get("configMap");
    if config_map.exists() {
        config_map.get("name").check_present(errors);
    }
}
