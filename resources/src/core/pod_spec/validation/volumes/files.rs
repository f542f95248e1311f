//! Volumes of files: from the node, from a repository, from objects of the cluster.

use registry_core::api::FieldError;
use registry_core::api::validation::ErrorList;

use super::super::environment::{self, OF_FILES};
use super::Options;
use super::text_rules::{self, check_file_mode};
use crate::support::field::Field;

const HOST_PATH_TYPES: &[&str] =
    &["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];

pub(super) fn check_host_path(source: &Field<'_, '_>, _: &Options, errors: &mut ErrorList) {
    let path = source.get("path");
    if path.check_present(errors) {
        path.check(text_rules::path_without_backsteps, errors);
        source.get("type").check_one_of(HOST_PATH_TYPES, errors);
    }
}

pub(super) fn check_repository(source: &Field<'_, '_>, _: &Options, errors: &mut ErrorList) {
    source.get("repository").check_present(errors);
    source.get("directory").check(text_rules::descending_path, errors);
}

pub(super) fn check_secret(source: &Field<'_, '_>, _: &Options, errors: &mut ErrorList) {
    source.get("secretName").check_present(errors);
    check_data(source, errors);
}

pub(super) fn check_config_map(source: &Field<'_, '_>, _: &Options, errors: &mut ErrorList) {
    source.get("name").check_present(errors);
    check_data(source, errors);
}

fn check_data(source: &Field<'_, '_>, errors: &mut ErrorList) {
    check_file_mode(&source.get("defaultMode"), errors);
    for item in source.get("items").elements() {
        check_item(&item, errors);
    }
}

/// Checks a key and the file that it becomes.
pub(super) fn check_item(item: &Field<'_, '_>, errors: &mut ErrorList) {
    item.get("key").check_present(errors);
    let path = item.get("path");
    path.check_named(text_rules::unreserved_path, errors);
    check_file_mode(&item.get("mode"), errors);
}

pub(super) fn check_downward_api(source: &Field<'_, '_>, _: &Options, errors: &mut ErrorList) {
    check_file_mode(&source.get("defaultMode"), errors);
    for file in source.get("items").elements() {
        check_downward_file(source, &file, errors);
    }
}

/// Checks a file that shows a field of the pod. Errors are reported at the volume, as if it were the file.
pub(super) fn check_downward_file(volume: &Field<'_, '_>, file: &Field<'_, '_>, errors: &mut ErrorList) {
    let Some(value) = file.value() else { return };
    let file = volume.holding(value);
    file.get("path").check_named(text_rules::unreserved_path, errors);
    let field = file.get("fieldRef");
    let resource = file.get("resourceFieldRef");
    match (field.exists(), resource.exists()) {
        (true, both) => {
            environment::check_field(&field, OF_FILES, errors);
            if both {
                let detail = "fieldRef and resourceFieldRef can not be specified simultaneously";
                errors.push(FieldError::invalid(file.path(), "resource", detail));
            }
        }
        (false, true) => environment::check_resource(&resource, true, errors),
        (false, false) => errors.push(file.required("one of fieldRef and resourceFieldRef is required")),
    }
    check_file_mode(&file.get("mode"), errors);
}
