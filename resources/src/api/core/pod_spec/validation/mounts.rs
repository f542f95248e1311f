//! Volumes in containers: mounts, and devices.

use std::collections::{HashMap, HashSet};

use registry_core::api::FieldError;
use registry_core::api::validation::ErrorList;
use resource_views::List;
use resource_views::core::v1::{Container, VolumeDevice, VolumeMount};

use super::text_rules;
use super::volumes::Volumes;

const PROPAGATIONS: &[&str] = &["Bidirectional", "HostToContainer", "None"];
const RECURSIVE_MODES: &[&str] = &["Disabled", "Enabled", "IfPossible"];

/// Checks the mounts and the devices of a container, and that no volume or path is both.
pub(super) fn check(container: &Container<'_, '_>, volumes: &Volumes<'_>, errors: &mut ErrorList) {
    let mounts = container.volume_mounts();
    let devices = container.volume_devices();
    check_mounts(
        container,
        &mounts,
        &Used::new(devices.elements().map(|device| (device.name().text(), device.device_path().text()))),
        volumes,
        errors,
    );
    if !devices.is_empty() {
        check_devices(
            &devices,
            &Used::new(mounts.elements().map(|mount| (mount.name().text(), mount.mount_path().text()))),
            volumes,
            errors,
        );
    }
}

/// The names and paths of the mounts, or of the devices, of a container.
#[derive(Default)]
struct Used<'v> {
    names: HashSet<&'v str>,
    paths: HashSet<&'v str>,
}

impl<'v> Used<'v> {
    fn new(names_and_paths: impl Iterator<Item = (&'v str, &'v str)>) -> Self {
        // Of two with the same name, the latter counts.
        let by_name: HashMap<&str, &str> = names_and_paths.collect();
        Self { names: by_name.keys().copied().collect(), paths: by_name.into_values().collect() }
    }
}

fn check_mounts(
    container: &Container<'_, '_>,
    mounts: &List<VolumeMount<'_, '_>>,
    devices: &Used<'_>,
    volumes: &Volumes<'_>,
    errors: &mut ErrorList,
) {
    let mut paths = HashSet::new();
    for mount in mounts.elements() {
        let name = mount.name();
        let path = mount.mount_path();
        name.check_present(errors);
        if !volumes.has(name.text()) {
            errors.push(name.not_found());
        }
        path.check_present(errors);
        if !paths.insert(path.text()) {
            errors.push(path.invalid_text("must be unique"));
        }
        if devices.names.contains(name.text()) {
            errors.push(name.invalid_text("must not already exist in volumeDevices"));
        }
        if devices.paths.contains(path.text()) {
            errors.push(path.invalid_text("must not already exist as a path in volumeDevices"));
        }
        check_sub_paths(mounts, &mount, errors);
        check_propagation(container, mounts, &mount, errors);
        check_recursive_read_only(mounts, &mount, errors);
    }
}

/// Checks the path in the volume. Errors are reported at the list of mounts, without the index.
fn check_sub_paths(mounts: &List<VolumeMount<'_, '_>>, mount: &VolumeMount<'_, '_>, errors: &mut ErrorList) {
    let plain = mount.sub_path();
    let expression = mount.sub_path_expr();
    for complaint in text_rules::descending_path(plain.text()) {
        errors.push(FieldError::invalid(mounts.path().child("subPath"), plain.text(), complaint));
    }
    if expression.text().is_empty() {
        return;
    }
    if !plain.text().is_empty() {
        errors.push(expression.invalid("subPathExpr and subPath are mutually exclusive"));
    }
    for complaint in text_rules::descending_path(expression.text()) {
        errors.push(FieldError::invalid(mounts.path().child("subPathExpr"), expression.text(), complaint));
    }
}

fn check_propagation(
    container: &Container<'_, '_>,
    mounts: &List<VolumeMount<'_, '_>>,
    mount: &VolumeMount<'_, '_>,
    errors: &mut ErrorList,
) {
    let Some(mode) = mount.mount_propagation().optional_text() else { return };
    let path = || mounts.path().child("mountPropagation");
    if !PROPAGATIONS.contains(&mode) {
        errors.push(FieldError::not_supported(path(), mode, PROPAGATIONS));
    }
    let context = container.security_context();
    if mode == "Bidirectional" && !context.privileged().is_true() {
        let detail = "Bidirectional mount propagation is available only to privileged containers";
        errors.push(FieldError::forbidden(path(), detail));
    }
}

fn check_recursive_read_only(
    mounts: &List<VolumeMount<'_, '_>>,
    mount: &VolumeMount<'_, '_>,
    errors: &mut ErrorList,
) {
    let Some(mode) = mount.recursive_read_only().optional_text() else { return };
    let path = || mounts.path().child("recursiveReadOnly");
    match mode {
        "Disabled" => {}
        "Enabled" | "IfPossible" => {
            if !mount.read_only().is_true() {
                let detail = "may only be specified when readOnly is true";
                errors.push(FieldError::forbidden(path(), detail));
            }
            if mount.mount_propagation().optional_text().is_some_and(|mode| mode != "None") {
                let detail = "may only be specified when mountPropagation is None or not specified";
                errors.push(FieldError::forbidden(path(), detail));
            }
        }
        _ => errors.push(FieldError::not_supported(path(), mode, RECURSIVE_MODES)),
    }
}

fn check_devices(
    devices: &List<VolumeDevice<'_, '_>>,
    mounts: &Used<'_>,
    volumes: &Volumes<'_>,
    errors: &mut ErrorList,
) {
    let mut used = Used::default();
    for device in devices.elements() {
        let name = device.name();
        let path = device.device_path();
        name.check_present(errors);
        if used.names.contains(name.text()) {
            errors.push(name.invalid_text("must be unique"));
        }
        match volumes.is_of_claim(name.text()) {
            Some(true) => {}
            Some(false) => {
                let detail =
                    "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
                errors.push(name.invalid_text(detail));
            }
            None => errors.push(name.not_found()),
        }
        path.check_present(errors);
        if used.paths.contains(path.text()) {
            errors.push(path.invalid_text("must be unique"));
        }
        if text_rules::path_without_backsteps(path.text()).is_empty() {
            used.paths.insert(path.text());
        } else {
            errors.push(path.invalid_text("can not contain backsteps ('..')"));
        }
        if mounts.names.contains(name.text()) {
            errors.push(name.invalid_text("must not already exist in volumeMounts"));
        }
        if mounts.paths.contains(path.text()) {
            errors.push(path.invalid_text("must not already exist as a path in volumeMounts"));
        }
        if !name.text().is_empty() {
            used.names.insert(name.text());
        }
    }
}
