//! What has to be done once after the start, beside serving.
//!
//! Kubernetes concept: post-start hooks; the system namespaces controller.

use std::sync::Arc;
use std::time::Duration;

use registry_core::RequestContext;
use registry_core::api::{CreateOptions, GetOptions, Object, Reason, StatusError};
use registry_core::registry::InstalledApi;
use registry_core::rest::{AdmitAll, Capabilities};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::health::{Check, Completion};

/// The namespaces every cluster has.
const SYSTEM_NAMESPACES: [&str; 4] = ["kube-system", "kube-public", "kube-node-lease", "default"];
/// The name of the hook that makes them.
const NAMESPACES_HOOK: &str = "start-system-namespaces-controller";
/// Who makes them.
const FIELD_MANAGER: &str = "kube-apiserver";
/// How long to wait before trying again: at first, and at most.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));

/// The hooks of a server, with what they work on.
pub(super) struct PostStartHooks {
    namespaces: Option<Capabilities>,
    namespaces_done: Arc<Completion>,
}

impl PostStartHooks {
    /// The hooks for what is installed.
    pub(super) fn new(installed: &InstalledApi) -> Self {
        let mut paths = installed.paths.iter();
        let namespaces = paths.find(|path| {
            let resource = path.resource;
            (resource.kind.group, resource.plural, path.subresource) == ("", "namespaces", None)
        });
        let namespaces = namespaces.map(|path| path.capabilities.clone());
        Self { namespaces, namespaces_done: Arc::default() }
    }

    /// The hooks by name, as health checks.
    pub(super) fn completions(&self) -> Vec<(&'static str, Arc<dyn Check>)> {
        match &self.namespaces {
            Some(_) => vec![(NAMESPACES_HOOK, self.namespaces_done.clone())],
            None => Vec::new(),
        }
    }

    /// Runs the hooks in the background, each again until it succeeds or the server stops.
    pub(super) fn spawn(self, stopping: CancellationToken) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        if let Some(namespaces) = self.namespaces {
            let done = self.namespaces_done;
            tasks.spawn(async move {
                let all = SYSTEM_NAMESPACES.map(|name| ensure_namespace(&namespaces, name));
                if stopping.run_until_cancelled(futures::future::join_all(all)).await.is_some() {
                    done.complete();
                }
            });
        }
        tasks
    }
}

/// Makes a namespace unless it is there, and tries until one of the two holds.
async fn ensure_namespace(namespaces: &Capabilities, name: &str) {
    let mut pause = BACKOFF.0;
    while let Err(failure) = try_ensure_namespace(namespaces, name).await {
        tracing::warn!(namespace = name, "cannot make the namespace yet: {failure}");
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(BACKOFF.1);
    }
}

async fn try_ensure_namespace(namespaces: &Capabilities, name: &str) -> Result<(), StatusError> {
    let context = RequestContext::system("");
    if let Some(getter) = &namespaces.getter {
        match getter.get(&context, name, &GetOptions::default()).await {
            Ok(_) => return Ok(()),
            Err(failure) if failure.is_not_found() => {}
            Err(failure) => return Err(failure),
        }
    }
    let Some(creater) = &namespaces.creater else { return Ok(()) };
    let mut object = Object::default();
    object.set_type("v1", "Namespace");
    object.set(&["metadata", "name"], name.into());
    let mut value = object.into_value();
    namespaces.storage.schema().apply_defaults(&mut value);
    let mut object = Object::from_value(value).unwrap_or_default();
    namespaces.storage.apply_defaults(&mut object);
    let options = CreateOptions { field_manager: FIELD_MANAGER.to_owned(), ..CreateOptions::default() };
    match creater.create(&context, object, &AdmitAll, &options).await {
        Err(failure) if failure.reason != Reason::AlreadyExists => Err(failure),
        _ => Ok(()),
    }
}
