//! `ttl-after-finished-controller`: deletes jobs that have finished when their time has come.
//!
//! Kubernetes concept: `pkg/controller/ttlafterfinished`.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use registry_core::api::clock::Clock;
use registry_core::api::time;
use serde_json::Value;

use super::client::{Client, Failure, Propagation};
use super::kinds::Kind;
use super::metadata::Metadata;
use super::objects::Observer;
use super::queue::{Outcome, Queue};

/// The account of the controller.
pub(super) const ACCOUNT: &str = "ttl-after-finished-controller";

/// Maximum number of jobs that are worked on at the same time.
const WORKERS: usize = 8;

/// The controller.
pub(super) struct TtlAfterFinished {
    client: Client,
    observed: Arc<ObservedJobs>,
    clock: Clock,
}

/// The jobs that have changed, by namespace and name.
pub(super) struct ObservedJobs(Queue<(String, String)>);

/// The time at which a job is to be deleted.
#[derive(Debug, PartialEq, Eq)]
enum Due {
    /// Nothing, as long as it does not change.
    Never,
    /// It is looked at again after this time.
    In(Duration),
    /// It is deleted.
    Now,
}

// === impl ObservedJobs ===

impl ObservedJobs {
    /// Creates it, without any job.
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self(Queue::new()))
    }
}

impl Observer for ObservedJobs {
    fn replaced(&self, kind: &Arc<Kind>, objects: &[Metadata]) {
        for object in objects {
            self.changed(kind, object);
        }
    }

    fn changed(&self, kind: &Arc<Kind>, object: &Metadata) {
        if kind.group == "batch" && kind.resource == "jobs" && !object.is_being_deleted() {
            self.0.add((object.namespace.clone(), object.name.clone()));
        }
    }

    fn removed(&self, _kind: &Arc<Kind>, _object: &Metadata) {}
}

// === impl TtlAfterFinished ===

impl TtlAfterFinished {
    /// Creates the controller.
    pub(super) fn new(client: Client, observed: Arc<ObservedJobs>, clock: Clock) -> Self {
        Self { client, observed, clock }
    }

    /// Works until it is dropped.
    pub(super) async fn run(&self) {
        self.observed.0.run(WORKERS, |(namespace, name)| self.work(namespace, name)).await;
    }

    async fn work(&self, namespace: String, name: String) -> Outcome {
        match self.delete_if_due(&namespace, &name).await {
            Ok(None) => Outcome::Done,
            Ok(Some(pause)) => Outcome::Again(pause),
            Err(failure) => {
                tracing::debug!(namespace, name, "a finished job is not deleted yet: {failure}");
                Outcome::Failed
            }
        }
    }

    /// Deletes a job if its time has come. Returns the time until then.
    async fn delete_if_due(&self, namespace: &str, name: &str) -> Result<Option<Duration>, Failure> {
        let path = format!("/apis/batch/v1/namespaces/{namespace}/jobs/{name}");
        let Some(job) = self.client.get(&path).await? else { return Ok(None) };
        match due(&job, self.clock.now()) {
            Due::Never => Ok(None),
            Due::In(left) => Ok(Some(self.clock.pause(left))),
            Due::Now => {
                let uid = job.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default();
                let state = Metadata { uid: uid.to_owned(), ..Metadata::default() };
                match self.client.delete(&path, &state, Propagation::Foreground).await {
                    Err(failure) if !failure.is_not_found() => Err(failure),
                    _ => Ok(None),
                }
            }
        }
    }
}

/// Returns when a job is to be deleted.
fn due(job: &Value, now: Timestamp) -> Due {
    let ttl_seconds = job.pointer("/spec/ttlSecondsAfterFinished").and_then(Value::as_i64);
    let is_being_deleted = job.pointer("/metadata/deletionTimestamp").is_some();
    let (Some(ttl_seconds), Some(finished), false) = (ttl_seconds, finished_at(job), is_being_deleted) else {
        return Due::Never;
    };
    // A time beyond the range never comes.
    let Ok(at) = finished.checked_add(SignedDuration::from_secs(ttl_seconds)) else { return Due::Never };
    match Duration::try_from(at.duration_since(now)) {
        Ok(left) if !left.is_zero() => Due::In(left),
        _ => Due::Now,
    }
}

/// Returns when a job finished; `None` if it has not, or does not say when.
fn finished_at(job: &Value) -> Option<Timestamp> {
    let conditions = job.pointer("/status/conditions").and_then(Value::as_array)?;
    let text =
        |condition: &Value, field: &str| condition.get(field).and_then(Value::as_str).map(str::to_owned);
    let is_end = |condition: &&Value| {
        let is_true = text(condition, "status").as_deref() == Some("True");
        is_true && matches!(text(condition, "type").as_deref(), Some("Complete" | "Failed"))
    };
    let end = conditions.iter().find(is_end)?;
    time::parse(&text(end, "lastTransitionTime")?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_job_is_due_a_time_after_its_end() {
        let job =
            |spec: &Value, condition: &Value| json!({"spec": spec, "status": {"conditions": [condition]}});
        let (now, ttl) = ("2026-01-01T00:01:00Z".parse().unwrap(), json!({"ttlSecondsAfterFinished": 90}));
        let end = |kind: &str, status: &str, at: &str| json!({"type": kind, "status": status, "lastTransitionTime": at});
        let ended = end("Complete", "True", "2026-01-01T00:00:00Z");
        assert_eq!(due(&job(&ttl, &ended), now), Due::In(Duration::from_secs(30)));
        assert_eq!(due(&job(&json!({}), &ended), now), Due::Never);
        assert_eq!(due(&job(&json!({"ttlSecondsAfterFinished": 60}), &ended), now), Due::Now);
        assert_eq!(due(&job(&json!({"ttlSecondsAfterFinished": i64::MAX}), &ended), now), Due::Never);
        assert_eq!(due(&job(&ttl, &end("Complete", "False", "2026-01-01T00:00:00Z")), now), Due::Never);
        assert_eq!(
            due(&job(&ttl, &end("SuccessCriteriaMet", "True", "2020-01-01T00:00:00Z")), now),
            Due::Never
        );
        assert_eq!(due(&job(&ttl, &end("Failed", "True", "2020-01-01T00:00:00Z")), now), Due::Now);
        assert_eq!(due(&job(&ttl, &end("Failed", "True", "soon")), now), Due::Never);
    }
}
