//! The status of validating policies, which the server writes.

use registry_core::api::{Object, StatusError};
use registry_core::registry::InstalledApi;
use resource_views::admissionregistration::v1::ValidatingAdmissionPolicy;
use serde_json::{Value, json};

use crate::support::system_writer::SystemWriter;

use super::validatingadmissionpolicies::ValidatingAdmissionPolicies;

/// Writes the status of validating policies.
pub struct PolicyStatus(SystemWriter);

// === impl PolicyStatus ===

impl PolicyStatus {
    /// Creates it over an installed API; `None` if policies are not served.
    pub fn new(installed: &InstalledApi) -> Option<Self> {
        SystemWriter::for_resource::<ValidatingAdmissionPolicies>(installed).map(Self)
    }

    /// Returns whether the types of a policy's expressions are still to be checked, in its present generation.
    pub fn is_outdated(policy: &Object) -> bool {
        policy.generation() > ValidatingAdmissionPolicy(policy).status().observed_generation().number()
    }

    /// Writes the warnings about the expressions of a policy, unless they are about an older generation of it, or someone
    /// else has written them.
    ///
    /// # Errors
    /// The store failed. Retryable.
    pub async fn write(&self, checked: &Object, warnings: &[(String, String)]) -> Result<(), StatusError> {
        let warnings: Vec<Value> = warnings
            .iter()
            .map(|(field, warning)| json!({ "fieldRef": field, "warning": warning }))
            .collect();
        let written = self.0.change_status("", checked.name(), |present| {
            let mut policy = present.clone();
            let is_same = present.uid() == checked.uid() && present.generation() == checked.generation();
            if is_same && Self::is_outdated(present) {
                let type_checking =
                    if warnings.is_empty() { json!({}) } else { json!({ "expressionWarnings": warnings }) };
                policy.set(&["status", "observedGeneration"], checked.generation().into());
                policy.set(&["status", "typeChecking"], type_checking);
            }
            policy
        });
        match written.await {
            // The policy was deleted in between.
            Err(failure) if failure.is_not_found() => Ok(()),
            written => written,
        }
    }
}
