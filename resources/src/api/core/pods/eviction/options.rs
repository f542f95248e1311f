//! The `deleteOptions` of an eviction.

use registry_core::api::validation::{ErrorList, FieldError, FieldPath};
use registry_core::api::{
    CreateOptions, DeleteOptions, DryRun, GroupVersionKind, Object, Preconditions, PropagationPolicy, Reason,
    StatusError, go_text,
};
use resource_views::policy::v1::Eviction;
use serde_json::Value;

const EVICTION: GroupVersionKind = GroupVersionKind { group: "policy", version: "v1", kind: "Eviction" };
const OPTIONS: GroupVersionKind =
    GroupVersionKind { group: "meta.k8s.io", version: "v1", kind: "DeleteOptions" };

/// Returns the delete options of an eviction; `asked` are the options of the request.
///
/// # Errors
/// 422: they are invalid. 500: both have dry-run options, which differ.
pub(super) fn delete_options(eviction: &Object, asked: &CreateOptions) -> Result<DeleteOptions, StatusError> {
    let options = Eviction(eviction).delete_options();
    if options.ignore_store_read_error_with_cluster_breaking_potential().is_true() {
        let path = FieldPath::new("deleteOptions").child("ignoreStoreReadErrorWithClusterBreakingPotential");
        let detail = "can not be set for pod eviction, try after removing the option";
        let errors = ErrorList::from(FieldError::invalid(path, true, detail));
        return Err(StatusError::invalid(EVICTION, eviction.name(), &errors));
    }
    let preconditions = options.preconditions();
    let mut errors = ErrorList::default();
    let dry_run = options.dry_run().values();
    check_dry_run(asked, dry_run)?;
    if dry_run.iter().any(|value| value != "All") {
        errors.push(FieldError::not_supported(FieldPath::new("dryRun"), dry_run.to_vec(), &["All"]));
    }
    let policy = options.propagation_policy().text();
    let propagation_policy = PropagationPolicy::parse(policy);
    if propagation_policy.is_none() && !policy.is_empty() {
        let accepted = ["Background", "Foreground", "Orphan", "nil"];
        errors.push(FieldError::not_supported(FieldPath::new("propagationPolicy"), policy, &accepted));
    }
    let orphans = options.orphan_dependents().truth();
    if orphans.is_some() && propagation_policy.is_some() {
        let detail = "orphanDependents and deletionPropagation cannot be both set";
        errors.push(FieldError::invalid(FieldPath::new("propagationPolicy"), policy, detail));
    }
    if !errors.is_empty() {
        return Err(StatusError::invalid(OPTIONS, "", &errors));
    }
    let orphans = orphans
        .map(|orphans| if orphans { PropagationPolicy::Orphan } else { PropagationPolicy::Background });
    Ok(DeleteOptions {
        dry_run: if dry_run.is_empty() { asked.dry_run } else { DryRun::All },
        grace_period_seconds: options.grace_period_seconds().integer(),
        preconditions: Preconditions {
            uid: preconditions.uid().optional_text().map(str::to_owned),
            resource_version: preconditions.resource_version().optional_text().map(str::to_owned),
        },
        propagation_policy: propagation_policy.or(orphans),
        orphan_dependents: None,
        ignore_store_read_error: false,
    })
}

/// Checks that the dry-run options of the request and of the body are the same, if both have any.
fn check_dry_run(asked: &CreateOptions, dry_run: &[Value]) -> Result<(), StatusError> {
    let is_same = dry_run.len() == asked.dry_run_count && dry_run.iter().all(|value| value == "All");
    if is_same || dry_run.is_empty() || asked.dry_run_count == 0 {
        return Ok(());
    }
    let asked = vec![Value::from("All"); asked.dry_run_count];
    let [asked, own] = [&asked, dry_run].map(go_text::print_list);
    let message = format!("Non-matching dry-run options in request and content: {asked} and {own}");
    Err(StatusError::new(Reason::Unknown, message))
}
