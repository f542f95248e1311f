//! Follows the stored flow schemas and priority levels.
//!
//! Kubernetes concept: `priority-and-fairness-config-consumer`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use flowcontrol::{FlowControl, LevelConfiguration, level_of};
use k8s_openapi::api::flowcontrol::v1::FlowSchema;
use registry_core::api::{Object, StatusError};
use registry_core::registry::{Compiled, InformerTask, InstalledApi, Synced};
use registry_core::resource::Resource;
use resources::api::flowcontrol::flowschemas::FlowSchemas as FlowSchemaResource;
use resources::api::flowcontrol::prioritylevelconfigurations::PriorityLevelConfigurations;
use resources::bootstrap::DanglingStatus;

/// Time before another attempt after a failure.
const BACKOFF: Duration = Duration::from_secs(1);
/// Time after a change in which further changes are collected, so that all are put in force at once.
const GATHER: Duration = Duration::from_millis(20);

/// Keeps the levels and schemas in force equal to the stored ones.
pub(super) struct FlowSchemaInformer {
    schemas: Arc<Compiled<Schema>>,
    levels: Arc<Compiled<(String, LevelConfiguration)>>,
    synced: [Synced; 2],
    /// Writes which schemas lack their level, unless the main server of an extension server does.
    status: Option<DanglingStatus>,
    control: Arc<FlowControl>,
}

/// A stored schema.
struct Schema {
    object: Object,
    typed: FlowSchema,
}

// === impl FlowSchemaInformer ===

impl FlowSchemaInformer {
    /// Returns the informer of an installed API, and the tasks that it needs, or `None` if there are no schemas or levels in
    /// it. It writes their status if they are this server's own.
    pub(super) fn new(
        installed: &InstalledApi,
        control: Arc<FlowControl>,
        are_own: bool,
    ) -> Option<(Self, [InformerTask; 2])> {
        let schemas = installed.store(FlowSchemaResource::TYPE)?;
        let levels = installed.store(PriorityLevelConfigurations::TYPE)?;
        let (schemas, follows_schemas) = Compiled::informer(schemas, Schema::new);
        let (levels, follows_levels) = Compiled::informer(levels, |level| level_of_object(&level));
        let tasks = [follows_schemas.into_task(), follows_levels.into_task()];
        let synced = tasks.each_ref().map(InformerTask::synced);
        let status = if are_own { Some(DanglingStatus::new(installed)?) } else { None };
        let informer = Self { schemas, levels, synced, status, control };
        Some((informer, tasks))
    }

    /// Runs until it is dropped.
    pub(super) async fn follow(self) {
        tokio::join!(self.follow_objects(), self.control.follow_demand());
    }

    async fn follow_objects(&self) {
        for synced in &self.synced {
            synced.wait().await;
        }
        let mut schemas = self.schemas.subscribe();
        let mut levels = self.levels.subscribe();
        loop {
            schemas.mark_unchanged();
            levels.mark_unchanged();
            let again = self.refresh().await.unwrap_or_else(|failure| {
                tracing::warn!("cannot write which flow schemas lack their level: {failure}");
                Some(BACKOFF)
            });
            // The senders live as long as this.
            tokio::select! {
                _ = schemas.changed() => {},
                _ = levels.changed() => {},
                () = tokio::time::sleep(again.unwrap_or_default()), if again.is_some() => {},
            }
            tokio::time::sleep(GATHER).await;
        }
    }

    /// Puts the stored levels and schemas in force. Returns the time after which that has to be done again, although nothing
    /// changes.
    async fn refresh(&self) -> Result<Option<Duration>, StatusError> {
        let levels: BTreeMap<String, LevelConfiguration> =
            self.levels.snapshot().values().map(|level| level.as_ref().clone()).collect();
        let mut schemas = Vec::new();
        let mut found = Vec::new();
        for schema in self.schemas.snapshot().values() {
            let is_found = level_of(&schema.typed).is_some_and(|level| levels.contains_key(level));
            found.push((schema.object.clone(), is_found));
            schemas.push(schema.typed.clone());
        }
        self.control.configure(levels, schemas);
        match &self.status {
            Some(status) => status.write(found).await,
            None => Ok(None),
        }
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

/// Decodes a level. One that contradicts itself is treated as missing.
fn level_of_object(level: &Object) -> Option<(String, LevelConfiguration)> {
    let name = level.name().to_owned();
    Some((name, LevelConfiguration::new(level.view().ok()?)?))
}
