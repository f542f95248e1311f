//! Volumes that combine several sources.

use std::collections::HashSet;

use registry_core::api::FieldError;
use registry_core::api::validation::ErrorList;

use super::text_rules::{self, check_file_mode};
use super::{Options, files};
use crate::support::field::Field;

const LEAST_TOKEN_SECONDS: i64 = 10 * 60;
const MOST_TOKEN_SECONDS: i64 = 1 << 32;
const SOURCES: [&str; 4] = ["secret", "configMap", "downwardAPI", "serviceAccountToken"];

/// Checks the sources of a volume, whose files must have different paths.
pub(super) fn check(volume: &Field<'_, '_>, options: &Options, errors: &mut ErrorList) {
    check_file_mode(&volume.get("defaultMode"), errors);
    let mut paths = HashSet::new();
    for source in volume.get("sources").elements() {
        let mut found = 0;
        for kind in SOURCES {
            let projection = source.get(kind);
            if !projection.exists() {
                continue;
            }
            found += 1;
            match kind {
                "downwardAPI" => check_downward_api(volume, &projection, &mut paths, errors),
                "serviceAccountToken" => check_token(volume, &projection, options, errors),
                _ => check_data(volume, &projection, &mut paths, errors),
            }
        }
        if found > 1 {
            errors.push(source.forbidden("may not specify more than 1 volume type per source"));
        }
    }
}

fn check_data<'v>(
    volume: &Field<'_, '_>,
    source: &Field<'v, '_>,
    paths: &mut HashSet<&'v str>,
    errors: &mut ErrorList,
) {
    let name = source.get("name");
    name.check_present(errors);
    for item in source.get("items").elements() {
        files::check_item(&item, errors);
        let path = item.get("path").text();
        if !path.is_empty() && !paths.insert(path) {
            errors.push(conflict(volume, name.text()));
        }
    }
}

fn check_downward_api<'v>(
    volume: &Field<'_, '_>,
    source: &Field<'v, '_>,
    paths: &mut HashSet<&'v str>,
    errors: &mut ErrorList,
) {
    for file in source.get("items").elements() {
        files::check_downward_file(source, &file, errors);
        let path = file.get("path").text();
        if !path.is_empty() && !paths.insert(path) {
            errors.push(conflict(volume, path));
        }
    }
}

fn conflict(volume: &Field<'_, '_>, value: &str) -> FieldError {
    FieldError::invalid(volume.path(), value, "conflicting duplicate paths")
}

/// Checks the token of a service account. Errors about its path are reported at the volume.
fn check_token(volume: &Field<'_, '_>, token: &Field<'_, '_>, options: &Options, errors: &mut ErrorList) {
    let seconds = token.get("expirationSeconds");
    if seconds.number() < LEAST_TOKEN_SECONDS {
        errors.push(seconds.invalid("may not specify a duration less than 10 minutes"));
    }
    if seconds.number() > MOST_TOKEN_SECONDS {
        errors.push(seconds.invalid("may not specify a duration larger than 2^32 seconds"));
    }
    let path = token.get("path").text();
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
pub(in crate::core::pod_spec::validation) fn has_non_local_token_path(volumes: &Field<'_, '_>) -> bool {
    let is_bad = |source: Field<'_, '_>| {
        let token = source.get("serviceAccountToken");
        token.exists() && !text_rules::unreserved_path(token.get("path").text()).is_empty()
    };
    volumes.elements().any(|volume| volume.get("projected").get("sources").elements().any(is_bad))
}
