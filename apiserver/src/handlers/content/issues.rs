//! Issues of single fields of a body: refused, returned as warnings, or ignored, depending on `fieldValidation`.

use std::collections::HashSet;
use std::fmt;

use registry_core::api::FieldValidation;
use registry_core::schema::FieldIssue;

use super::super::call::Call;

/// Maximum depth of an unknown field whose duplicates are looked for.
const MAX_UNKNOWN_DEPTH: usize = 128;
/// Maximum number of issues that are reported for one body.
///
/// Kubernetes concept: `saveStrictError` in `sigs.k8s.io/json`.
const MAX_ISSUES: usize = 100;

/// An issue of a field of a body.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::handlers) struct BodyIssue {
    pub(in crate::handlers) step: Step,
    pub(in crate::handlers) issue: FieldIssue,
}

/// The step of reading a body that finds an issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::handlers) enum Step {
    /// The object is decoded.
    Decode,
    /// The operations of a JSON patch are decoded.
    JsonPatch,
    /// A configuration to apply is converted to JSON.
    ConvertYaml,
}

/// The issues found by strict validation, as an error words them.
#[derive(Debug, thiserror::Error)]
#[error("strict decoding error: {0}")]
pub(in crate::handlers) struct StrictError(String);

// === impl BodyIssue ===

impl BodyIssue {
    /// Adds the warnings about the issue: each key that a YAML document repeats has one of its own.
    ///
    /// Kubernetes concept: `parseYAMLWarnings` in `k8s.io/apiserver/pkg/endpoints/handlers`.
    pub(in crate::handlers) fn warn(&self, call: &Call<'_>) {
        match &self.issue {
            FieldIssue::RepeatedKeys(keys) => keys.iter().for_each(|key| call.context.warn(key.to_string())),
            FieldIssue::Unknown(_) | FieldIssue::Duplicate(_) => call.context.warn(self.to_string()),
        }
    }
}

impl fmt::Display for BodyIssue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.step {
            Step::Decode => "",
            Step::JsonPatch => "json patch ",
            Step::ConvertYaml => "error converting YAML to JSON: ",
        })?;
        self.issue.fmt(f)
    }
}

/// Removes the duplicates of unknown fields, and the duplicates below them: Kubernetes' decoder of typed objects passes over
/// the values of fields that it does not know.
pub(in crate::handlers) fn pass_over_unknown(duplicates: &mut Vec<FieldIssue>, unknown: &[FieldIssue]) {
    if duplicates.is_empty() || unknown.is_empty() {
        return;
    }
    let paths = unknown.iter().filter_map(|issue| match issue {
        FieldIssue::Unknown(path) => Some(path.as_str()),
        FieldIssue::Duplicate(_) | FieldIssue::RepeatedKeys(_) => None,
    });
    let paths: HashSet<&str> = paths.collect();
    duplicates.retain(|duplicate| {
        let FieldIssue::Duplicate(path) = duplicate else { return true };
        let separators = path.match_indices(['.', '[']).map(|(end, _)| end);
        let mut ends = separators.chain([path.len()]).take(MAX_UNKNOWN_DEPTH);
        !ends.any(|end| path.get(..end).is_some_and(|field| paths.contains(field)))
    });
}

/// Removes repeated issues, and those beyond the maximum.
pub(in crate::handlers) fn bound_issues(issues: &mut Vec<BodyIssue>) {
    let mut known = HashSet::new();
    issues.retain(|issue| known.len() < MAX_ISSUES && known.insert(issue.clone()));
}

/// Refuses a body for its issues, returns them as warnings, or ignores them, depending on `fieldValidation`.
pub(in crate::handlers) fn settle_issues(
    call: &Call<'_>,
    issues: &[BodyIssue],
    validation: FieldValidation,
) -> Result<(), StrictError> {
    match validation {
        FieldValidation::Strict if !issues.is_empty() => {
            let texts: Vec<String> = issues.iter().map(ToString::to_string).collect();
            return Err(StrictError(texts.join(", ")));
        }
        FieldValidation::Warn => issues.iter().for_each(|issue| issue.warn(call)),
        FieldValidation::Strict | FieldValidation::Ignore => {}
    }
    Ok(())
}
