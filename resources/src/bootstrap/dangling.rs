//! The condition of flow schemas whose priority level does not exist.

use futures::future::try_join_all;
use registry_core::api::{Object, StatusError, time};
use registry_core::registry::InstalledApi;
use serde_json::{Value, json};

use crate::api::flowcontrol::flowschemas::FlowSchemas;
use crate::support::system_writer::SystemWriter;

/// Writes the condition `Dangling` of flow schemas.
pub struct DanglingStatus(SystemWriter);

// === impl DanglingStatus ===

impl DanglingStatus {
    /// Creates it over an installed API; `None` if flow schemas are not served.
    pub fn new(installed: &InstalledApi) -> Option<Self> {
        SystemWriter::for_resource::<FlowSchemas>(installed).map(Self)
    }

    /// Writes for each schema whether its level was found, unless the condition is up to date.
    ///
    /// # Errors
    /// The store failed. Retryable.
    pub async fn write(&self, schemas: Vec<(Object, bool)>) -> Result<(), StatusError> {
        let untold = schemas.into_iter().filter(|(schema, found)| !says(schema, *found));
        let told = untold.map(|(schema, found)| async move {
            let written = self.0.change_status("", schema.name(), |present| with(present, found)).await;
            match written {
                // The schema was deleted in between.
                Err(failure) if failure.is_not_found() => Ok(()),
                written => written,
            }
        });
        try_join_all(told).await.map(drop)
    }
}

fn conditions(schema: &Object) -> Vec<Value> {
    schema.get(&["status", "conditions"]).and_then(Value::as_array).cloned().unwrap_or_default()
}

fn is_dangling(condition: &Value) -> bool {
    condition.get("type").is_some_and(|kind| kind == "Dangling")
}

/// Returns status, reason and message of the condition.
fn wanted(schema: &Object, found: bool) -> (&'static str, &'static str, String) {
    let level = schema.get_str(&["spec", "priorityLevelConfiguration", "name"]).unwrap_or_default();
    let about = format!("This FlowSchema references the PriorityLevelConfiguration object named \"{level}\"");
    if found {
        ("False", "Found", format!("{about} and it exists"))
    } else {
        ("True", "NotFound", format!("{about} but there is no such object"))
    }
}

fn says(schema: &Object, found: bool) -> bool {
    let (status, reason, message) = wanted(schema, found);
    let is = |condition: &Value, name: &str, wanted: &str| {
        condition.get(name).is_some_and(|value| value == wanted)
    };
    conditions(schema).iter().any(|condition| {
        is_dangling(condition)
            && is(condition, "status", status)
            && is(condition, "reason", reason)
            && is(condition, "message", &message)
    })
}

fn with(schema: &Object, found: bool) -> Object {
    // What decided about the write may be older than the object.
    if says(schema, found) {
        return schema.clone();
    }
    let (status, reason, message) = wanted(schema, found);
    let mut conditions = conditions(schema);
    conditions.retain(|condition| !is_dangling(condition));
    conditions.push(json!({
        "type": "Dangling",
        "status": status,
        "lastTransitionTime": time::now(),
        "reason": reason,
        "message": message,
    }));
    let mut schema = schema.clone();
    schema.set(&["status", "conditions"], conditions.into());
    schema
}
