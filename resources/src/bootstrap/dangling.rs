//! The condition of flow schemas whose priority level does not exist.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use futures::future::try_join_all;
use parking_lot::Mutex;
use registry_core::api::{Object, StatusError, time};
use registry_core::backoff::jittered_period;
use registry_core::registry::InstalledApi;
use resource_views::Typed as _;
use resource_views::flowcontrol::v1::{FlowSchema, FlowSchemaCondition};
use serde_json::{Value, json};

use crate::api::flowcontrol::flowschemas::FlowSchemas;
use crate::support::system_writer::SystemWriter;

/// Maximum number of writes of one condition in [`PERIOD`].
const MAX_WRITES: usize = 6;
const PERIOD: Duration = Duration::from_mins(1);
/// Time after which a condition that was written too often is looked at again, before its jitter.
const DELAY: Duration = Duration::from_secs(50);

/// Writes the condition `Dangling` of flow schemas: each a few times a minute at most, so that servers with different
/// views do not overwrite each other without end.
pub struct DanglingStatus {
    schemas: SystemWriter,
    recent: Mutex<RecentWrites>,
}

/// The times of the latest writes, by flow schema.
#[derive(Default)]
struct RecentWrites(HashMap<String, VecDeque<Instant>>);

// === impl DanglingStatus ===

impl DanglingStatus {
    /// Creates it over an installed API; `None` if flow schemas are not served.
    pub fn new(installed: &InstalledApi) -> Option<Self> {
        let schemas = SystemWriter::for_resource::<FlowSchemas>(installed)?;
        Some(Self { schemas, recent: Mutex::default() })
    }

    /// Writes for each schema whether its level was found, unless the condition is up to date or was written too often.
    /// Returns the time after which it has to be called again, if some were written too often.
    ///
    /// # Errors
    /// The store failed. Retryable.
    pub async fn write(&self, schemas: Vec<(Object, bool)>) -> Result<Option<Duration>, StatusError> {
        let untold: Vec<_> = schemas.into_iter().filter(|(schema, found)| !says(schema, *found)).collect();
        let number = untold.len();
        let permitted: Vec<_> = {
            let (mut recent, now) = (self.recent.lock(), Instant::now());
            untold.into_iter().filter(|(schema, _)| recent.permits(schema.name(), now)).collect()
        };
        let delay = (permitted.len() < number).then(|| jittered_period(DELAY));
        let updates = permitted.into_iter().map(|(schema, found)| async move {
            let written = self.schemas.change_status("", schema.name(), |present| with(present, found)).await;
            match written {
                // The schema was deleted in between.
                Err(failure) if failure.is_not_found() => Ok(()),
                written => written,
            }
        });
        try_join_all(updates).await.map(|_| delay)
    }
}

// === impl RecentWrites ===

impl RecentWrites {
    /// Returns whether a condition may be written now, and notes that it is.
    fn permits(&mut self, name: &str, now: Instant) -> bool {
        self.0.retain(|_, times| {
            while times.front().is_some_and(|time| now.duration_since(*time) >= PERIOD) {
                times.pop_front();
            }
            !times.is_empty()
        });
        let times = self.0.entry(name.to_owned()).or_default();
        if times.len() >= MAX_WRITES {
            return false;
        }
        times.push_back(now);
        true
    }
}

fn conditions(schema: &Object) -> Vec<Value> {
    FlowSchema(schema).status().conditions().values().to_vec()
}

fn is_dangling(condition: &Value) -> bool {
    FlowSchemaCondition::from_value(condition).r#type().text() == "Dangling"
}

/// Returns status, reason and message of the condition.
fn wanted(schema: &Object, found: bool) -> (&'static str, &'static str, String) {
    let level = FlowSchema(schema).spec().priority_level_configuration().name().text();
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
    // The state that the decision is based on may be older than the object.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_is_written_a_few_times_a_minute_and_others_meanwhile() {
        let (mut recent, begun) = (RecentWrites::default(), Instant::now());
        let at = |seconds| begun + Duration::from_secs(seconds);
        for second in 0..6 {
            assert!(recent.permits("a", at(second)), "{second}");
        }
        for second in [6, 30, 59] {
            assert!(!recent.permits("a", at(second)), "{second}");
        }
        assert!(recent.permits("b", at(59)));
        assert!(recent.permits("a", at(60)), "the first one is a minute ago");
        assert!(!recent.permits("a", at(60)));
        // Nothing of those that were not written lately is kept.
        assert!(recent.permits("c", at(600)));
        assert_eq!(recent.0.len(), 1);
    }
}
