//! The `*Options` kinds of `meta.k8s.io/v1`, read from query parameters and bodies, and validated.
//!
//! Kubernetes concept: `k8s.io/apimachinery/pkg/apis/meta/v1/validation`.

use registry_core::api::validation::FieldErrorKind;
use registry_core::api::validation::object_meta::validate_field_manager;
use registry_core::api::{
    CreateOptions, DryRun, ErrorList, FieldError, FieldPath, FieldValidation, GetOptions, GroupVersionKind,
    PatchOptions, StatusError,
};
use request_info::Query;
use serde_json::Value;

mod delete;
mod list;
#[cfg(test)]
mod tests;

pub(crate) use delete::{IGNORE_READ_ERROR, delete_options, delete_options_of_query};
pub(crate) use list::{ListPurpose, list_options, shard_selector};

/// Returns the options of `get`.
pub(crate) fn get_options(query: Query<'_>) -> Result<GetOptions, StatusError> {
    if query.is_empty() {
        return Ok(GetOptions::default());
    }
    if query.switch("export") == Some(true) {
        return Err(StatusError::bad_request(
            "the export parameter, deprecated since v1.14, is no longer supported",
        ));
    }
    let resource_version = query
        .resource_version()
        .map_err(|errors| StatusError::bad_request(format!("invalid resource version: {errors}")))?;
    Ok(GetOptions { resource_version })
}

/// Returns the options of `create` and `update`; `kind` is the options kind that errors name.
pub(crate) fn write_options(query: Query<'_>, kind: &'static str) -> Result<CreateOptions, StatusError> {
    if query.is_empty() {
        return Ok(CreateOptions::default());
    }
    let mut errors = ErrorList::default();
    let field_manager = field_manager(query, &mut errors);
    let options = CreateOptions {
        dry_run: dry_run(query.all("dryRun"), &mut errors),
        dry_run_count: query.all("dryRun").count(),
        field_validation: field_validation(query, &mut errors),
        field_manager,
    };
    refuse(kind, &errors)?;
    Ok(options)
}

/// Returns the options of `patch`. An apply must name its manager, and only an apply may be forced.
pub(crate) fn patch_options(query: Query<'_>, is_apply: bool) -> Result<PatchOptions, StatusError> {
    let mut errors = ErrorList::default();
    let force = query.switch("force");
    let manager = query.text("fieldManager");
    if is_apply && manager.is_empty() {
        errors.push(FieldError::required(FieldPath::new("fieldManager"), "is required for apply patch"));
    } else if !is_apply && force.is_some() {
        errors
            .push(FieldError::forbidden(FieldPath::new("force"), "may not be specified for non-apply patch"));
    }
    let field_manager = field_manager(query, &mut errors);
    let options = PatchOptions {
        dry_run: dry_run(query.all("dryRun"), &mut errors),
        field_validation: field_validation(query, &mut errors),
        field_manager,
        force: force.unwrap_or_default(),
    };
    refuse("PatchOptions", &errors)?;
    Ok(options)
}

/// Returns a 422 that names the options kind if there are errors.
pub(super) fn refuse(kind: &'static str, errors: &ErrorList) -> Result<(), StatusError> {
    if errors.is_empty() {
        return Ok(());
    }
    let kind = GroupVersionKind { group: "meta.k8s.io", version: "v1", kind };
    Err(StatusError::invalid(kind, "", errors))
}

fn dry_run<T: AsRef<str>>(values: impl Iterator<Item = T>, errors: &mut ErrorList) -> DryRun {
    let values: Vec<T> = values.collect();
    if values.iter().any(|value| value.as_ref() != "All") {
        let shown: Vec<&str> = values.iter().map(AsRef::as_ref).collect();
        errors.push(FieldError::not_supported(FieldPath::new("dryRun"), shown, &["All"]));
    }
    if values.is_empty() { DryRun::Off } else { DryRun::All }
}

fn field_validation(query: Query<'_>, errors: &mut ErrorList) -> FieldValidation {
    match &*query.text("fieldValidation") {
        "Ignore" => FieldValidation::Ignore,
        "" | "Warn" => FieldValidation::Warn,
        "Strict" => FieldValidation::Strict,
        other => {
            let accepted = &["", "Ignore", "Strict", "Warn"];
            errors.push(FieldError::not_supported(FieldPath::new("fieldValidation"), other, accepted));
            FieldValidation::Warn
        }
    }
}

fn field_manager(query: Query<'_>, errors: &mut ErrorList) -> String {
    let manager = query.text("fieldManager").into_owned();
    errors.append(validate_field_manager(&manager, &FieldPath::new("fieldManager")));
    manager
}

/// Returns the error for a value that is not one of the accepted ones, which are listed in the order given
/// (Kubernetes sorts only some).
fn unsupported(field: &str, value: &str, accepted: &[&str]) -> FieldError {
    let accepted: Vec<String> = accepted.iter().map(|choice| format!("{choice:?}")).collect();
    FieldError {
        kind: FieldErrorKind::NotSupported,
        field: FieldPath::new(field),
        value: Some(Value::from(value)),
        shown: None,
        detail: format!("supported values: {}", accepted.join(", ")),
    }
}
