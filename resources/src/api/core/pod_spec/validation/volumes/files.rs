//! Volumes of files: from the node, from a repository, from objects of the cluster.

use registry_core::api::FieldError;
use registry_core::api::validation::ErrorList;
use resource_views::core::v1::{
    ConfigMapVolumeSource, DownwardAPIVolumeFile, DownwardAPIVolumeSource, GitRepoVolumeSource,
    HostPathVolumeSource, KeyToPath, SecretVolumeSource,
};
use resource_views::{Integer, List, Typed as _, View};

use super::super::environment::{self, OF_FILES};
use super::text_rules::{self, check_file_mode};

pub(in crate::api::core) use text_rules::path_without_backsteps;

const HOST_PATH_TYPES: &[&str] =
    &["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];

pub(in crate::api::core) fn check_host_path(source: &HostPathVolumeSource<'_, '_>, errors: &mut ErrorList) {
    let path = source.path();
    if path.check_present(errors) {
        path.check(text_rules::path_without_backsteps, errors);
        source.r#type().check_one_of(HOST_PATH_TYPES, errors);
    }
}

pub(super) fn check_repository(source: &GitRepoVolumeSource<'_, '_>, errors: &mut ErrorList) {
    source.repository().check_present(errors);
    source.directory().check(text_rules::descending_path, errors);
}

pub(super) fn check_secret(source: &SecretVolumeSource<'_, '_>, errors: &mut ErrorList) {
    source.secret_name().check_present(errors);
    check_files(&source.default_mode(), &source.items(), errors);
}

pub(super) fn check_config_map(source: &ConfigMapVolumeSource<'_, '_>, errors: &mut ErrorList) {
    source.name().check_present(errors);
    check_files(&source.default_mode(), &source.items(), errors);
}

fn check_files(mode: &Integer<'_, '_>, items: &List<KeyToPath<'_, '_>>, errors: &mut ErrorList) {
    check_file_mode(mode, errors);
    for item in items.elements() {
        check_item(&item, errors);
    }
}

/// Checks a key and the file that it becomes.
pub(super) fn check_item(item: &KeyToPath<'_, '_>, errors: &mut ErrorList) {
    item.key().check_present(errors);
    let path = item.path();
    path.check_named(text_rules::unreserved_path, errors);
    check_file_mode(&item.mode(), errors);
}

pub(super) fn check_downward_api(source: &DownwardAPIVolumeSource<'_, '_>, errors: &mut ErrorList) {
    check_file_mode(&source.default_mode(), errors);
    for file in source.items().elements() {
        check_downward_file(source, &file, errors);
    }
}

/// Checks a file that shows a field of the pod. Errors are reported at the volume, as if it were the file.
pub(super) fn check_downward_file<'v>(
    volume: &View<'v, '_>,
    file: &DownwardAPIVolumeFile<'v, '_>,
    errors: &mut ErrorList,
) {
    let Some(value) = file.value() else { return };
    let file = DownwardAPIVolumeFile::typed(volume.with_value(value));
    file.path().check_named(text_rules::unreserved_path, errors);
    let field = file.field_ref();
    let resource = file.resource_field_ref();
    match (field.exists(), resource.exists()) {
        (true, both) => {
            environment::check_field(&field, OF_FILES, errors);
            if both {
                let detail = "fieldRef and resourceFieldRef can not be specified simultaneously";
                errors.push(FieldError::invalid(volume.path(), "resource", detail));
            }
        }
        (false, true) => environment::check_resource(&resource, true, errors),
        (false, false) => errors.push(file.required("one of fieldRef and resourceFieldRef is required")),
    }
    check_file_mode(&file.mode(), errors);
}
