//! Metrics of the requests to the engine, and of its commits.

use std::sync::Arc;
use std::time::Duration;

use prometheus::{Histogram, HistogramVec, IntCounterVec};

use registry_meta::GroupResource;

use super::families::{Bound, Families};
use super::names;
use super::text::MetricsError;

/// Metrics of the engine requests for one resource. The default records nothing.
#[derive(Clone, Default)]
pub struct EngineMetrics(Option<Arc<Counters>>);

/// Metrics of the embedded engine's commits. The default records nothing.
#[derive(Clone, Debug, Default)]
pub struct CommitMetrics(Option<Commits>);

/// A request to an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineOperation {
    /// Read one key.
    Get,
    /// Read a range of keys.
    List,
    /// Create a key.
    Create,
    /// Update a key.
    Update,
    /// Delete a key.
    Delete,
}

#[derive(Clone, Debug)]
struct Commits {
    seconds: Histogram,
    writes: Histogram,
}

/// The families of all resources.
#[derive(Clone)]
pub(super) struct EngineFamilies {
    seconds: HistogramVec,
    requests: IntCounterVec,
    errors: IntCounterVec,
    lists: IntCounterVec,
    list_fetched: IntCounterVec,
    list_evaluated: IntCounterVec,
    list_returned: IntCounterVec,
}

/// The metrics of one resource.
struct Counters {
    get: OperationCounters,
    list: OperationCounters,
    create: OperationCounters,
    update: OperationCounters,
    delete: OperationCounters,
    lists: Bound<IntCounterVec, 2>,
    list_fetched: Bound<IntCounterVec, 2>,
    list_evaluated: Bound<IntCounterVec, 2>,
    list_returned: Bound<IntCounterVec, 2>,
}

struct OperationCounters {
    seconds: Bound<HistogramVec, 3>,
    requests: Bound<IntCounterVec, 3>,
    errors: Bound<IntCounterVec, 3>,
}

// === impl EngineOperation ===

impl EngineOperation {
    /// Returns its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }
}

// === impl EngineFamilies ===

impl EngineFamilies {
    pub(super) fn new(families: &mut Families) -> Result<Self, MetricsError> {
        Ok(Self {
            seconds: families.histogram(&names::ENGINE_SECONDS)?,
            requests: families.counter(&names::ENGINE_REQUESTS)?,
            errors: families.counter(&names::ENGINE_ERRORS)?,
            lists: families.counter(&names::STORAGE_LISTS)?,
            list_fetched: families.counter(&names::STORAGE_LIST_FETCHED)?,
            list_evaluated: families.counter(&names::STORAGE_LIST_EVALUATED)?,
            list_returned: families.counter(&names::STORAGE_LIST_RETURNED)?,
        })
    }

    pub(super) fn for_resource(&self, resource: GroupResource) -> EngineMetrics {
        let operation = |operation: EngineOperation| {
            let labels = [operation.name(), resource.group, resource.resource];
            OperationCounters {
                seconds: Bound::new(&self.seconds, labels),
                requests: Bound::new(&self.requests, labels),
                errors: Bound::new(&self.errors, labels),
            }
        };
        let counter = |family| Bound::new(family, [resource.group, resource.resource]);
        EngineMetrics(Some(Arc::new(Counters {
            get: operation(EngineOperation::Get),
            list: operation(EngineOperation::List),
            create: operation(EngineOperation::Create),
            update: operation(EngineOperation::Update),
            delete: operation(EngineOperation::Delete),
            lists: counter(&self.lists),
            list_fetched: counter(&self.list_fetched),
            list_evaluated: counter(&self.list_evaluated),
            list_returned: counter(&self.list_returned),
        })))
    }
}

// === impl EngineMetrics ===

impl EngineMetrics {
    /// Records a request to the engine, with its duration.
    pub fn asked(&self, operation: EngineOperation, took: Duration, failed: bool) {
        let Some(counters) = &self.0 else { return };
        let counters = match operation {
            EngineOperation::Get => &counters.get,
            EngineOperation::List => &counters.list,
            EngineOperation::Create => &counters.create,
            EngineOperation::Update => &counters.update,
            EngineOperation::Delete => &counters.delete,
        };
        counters.requests.get().inc();
        counters.seconds.get().observe(took.as_secs_f64());
        if failed {
            counters.errors.get().inc();
        }
    }

    /// Records a list answered from the engine: the number of objects read, tested by a selector, and returned.
    pub fn listed(&self, fetched: usize, evaluated: usize, returned: usize) {
        let Some(counters) = &self.0 else { return };
        counters.lists.get().inc();
        counters.list_fetched.get().inc_by(fetched as u64);
        counters.list_evaluated.get().inc_by(evaluated as u64);
        counters.list_returned.get().inc_by(returned as u64);
    }
}

// === impl CommitMetrics ===

impl CommitMetrics {
    pub(super) fn new(families: &mut Families) -> Result<Self, MetricsError> {
        let seconds = families.histogram(&names::COMMIT_DURATION)?.with_label_values::<&str>(&[]);
        let writes = families.histogram(&names::COMMIT_WRITES)?.with_label_values::<&str>(&[]);
        Ok(Self(Some(Commits { seconds, writes })))
    }

    /// Records a commit, with the number of its writes and its duration.
    #[allow(clippy::cast_precision_loss, reason = "a commit has some hundred writes")]
    pub fn committed(&self, writes: usize, took: Duration) {
        let Some(commits) = &self.0 else { return };
        commits.writes.observe(writes as f64);
        commits.seconds.observe(took.as_secs_f64());
    }
}
