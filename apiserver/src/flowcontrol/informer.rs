//! Watches the stored flow schemas and priority levels.
//!
//! Kubernetes concept: `priority-and-fairness-config-consumer`.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::api::flowcontrol::v1::{FlowSchema, PriorityLevelConfiguration};
use registry_core::RequestContext;
use registry_core::api::{ListOptions, Object, StatusError};
use registry_core::registry::{InstalledApi, Store};
use registry_core::rest::{Lister as _, Watcher as _};
use registry_core::storage::WatchStream;
use resources::bootstrap::DanglingStatus;
use serde::de::DeserializeOwned;

use super::{CompiledSchema, FlowSchemas};

/// Time before watching again after a failure.
const BACKOFF: Duration = Duration::from_secs(1);
/// Time after a change in which further changes are collected, so that all are read at once.
const GATHER: Duration = Duration::from_millis(20);

/// Keeps the schemas in force equal to the stored ones.
pub struct FlowSchemaInformer {
    schemas: Arc<Store>,
    levels: Arc<Store>,
    status: DanglingStatus,
    in_force: Arc<FlowSchemas>,
}

// === impl FlowSchemaInformer ===

impl FlowSchemaInformer {
    /// Returns the informer of an installed API, or `None` if schemas or levels are not served.
    pub fn new(installed: &InstalledApi, in_force: Arc<FlowSchemas>) -> Option<Self> {
        let store = |plural: &str| {
            let of = |group: &str| group == "flowcontrol.apiserver.k8s.io";
            let mut paths = installed.paths.iter();
            let path = paths.find(|path| path.resource.plural == plural && of(path.resource.kind.group))?;
            path.store.clone()
        };
        Some(Self {
            schemas: store("flowschemas")?,
            levels: store("prioritylevelconfigurations")?,
            status: DanglingStatus::new(installed)?,
            in_force,
        })
    }

    /// Runs until it is dropped.
    pub async fn follow(self) {
        loop {
            if let Err(failure) = self.follow_once().await {
                tracing::warn!("cannot follow the flow schemas: {failure}");
            }
            tokio::time::sleep(BACKOFF).await;
        }
    }

    /// Runs until a watch ends.
    async fn follow_once(&self) -> Result<(), StatusError> {
        let mut schemas = watch(&self.schemas).await?;
        let mut levels = watch(&self.levels).await?;
        loop {
            self.refresh().await?;
            tokio::select! {
                event = schemas.next() => if !matches!(event, Some(Ok(_))) { return Ok(()) },
                event = levels.next() => if !matches!(event, Some(Ok(_))) { return Ok(()) },
            }
            tokio::time::sleep(GATHER).await;
            // Drains the events that have arrived meanwhile.
            while let Some(event) = futures::FutureExt::now_or_never(schemas.next()) {
                if !matches!(event, Some(Ok(_))) {
                    return Ok(());
                }
            }
        }
    }

    /// Compiles the stored schemas, and puts them in force.
    async fn refresh(&self) -> Result<(), StatusError> {
        let levels = list::<PriorityLevelConfiguration>(&self.levels).await?;
        let uids: HashMap<String, String> = levels
            .into_iter()
            .filter_map(|(_, level)| Some((level.metadata.name?, level.metadata.uid?)))
            .collect();
        let mut compiled = Vec::new();
        let mut found = Vec::new();
        for (object, schema) in list::<FlowSchema>(&self.schemas).await? {
            let level = schema.spec.as_ref().map(|spec| &spec.priority_level_configuration.name);
            let uid = level.and_then(|level| uids.get(level));
            compiled.extend(uid.and_then(|uid| CompiledSchema::new(schema.clone(), uid)));
            found.push((object, uid.is_some()));
        }
        self.in_force.replace(compiled);
        self.status.write(found).await
    }
}

async fn watch(store: &Store) -> Result<WatchStream, StatusError> {
    // The start revision does not matter: each event only triggers a new read.
    let options = ListOptions { resource_version: Some(0), ..ListOptions::default() };
    store.watch(&RequestContext::system(""), &options).await
}

/// Returns all objects from the cache, which is at least as new as the event.
async fn list<T: DeserializeOwned>(store: &Store) -> Result<Vec<(Object, T)>, StatusError> {
    let options = ListOptions { resource_version: Some(0), ..ListOptions::default() };
    let page = store.list(&RequestContext::system(""), &options).await?;
    let mut objects = Vec::with_capacity(page.items.len());
    for entry in page.items {
        let object = store.read(&entry)?;
        // An object that cannot be decoded was not written through this API, and is ignored.
        if let Ok(typed) = object.view() {
            objects.push((object, typed));
        }
    }
    Ok(objects)
}
