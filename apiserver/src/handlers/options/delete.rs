//! `DeleteOptions`: from the body when there is one, else from the query.

use registry_core::api::{
    DeleteOptions, ErrorList, FieldError, FieldPath, Preconditions, PropagationPolicy, StatusError,
};
use registry_core::schema::TypeTable;
use request_info::Query;
use serde::Deserialize;
use serde_json::Value;

use super::{dry_run, refuse, unsupported};

/// The option to delete an object whose stored value cannot be read.
pub(crate) const IGNORE_READ_ERROR: &str = "ignoreStoreReadErrorWithClusterBreakingPotential";

/// `DeleteOptions` as clients write them.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireOptions {
    dry_run: Option<Vec<String>>,
    grace_period_seconds: Option<i64>,
    preconditions: Option<WirePreconditions>,
    propagation_policy: Option<String>,
    orphan_dependents: Option<bool>,
    #[serde(rename = "ignoreStoreReadErrorWithClusterBreakingPotential")]
    ignore_store_read_error: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WirePreconditions {
    uid: Option<String>,
    resource_version: Option<String>,
}

/// Parses the options in the body of a deletion. Unknown fields are ignored, and so is the option to ignore errors of the
/// store unless the server `has_corrupt_deletion`.
pub(crate) fn delete_options(
    mut body: Value,
    has_corrupt_deletion: bool,
) -> Result<DeleteOptions, StatusError> {
    if body.is_null() {
        return Ok(DeleteOptions::default());
    }
    if let Some(schema) = TypeTable::meta().schema_of("v1", "DeleteOptions") {
        let conformed = schema.conform(&mut body, &mut Vec::new());
        conformed.map_err(|fault| StatusError::bad_request(fault.text))?;
    }
    let wire = WireOptions::deserialize(body).map_err(|fault| StatusError::bad_request(fault.to_string()))?;
    wire.validated(has_corrupt_deletion)
}

/// Returns the options of a deletion without a body, as [`delete_options`] does.
pub(crate) fn delete_options_of_query(
    query: Query<'_>,
    has_corrupt_deletion: bool,
) -> Result<DeleteOptions, StatusError> {
    if query.is_empty() {
        return Ok(DeleteOptions::default());
    }
    let dry_run: Vec<String> = query.all("dryRun").map(std::borrow::Cow::into_owned).collect();
    let wire = WireOptions {
        dry_run: (!dry_run.is_empty()).then_some(dry_run),
        grace_period_seconds: query.integer("gracePeriodSeconds")?,
        preconditions: preconditions_of_query(query),
        propagation_policy: query.first("propagationPolicy").map(std::borrow::Cow::into_owned),
        orphan_dependents: query.switch("orphanDependents"),
        ignore_store_read_error: query.switch(IGNORE_READ_ERROR),
    };
    wire.validated(has_corrupt_deletion)
}

fn preconditions_of_query(query: Query<'_>) -> Option<WirePreconditions> {
    let (uid, resource_version) = (named(query, "uid"), named(query, "resourceVersion"));
    (uid.is_some() || resource_version.is_some()).then_some(WirePreconditions { uid, resource_version })
}

/// Returns the value of a parameter that is not empty.
fn named(query: Query<'_>, name: &str) -> Option<String> {
    query.first(name).filter(|value| !value.is_empty()).map(std::borrow::Cow::into_owned)
}

// === impl WireOptions ===

impl WireOptions {
    fn validated(self, has_corrupt_deletion: bool) -> Result<DeleteOptions, StatusError> {
        let mut errors = ErrorList::default();
        let ignores_read_error = has_corrupt_deletion && self.ignore_store_read_error == Some(true);
        let propagation_policy = self.policy(&mut errors);
        let dry_run = dry_run(self.dry_run.iter().flatten(), &mut errors);
        if ignores_read_error {
            self.check_alone(&mut errors);
        }
        refuse("DeleteOptions", &errors)?;
        let preconditions = self.preconditions.unwrap_or_default();
        Ok(DeleteOptions {
            dry_run,
            // A negative period once meant an immediate deletion; Kubernetes now reads it as one second.
            grace_period_seconds: self
                .grace_period_seconds
                .map(|seconds| if seconds < 0 { 1 } else { seconds }),
            preconditions: Preconditions {
                uid: preconditions.uid,
                resource_version: preconditions.resource_version,
            },
            propagation_policy,
            orphan_dependents: self.orphan_dependents,
            ignore_store_read_error: ignores_read_error,
        })
    }

    /// Checks that no option is set beside that to ignore errors of the store: none could be obeyed.
    fn check_alone(&self, errors: &mut ErrorList) {
        let others = [
            (self.dry_run.as_ref().is_some_and(|dry_run| !dry_run.is_empty()), "dryRun"),
            (self.propagation_policy.is_some(), "propagationPolicy"),
            (self.orphan_dependents.is_some(), "orphanDependents"),
            (self.grace_period_seconds.is_some(), "gracePeriodSeconds"),
            (self.preconditions.is_some(), "preconditions"),
        ];
        for (_, name) in others.into_iter().filter(|(is_set, _)| *is_set) {
            let detail = format!("cannot be set together with .{name}");
            errors.push(FieldError::invalid(FieldPath::new(IGNORE_READ_ERROR), true, detail));
        }
    }

    fn policy(&self, errors: &mut ErrorList) -> Option<PropagationPolicy> {
        let Some(name) = &self.propagation_policy else {
            // The deprecated field that `propagationPolicy` replaces.
            return self.orphan_dependents.map(|orphan| {
                if orphan { PropagationPolicy::Orphan } else { PropagationPolicy::Background }
            });
        };
        let field = FieldPath::new("propagationPolicy");
        if self.orphan_dependents.is_some() {
            let detail = "orphanDependents and deletionPropagation cannot be both set";
            errors.push(FieldError::invalid(field, name.as_str(), detail));
        }
        let policy = PropagationPolicy::parse(name);
        if policy.is_none() {
            let accepted = &["Background", "Foreground", "Orphan", "nil"];
            errors.push(unsupported("propagationPolicy", name, accepted));
        }
        policy
    }
}
