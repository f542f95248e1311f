//! Follows the stored flow schemas and priority levels.
//!
//! Kubernetes concept: `priority-and-fairness-config-consumer`.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::flowcontrol::v1::FlowSchema;
use registry_core::api::{Object, StatusError};
use registry_core::registry::{Compiled, InformerTask, InstalledApi, Synced};
use registry_core::resource::Resource;
use resources::bootstrap::DanglingStatus;
use resources::flowcontrol::flowschemas::FlowSchemas as FlowSchemaResource;
use resources::flowcontrol::prioritylevelconfigurations::PriorityLevelConfigurations;

use super::{CompiledSchema, FlowSchemas};

/// Time before another attempt after a failure.
const BACKOFF: Duration = Duration::from_secs(1);
/// Time after a change in which further changes are collected, so that all are put in force at once.
const GATHER: Duration = Duration::from_millis(20);

/// Keeps the schemas in force equal to the stored ones.
pub struct FlowSchemaInformer {
    schemas: Arc<Compiled<Schema>>,
    /// The uids of the levels.
    levels: Arc<Compiled<String>>,
    synced: [Synced; 2],
    status: DanglingStatus,
    in_force: Arc<FlowSchemas>,
}

/// A stored schema.
struct Schema {
    object: Object,
    typed: FlowSchema,
}

// === impl FlowSchemaInformer ===

impl FlowSchemaInformer {
    /// Returns the informer of an installed API, and the tasks that it needs, or `None` if schemas or levels are not
    /// served.
    pub fn new(installed: &InstalledApi, in_force: Arc<FlowSchemas>) -> Option<(Self, [InformerTask; 2])> {
        let schemas = installed.store(FlowSchemaResource::TYPE)?;
        let levels = installed.store(PriorityLevelConfigurations::TYPE)?;
        let (schemas, follows_schemas) = Compiled::informer(schemas, Schema::new);
        let (levels, follows_levels) = Compiled::informer(levels, |level| uid(&level));
        let tasks = [follows_schemas.into_task(), follows_levels.into_task()];
        let synced = tasks.each_ref().map(InformerTask::synced);
        let informer = Self { schemas, levels, synced, status: DanglingStatus::new(installed)?, in_force };
        Some((informer, tasks))
    }

    /// Runs until it is dropped.
    pub async fn follow(self) {
        for synced in &self.synced {
            synced.wait().await;
        }
        let mut schemas = self.schemas.subscribe();
        let mut levels = self.levels.subscribe();
        loop {
            schemas.mark_unchanged();
            levels.mark_unchanged();
            let refreshed = self.refresh().await;
            if let Err(failure) = &refreshed {
                tracing::warn!("cannot write which flow schemas lack their level: {failure}");
            }
            // The senders live as long as this.
            tokio::select! {
                _ = schemas.changed() => {},
                _ = levels.changed() => {},
                () = tokio::time::sleep(BACKOFF), if refreshed.is_err() => {},
            }
            tokio::time::sleep(GATHER).await;
        }
    }

    /// Puts the stored schemas in force.
    async fn refresh(&self) -> Result<(), StatusError> {
        let mut compiled = Vec::new();
        let mut found = Vec::new();
        for schema in self.schemas.snapshot().values() {
            let level = schema.typed.spec.as_ref().map(|spec| &spec.priority_level_configuration.name);
            let uid = level.and_then(|level| self.levels.get("", level));
            found.push((schema.object.clone(), uid.is_some()));
            compiled.extend(uid.and_then(|uid| CompiledSchema::new(schema.typed.clone(), &uid)));
        }
        self.in_force.replace(compiled);
        self.status.write(found).await
    }
}

// === impl Schema ===

impl Schema {
    /// Decodes a schema. One that cannot be decoded was not written through this API, and is ignored.
    fn new(object: Object) -> Option<Self> {
        let typed = object.view().ok()?;
        Some(Self { object, typed })
    }
}

/// Returns the uid of an object, if it has one.
fn uid(object: &Object) -> Option<String> {
    Some(object.uid().to_owned()).filter(|uid| !uid.is_empty())
}
