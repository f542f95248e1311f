//! Volumes that combine several sources.

use std::collections::HashSet;

use registry_core::api::FieldError;
use registry_core::api::validation::ErrorList;
use resource_views::core::v1::{
    DownwardAPIProjection, KeyToPath, ProjectedVolumeSource, ServiceAccountTokenProjection, Volume,
    VolumeProjection,
};
use resource_views::{List, Text, View};

use super::text_rules::{self, check_file_mode};
use super::{Options, files};

const LEAST_TOKEN_SECONDS: i64 = 10 * 60;
const MOST_TOKEN_SECONDS: i64 = 1 << 32;

/// Checks the sources of a volume, whose files must have different paths.
pub(super) fn check(volume: &ProjectedVolumeSource<'_, '_>, options: &Options, errors: &mut ErrorList) {
    check_file_mode(&volume.default_mode(), errors);
    let mut paths = HashSet::new();
    for source in volume.sources().elements() {
        let (secret, map) = (source.secret(), source.config_map());
        let (downward, token) = (source.downward_api(), source.service_account_token());
        if secret.exists() {
            check_data(volume, &secret.name(), &secret.items(), &mut paths, errors);
        }
        if map.exists() {
            check_data(volume, &map.name(), &map.items(), &mut paths, errors);
        }
        if downward.exists() {
            check_downward_api(volume, &downward, &mut paths, errors);
        }
        if token.exists() {
            check_token(volume, &token, options, errors);
        }
        let found = [*secret, *map, *downward, *token].iter().filter(|source| source.exists()).count();
        if found > 1 {
            errors.push(source.forbidden("may not specify more than 1 volume type per source"));
        }
    }
}

fn check_data<'v>(
    volume: &View<'_, '_>,
    name: &Text<'_, '_>,
    items: &List<KeyToPath<'v, '_>>,
    paths: &mut HashSet<&'v str>,
    errors: &mut ErrorList,
) {
    name.check_present(errors);
    for item in items.elements() {
        files::check_item(&item, errors);
        let path = item.path().text();
        if !path.is_empty() && !paths.insert(path) {
            errors.push(conflict(volume, name.text()));
        }
    }
}

fn check_downward_api<'v>(
    volume: &View<'_, '_>,
    source: &DownwardAPIProjection<'v, '_>,
    paths: &mut HashSet<&'v str>,
    errors: &mut ErrorList,
) {
    for file in source.items().elements() {
        files::check_downward_file(source, &file, errors);
        let path = file.path().text();
        if !path.is_empty() && !paths.insert(path) {
            errors.push(conflict(volume, path));
        }
    }
}

fn conflict(volume: &View<'_, '_>, value: &str) -> FieldError {
    FieldError::invalid(volume.path(), value, "conflicting duplicate paths")
}

/// Checks the token of a service account. Errors about its path are reported at the volume.
fn check_token(
    volume: &View<'_, '_>,
    token: &ServiceAccountTokenProjection<'_, '_>,
    options: &Options,
    errors: &mut ErrorList,
) {
    let seconds = token.expiration_seconds();
    if seconds.number() < LEAST_TOKEN_SECONDS {
        errors.push(seconds.invalid("may not specify a duration less than 10 minutes"));
    }
    if seconds.number() > MOST_TOKEN_SECONDS {
        errors.push(seconds.invalid("may not specify a duration larger than 2^32 seconds"));
    }
    let path = token.path().text();
    let reported = volume.path().child("path");
    if path.is_empty() {
        errors.push(FieldError::required(reported, ""));
    } else if !options.tolerates_non_local_token_paths {
        for complaint in text_rules::unreserved_path(path) {
            errors.push(FieldError::invalid(reported.clone(), path, complaint));
        }
    }
}

/// Whether the path of a token in a volume leaves the volume.
pub(in crate::api::core::pod_spec::validation) fn has_non_local_token_path(
    volumes: &List<Volume<'_, '_>>,
) -> bool {
    let is_bad = |source: VolumeProjection<'_, '_>| {
        let token = source.service_account_token();
        token.exists() && !text_rules::unreserved_path(token.path().text()).is_empty()
    };
    volumes.elements().any(|volume| volume.projected().sources().elements().any(is_bad))
}
