//! What extension servers say of themselves in discovery and OpenAPI.
//!
//! Their documents are fetched when they become available, and every minute. Those of a server that does not respond any
//! more stay, and are marked as stale.
//!
//! Kubernetes concept: `discoveryManager` of `k8s.io/kube-aggregator`.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures::stream::StreamExt as _;
use http::header::ACCEPT;
use http::response;
use http::{HeaderValue, Request};
use http_body_util::{BodyExt as _, Limited};
use registry_core::context::UserInfo;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::authorization::MASTERS;
use crate::clients::request_failed;
use crate::discovery::{PublishRemote, RemoteGroups, RemoteVersion};

use super::forward::url;
use super::remote_service::RemoteService;
use super::transport::Transports;
use super::{RemoteApis, identity};

/// Time between two fetches.
const PERIOD: Duration = Duration::from_mins(1);
/// Maximum time of a request.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of a document.
const MAX_DOCUMENT_BYTES: usize = 8 * 1024 * 1024;
/// Maximum number of concurrent requests.
const MAX_FETCHES: usize = 8;
/// The form of discovery that extension servers are asked for.
const AGGREGATED: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
/// The user of these requests.
const AGGREGATOR_USER: &str = "system:kube-aggregator";

/// Keeps the documents up to date.
pub(crate) struct DocumentsController {
    remote: Arc<RemoteApis>,
    published: Arc<dyn PublishRemote>,
}

// === impl DocumentsController ===

impl DocumentsController {
    /// Creates the controller. It publishes documents to `published`.
    pub(crate) fn new(remote: Arc<RemoteApis>, published: Arc<dyn PublishRemote>) -> Self {
        Self { remote, published }
    }

    /// Runs until it is dropped.
    pub(crate) async fn run(self) {
        let mut changes = self.remote.services.subscribe();
        let mut groups = RemoteGroups::default();
        loop {
            changes.mark_unchanged();
            let next = self.fetch_all(&groups).await;
            if next != groups {
                groups = next;
                self.published.publish(groups.clone());
            }
            tokio::select! {
                changed = changes.changed() => if changed.is_err() { return },
                () = tokio::time::sleep(PERIOD) => {}
            }
        }
    }

    async fn fetch_all(&self, before: &RemoteGroups) -> RemoteGroups {
        let fetches = self.remote.services.all().into_iter().map(|service| async move {
            let fetched = if service.is_available { self.fetch(&service).await } else { None };
            fetched.unwrap_or_else(|| stale(before, &service))
        });
        let versions: Vec<RemoteVersion> =
            futures::stream::iter(fetches).buffer_unordered(MAX_FETCHES).collect().await;
        RemoteGroups::new(versions)
    }

    /// Fetches the documents of one group version; `None` if the server does not respond as it should.
    async fn fetch(&self, service: &RemoteService) -> Option<RemoteVersion> {
        let resources = match self.json(service, "/apis", AGGREGATED).await {
            Some(list) => aggregated_resources(&list, service),
            None => None,
        };
        let resources = match resources {
            Some(resources) => resources,
            None => plain_resources(&self.json(service, &service.root(), "application/json").await?)?,
        };
        let index = self.json(service, "/openapi/v3", "application/json").await;
        let openapi = index.and_then(|index| openapi_url(&index, service));
        Some(RemoteVersion { is_current: true, resources: Arc::new(resources), openapi, ..unknown(service) })
    }

    async fn json(&self, service: &RemoteService, path: &str, accept: &'static str) -> Option<Value> {
        let mut request = Request::get(path).body(Body::empty()).ok()?;
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static(accept));
        let transports = self.remote.forwarder.transports();
        match get(transports, service, request, TIMEOUT, MAX_DOCUMENT_BYTES).await {
            Ok((head, body)) if head.status.is_success() => serde_json::from_slice(&body).ok(),
            Ok(_) => None,
            Err(reason) => {
                tracing::debug!(api_service = service.name, path, "a document cannot be fetched: {reason}");
                None
            }
        }
    }
}

/// Returns what was known of a group version whose server does not respond.
fn stale(known: &RemoteGroups, service: &RemoteService) -> RemoteVersion {
    let known = known.versions_of(&service.group).find(|known| known.version == service.version);
    let (resources, openapi) = match known {
        Some(known) => (known.resources.clone(), known.openapi.clone()),
        None => (Arc::new(json!([])), None),
    };
    RemoteVersion { resources, openapi, ..unknown(service) }
}

/// Returns a group version of which nothing is known.
fn unknown(service: &RemoteService) -> RemoteVersion {
    RemoteVersion {
        group: service.group.clone(),
        version: service.version.clone(),
        group_priority: service.group_priority,
        version_priority: service.version_priority,
        is_current: false,
        resources: Arc::new(json!([])),
        openapi: None,
    }
}

/// Sends a request of the aggregator itself, and returns the response with its body.
///
/// # Errors
/// Fails with a reason if there is no response of at most this size in time.
pub(super) async fn get(
    transports: &Transports,
    service: &RemoteService,
    mut request: Request<Body>,
    limit: Duration,
    max_bytes: usize,
) -> Result<(response::Parts, Bytes), String> {
    let user = UserInfo {
        name: AGGREGATOR_USER.to_owned(),
        groups: vec![MASTERS.to_owned()],
        ..UserInfo::default()
    };
    identity::set(request.headers_mut(), &user)?;
    *request.uri_mut() = url(service, request.uri().path())?;
    let transport = transports.of(service)?;
    let answered = async {
        let answer = transport.requests.request(request).await.map_err(|error| request_failed(&error))?;
        let (head, body) = answer.into_parts();
        let body = Limited::new(body, max_bytes).collect().await.map_err(|error| error.to_string())?;
        Ok((head, body.to_bytes()))
    };
    match timeout(limit, answered).await {
        Ok(outcome) => outcome,
        Err(_) => {
            Err("context deadline exceeded (Client.Timeout exceeded while awaiting headers)".to_owned())
        }
    }
}

/// Returns the resources of a service's group version in an `APIGroupDiscoveryList`.
fn aggregated_resources(list: &Value, service: &RemoteService) -> Option<Value> {
    if list.get("kind")? != "APIGroupDiscoveryList" {
        return None;
    }
    let mut groups = list.get("items")?.as_array()?.iter();
    let group = groups
        .find(|group| group.pointer("/metadata/name").and_then(Value::as_str) == Some(&service.group))?;
    let mut versions = group.get("versions")?.as_array()?.iter();
    let version =
        versions.find(|one| one.get("version").and_then(Value::as_str) == Some(&service.version))?;
    Some(version.get("resources").cloned().filter(Value::is_array).unwrap_or_else(|| json!([])))
}

/// Returns the resources of an `APIResourceList` as `APIVersionDiscovery` has them.
///
/// Kubernetes concept: `convertAPIResources` of `k8s.io/apiserver/pkg/endpoints`.
fn plain_resources(list: &Value) -> Option<Value> {
    let listed = list.get("resources")?.as_array()?;
    let name = |one: &Value| one.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut resources: Vec<Value> = Vec::new();
    for one in listed.iter().filter(|one| !name(one).contains('/')) {
        let is_namespaced = one.get("namespaced").and_then(Value::as_bool).unwrap_or_default();
        let mut entry = json!({
            "resource": name(one),
            "responseKind": response_kind(one),
            "scope": if is_namespaced { "Namespaced" } else { "Cluster" },
            "singularResource": one.get("singularName").and_then(Value::as_str).unwrap_or_default(),
            "verbs": one.get("verbs").cloned().unwrap_or_else(|| json!([])),
        });
        for field in ["shortNames", "categories"] {
            if let (Some(value), Some(entry)) = (one.get(field), entry.as_object_mut()) {
                entry.insert(field.to_owned(), value.clone());
            }
        }
        resources.push(entry);
    }
    for one in listed {
        let own = name(one);
        let Some((parent, subresource)) = own.split_once('/') else { continue };
        let Some(parent) =
            resources.iter_mut().find(|entry| entry.get("resource").and_then(Value::as_str) == Some(parent))
        else {
            continue;
        };
        let entry = json!({
            "subresource": subresource,
            "responseKind": response_kind(one),
            "verbs": one.get("verbs").cloned().unwrap_or_else(|| json!([])),
        });
        let Some(parent) = parent.as_object_mut() else { continue };
        let others = parent.entry("subresources").or_insert_with(|| json!([]));
        if let Some(others) = others.as_array_mut() {
            others.push(entry);
        }
    }
    Some(Value::Array(resources))
}

fn response_kind(resource: &Value) -> Value {
    let text = |field: &str| resource.get(field).and_then(Value::as_str).unwrap_or_default();
    json!({ "group": text("group"), "version": text("version"), "kind": text("kind") })
}

/// Returns the URL of a group version's document in an index of OpenAPI v3.
fn openapi_url(index: &Value, service: &RemoteService) -> Option<String> {
    let path = service.root();
    let path = path.trim_start_matches('/');
    let url = index.get("paths")?.get(path)?.get("serverRelativeURL")?.as_str()?;
    // It is forwarded at this path only.
    url.starts_with(&format!("/openapi/v3/{path}")).then(|| url.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_list_becomes_the_aggregated_form() {
        let list = json!({
            "kind": "APIResourceList", "groupVersion": "g.example.com/v1",
            "resources": [
                { "name": "animals", "singularName": "animal", "namespaced": true, "kind": "Animal", "verbs": ["get"],
                  "shortNames": ["an"] },
                { "name": "animals/status", "singularName": "", "namespaced": true, "kind": "Animal", "verbs": ["update"] },
                { "name": "orphans/status", "kind": "Orphan", "verbs": ["get"] },
            ],
        });
        let kind = json!({ "group": "", "version": "", "kind": "Animal" });
        let expected = json!([{
            "resource": "animals", "responseKind": kind, "scope": "Namespaced", "singularResource": "animal",
            "verbs": ["get"], "shortNames": ["an"],
            "subresources": [{ "subresource": "status", "responseKind": kind, "verbs": ["update"] }],
        }]);
        assert_eq!(plain_resources(&list), Some(expected));
        assert_eq!(plain_resources(&json!({ "kind": "Status" })), None);
    }
}
