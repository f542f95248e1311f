//! The deletion of all objects of a kind in a namespace.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use jiff::Timestamp;
use registry_core::RequestContext;
use registry_core::api::{ListOptions, time};
use registry_core::registry::Store;
use registry_core::rest::Lister as _;
use registry_core::storage::StoredObject;
use serde::Deserialize;

use crate::api_server::{self, ApiServerError};
use crate::controllers::client::{Client, Failure, Propagation};
use crate::controllers::kinds::Kind;
use crate::controllers::metadata::Metadata;

/// Maximum number of objects of a kind that are deleted at the same time: enough for their writes to share commits.
const CONCURRENT_DELETIONS: usize = 64;
/// Estimated time until finalizers are removed.
const FINALIZERS_SECONDS: u64 = 15;

/// The objects of a kind that remain in a namespace.
#[derive(Debug, Default)]
pub(super) struct Remaining {
    /// The number of objects.
    pub(super) objects: usize,
    /// The number of objects with each finalizer.
    pub(super) finalizers: BTreeMap<String, usize>,
    /// Estimated time until they are gone.
    pub(super) estimate_seconds: u64,
}

/// An object to delete.
struct Listed {
    metadata: Metadata,
    grace_seconds: u64,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PodSpec {
    termination_grace_period_seconds: i64,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PodStatus {
    phase: String,
}

#[derive(Deserialize)]
struct Pod {
    #[serde(default)]
    spec: PodSpec,
    #[serde(default)]
    status: PodStatus,
}

/// Deletes all objects of a kind in a namespace, which was deleted at a time. Returns what remains.
pub(super) async fn delete_content(
    client: &Client,
    kind: &Arc<Kind>,
    namespace: &str,
    deleted_at: &str,
) -> Result<Remaining, Failure> {
    let Some(objects) = list(client, kind, namespace).await? else { return Ok(Remaining::default()) };
    if objects.is_empty() {
        return Ok(Remaining::default());
    }
    let grace_seconds = objects.iter().map(|object| object.grace_seconds).max().unwrap_or_default();
    delete_all(client, kind, namespace, objects).await?;
    let remaining = list(client, kind, namespace).await?.unwrap_or_default();
    let mut finalizers = BTreeMap::<String, usize>::new();
    for finalizer in remaining.iter().flat_map(|object| &object.metadata.finalizers) {
        *finalizers.entry(finalizer.clone()).or_default() += 1;
    }
    let has_time = seconds_since(deleted_at) < grace_seconds;
    let estimate_seconds = match (has_time, finalizers.is_empty()) {
        (true, _) => grace_seconds,
        (false, false) => FINALIZERS_SECONDS,
        (false, true) if remaining.is_empty() => 0,
        (false, true) => {
            let Kind { group, version, resource, .. } = &**kind;
            let kind = format!("{group}/{version}, Resource={resource}");
            return Err(Failure::none(format!(
                "unexpected items still remain in namespace: {namespace} for gvr: {kind}"
            )));
        }
    };
    Ok(Remaining { objects: remaining.len(), finalizers, estimate_seconds })
}

async fn delete_all(
    client: &Client,
    kind: &Arc<Kind>,
    namespace: &str,
    objects: Vec<Listed>,
) -> Result<(), Failure> {
    if kind.store.is_none() && kind.can_delete_collection {
        let deleted = client.delete_any(&kind.collection(namespace), Propagation::Background).await;
        return if_supported(deleted);
    }
    // One at a time would be one commit at a time.
    stream::iter(objects)
        .map(|object| delete(client, kind.path(namespace, &object.metadata.name)))
        .buffer_unordered(CONCURRENT_DELETIONS)
        .try_collect::<()>()
        .await
}

async fn delete(client: &Client, path: String) -> Result<(), Failure> {
    if_supported(client.delete_any(&path, Propagation::Background).await)
}

/// Lists the objects of a kind in a namespace; `None` if the kind is not served any more.
async fn list(client: &Client, kind: &Arc<Kind>, namespace: &str) -> Result<Option<Vec<Listed>>, Failure> {
    match &kind.store {
        Some(store) => list_stored(store, kind, namespace).await.map(Some),
        None => list_remote(client, kind, namespace).await,
    }
}

async fn list_stored(store: &Store, kind: &Kind, namespace: &str) -> Result<Vec<Listed>, Failure> {
    let listed = store.list(&RequestContext::system(namespace), &ListOptions::default()).await;
    let page = listed.map_err(|failure| Failure::none(failure.to_string()))?;
    let is_pods = kind.group.is_empty() && kind.resource == "pods";
    let read = |object: &StoredObject| {
        let grace_seconds = if is_pods { grace_seconds(object) } else { 0 };
        let metadata = Metadata::read(object);
        let unreadable = || Failure::none(format!("the object {} cannot be read", object.key));
        Ok(Listed { metadata: metadata.ok_or_else(unreadable)?, grace_seconds })
    };
    page.items.iter().map(read).collect()
}

async fn list_remote(client: &Client, kind: &Kind, namespace: &str) -> Result<Option<Vec<Listed>>, Failure> {
    let path = format!("{}?", kind.collection(namespace));
    let (mut objects, mut token) = (Vec::new(), None);
    loop {
        let page = match api_server::page(&**client.server(), &path, token.as_deref()).await {
            Ok(page) => page,
            Err(ApiServerError::NotFound(_)) => return Ok(None),
            Err(failure) => return Err(Failure::none(failure.to_string())),
        };
        let values = page.items.into_iter().map(registry_core::api::Object::into_value);
        let metadata = values.filter_map(|value| Metadata::from_value(&value));
        objects.extend(metadata.map(|metadata| Listed { metadata, grace_seconds: 0 }));
        token = page.continue_token;
        if token.is_none() {
            return Ok(Some(objects));
        }
    }
}

/// Returns the time that a pod has to end; 0 if it has ended.
fn grace_seconds(pod: &StoredObject) -> u64 {
    let Ok(pod) = serde_json::from_slice::<Pod>(pod.json()) else { return 0 };
    if matches!(pod.status.phase.as_str(), "Succeeded" | "Failed") {
        return 0;
    }
    u64::try_from(pod.spec.termination_grace_period_seconds).unwrap_or_default()
}

fn seconds_since(moment: &str) -> u64 {
    let Some(moment) = time::parse(moment) else { return u64::MAX };
    u64::try_from(Timestamp::now().as_second() - moment.as_second()).unwrap_or_default()
}

/// Ignores that there is nothing to delete, or that it cannot be deleted.
fn if_supported(result: Result<(), Failure>) -> Result<(), Failure> {
    match result {
        Err(failure) if !failure.is_not_found() && !failure.is_not_supported() => Err(failure),
        _ => Ok(()),
    }
}
