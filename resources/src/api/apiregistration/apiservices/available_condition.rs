//! The `Available` condition of APIServices, as it is written and read. `aggregator/availability` of `apiserver` decides about it.

use registry_core::api::{Object, StatusError, time};
use registry_core::registry::InstalledApi;
use resource_views::Typed as _;
use resource_views::apiregistration::v1::{APIService, APIServiceCondition};
use serde_json::{Value, json};

use crate::support::system_writer::SystemWriter;

use super::APIServices;

/// The type of the condition.
const AVAILABLE: &str = "Available";

/// Whether an APIService is available, and why.
///
/// Kubernetes concept: `APIServiceCondition`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Availability {
    /// `True`, `False` or `Unknown`.
    pub status: &'static str,
    /// The reason, in one word.
    pub reason: &'static str,
    /// The reason, in words.
    pub message: String,
}

/// Writes the condition.
pub struct AvailabilityWriter {
    writer: SystemWriter,
}

// === impl Availability ===

impl Availability {
    /// Returns the condition of an APIService that passed all checks.
    pub fn passed() -> Self {
        Self { status: "True", reason: "Passed", message: "all checks passed".to_owned() }
    }

    /// Returns the condition of an APIService that is not available.
    pub fn failed(reason: &'static str, message: String) -> Self {
        Self { status: "False", reason, message }
    }

    /// Returns the condition of an APIService that cannot be checked.
    pub fn unknown(reason: &'static str, message: String) -> Self {
        Self { status: "Unknown", reason, message }
    }

    /// Whether this says that the APIService is available.
    pub fn is_available(&self) -> bool {
        self.status == "True"
    }
}

// === impl AvailabilityWriter ===

impl AvailabilityWriter {
    /// Creates the writer of an installed API; `None` if it has no APIServices.
    pub fn new(installed: &InstalledApi) -> Option<Self> {
        Some(Self { writer: SystemWriter::for_resource::<APIServices>(installed)? })
    }

    /// Writes the condition of the APIService with this name and uid. Writes nothing if the condition says so already, or
    /// if the APIService is gone.
    ///
    /// # Errors
    /// Fails if the store does.
    pub async fn write(&self, name: &str, uid: &str, availability: &Availability) -> Result<(), StatusError> {
        let written = self.writer.change_status("", name, |present| {
            let mut next = present.clone();
            if present.uid() == uid {
                set(&mut next, availability);
            }
            next
        });
        match written.await {
            Err(failure) if !failure.is_not_found() => Err(failure),
            _ => Ok(()),
        }
    }
}

/// Returns whether the `Available` condition of an APIService is true.
pub fn is_available(service: &Object) -> bool {
    condition(service).is_some_and(|condition| view(condition).status().text() == "True")
}

fn view(condition: &Value) -> APIServiceCondition<'_, '_> {
    APIServiceCondition::from_value(condition)
}

fn is_own(condition: &Value) -> bool {
    view(condition).r#type().text() == AVAILABLE
}

fn condition(service: &Object) -> Option<&Value> {
    APIService(service).status().conditions().values().iter().find(|condition| is_own(condition))
}

/// Sets the condition. The time of the last transition changes with the status only.
fn set(service: &mut Object, availability: &Availability) {
    let Availability { status, reason, message } = availability;
    let before = condition(service);
    let unchanged = before.filter(|before| view(before).status().text() == *status);
    let since = unchanged.and_then(|before| view(before).last_transition_time().value().cloned());
    let condition = json!({
        "type": AVAILABLE,
        "status": status,
        "lastTransitionTime": since.unwrap_or_else(|| time::now().into()),
        "reason": reason,
        "message": message,
    });
    let mut conditions = APIService(service).status().conditions().values().to_vec();
    match conditions.iter_mut().find(|entry| is_own(entry)) {
        Some(before) => *before = condition,
        None => conditions.push(condition),
    }
    service.set(&["status", "conditions"], Value::Array(conditions));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_the_last_transition_changes_with_the_status_only() {
        let mut service = Object::default();
        let before = "2020-01-01T00:00:00Z";
        service.set(
            &["status", "conditions"],
            json!([
                { "type": "Other", "status": "True" },
                { "type": "Available", "status": "False", "lastTransitionTime": before, "reason": "ServiceNotFound" },
            ]),
        );
        set(&mut service, &Availability::failed("EndpointsNotFound", "x".to_owned()));
        let condition = condition(&service).unwrap();
        assert_eq!(
            (&condition["reason"], &condition["lastTransitionTime"]),
            (&json!("EndpointsNotFound"), &json!(before))
        );
        assert!(!is_available(&service));

        set(&mut service, &Availability::passed());
        let conditions = service.get(&["status", "conditions"]).unwrap().as_array().unwrap();
        assert_eq!(conditions.len(), 2);
        assert_ne!(conditions[1]["lastTransitionTime"], before);
        assert!(is_available(&service));
    }
}
