//! All built-in kinds over an engine in memory, without a network.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use apiserver::admission::{AdmissionChain, NamespaceLifecycle};
use apiserver::authorization::{Authorizer, AuthorizerChain};
use apiserver::handlers::{Api, ApiConfig, ApiParts};
use apiserver::options::AdmissionOptions;
use apiserver::request_info::RequestInfo;
use axum::body::Body;
use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt;
use registry_core::RequestContext;
use registry_core::context::Budget;
use registry_core::registry::storage_map::{InstalledApi, OpenStorage};
use registry_core::resource::{ResourceType, Versions};
use registry_core::storage::cacher::{CacheBudget, Cacher, CacherOptions};
use registry_core::storage::embedded::Embedded;
use registry_core::storage::mvcc::Mvcc;
use registry_core::storage::transform::Identity;
use registry_core::storage::versioned::VersionedStore;
use registry_core::storage::{Interface, StorageError};
use resources::admission::AdmissionSettings;
use resources::api::core::services::{NodePortRange, ServiceAllocation, ServiceRange};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use super::cost::timed;

struct Storages(Arc<Embedded>);

impl OpenStorage for Storages {
    fn open(&self, versions: &Arc<Versions>) -> Result<Arc<dyn Interface>, StorageError> {
        let resource = versions.hub();
        let store = VersionedStore::new(self.0.clone(), Arc::new(Identity), versions.clone());
        let options = CacherOptions {
            prefix: format!("/registry/{}/", resource.storage_prefix),
            indexes: resource.indexes,
            budget: Arc::new(CacheBudget::new(1 << 30)),
            history_events: 100,
            bookmark_period: Duration::from_mins(1),
        };
        Ok(Cacher::new(Arc::new(store), options))
    }

    fn prefix(&self) -> &'static str {
        "/registry"
    }
}

/// The server, and the one thread it runs on.
pub(crate) struct Server {
    runtime: Runtime,
    api: Arc<Api>,
    engine: Arc<Embedded>,
    pub(crate) installed: Arc<InstalledApi>,
}

/// A response, and its processor time.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) body: Bytes,
    pub(crate) time: Duration,
}

// === impl Server ===

impl Server {
    /// Starts a new server with the namespace `default`.
    pub(crate) fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let engine = Embedded::in_memory();
        let entered = runtime.enter();
        let storages = Storages(engine.clone());
        let installed = Arc::new(resources::STORAGE_MAP.install(&storages, &|_| true).unwrap());
        let addresses = ServiceRange { base: [10, 0, 0, 0].into(), prefix_bits: 16 };
        let node_ports = NodePortRange::default();
        let ranges = ServiceAllocation { addresses: addresses.into(), node_ports };
        resources::attach_hooks(&installed, ranges, None, registry_core::features::Features::default());
        let mut admission = AdmissionChain::default();
        admission.mutating.push(Arc::new(NamespaceLifecycle::new(&installed).unwrap()));
        let plugins = resources::admission::plugins(&installed, &AdmissionSettings::default());
        admission.mutating.extend(plugins.mutating);
        admission.validating.extend(plugins.validating);
        AdmissionOptions::default().apply(&mut admission).unwrap();
        let config = ApiConfig { cbor: true, ..ApiConfig::default() };
        // All requests are those of an administrator.
        let authorizer = Some(Arc::new(AuthorizerChain::default()) as Arc<dyn Authorizer>);
        let parts = ApiParts { admission, authorizer, ..ApiParts::default() };
        let api = Api::with_config(&installed, parts, CancellationToken::new(), config);
        drop(entered);
        let server = Self { runtime, api, engine, installed };
        let namespace = json!({"metadata": {"name": "default"}}).to_string();
        assert_eq!(server.post("/api/v1/namespaces", namespace).status, 201);
        // Pods wait for it.
        let account = json!({"metadata": {"name": "default"}}).to_string();
        assert_eq!(server.post("/api/v1/namespaces/default/serviceaccounts", account).status, 201);
        server
    }

    /// Waits for a future whose time is not measured.
    pub(crate) fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    pub(crate) fn post(&self, url: &str, body: impl Into<Body>) -> Answer {
        self.send(Request::post(url).header("content-type", "application/json").body(body.into()).unwrap())
    }

    pub(crate) fn write(&self, method: Method, url: &str, media_type: &str, body: impl Into<Body>) -> Answer {
        let request = Request::builder().method(method).uri(url).header("content-type", media_type);
        self.send(request.body(body.into()).unwrap())
    }

    pub(crate) fn get(&self, url: &str, accept: &str) -> Answer {
        self.send(Request::get(url).header("accept", accept).body(Body::empty()).unwrap())
    }

    /// Creates an object within the budget that the requests of clients have.
    pub(crate) fn post_within_budget(&self, url: &str, body: impl Into<Body>) -> Answer {
        let request = Request::post(url).header("content-type", "application/json");
        let mut context = RequestContext::system("");
        context.budget = Budget::default();
        self.send_as(context, request.body(body.into()).unwrap())
    }

    fn send(&self, request: Request<Body>) -> Answer {
        // The budget is that of a client.
        let mut context = RequestContext::system("");
        context.budget = Budget::default();
        self.send_as(context, request)
    }

    fn send_as(&self, context: RequestContext, request: Request<Body>) -> Answer {
        let info = RequestInfo::parse(request.method(), request.uri());
        let answered = async {
            let response = self.api.clone().respond(info, context, request).await;
            let (parts, body) = response.into_parts();
            (parts, body.collect().await.unwrap().to_bytes())
        };
        let ((parts, body), time) = timed(|| self.wait(answered));
        Answer { status: parts.status, body, time }
    }

    /// Stores an object directly, without a strategy.
    pub(crate) fn store(&self, resource: &ResourceType, object: &Value) {
        let name = object["metadata"]["name"].as_str().unwrap();
        let namespace = if resource.is_namespaced() { "default/" } else { "" };
        let key = format!("/registry/{}/{namespace}{name}", resource.storage_prefix);
        self.wait(self.engine.put_if(&key, 0, object.to_string().into(), None)).unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.wait(self.engine.close());
    }
}

// === impl Answer ===

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// Returns the URL of a kind's objects.
pub(crate) fn url_of(resource: &ResourceType) -> String {
    let kind = resource.kind;
    let root = if kind.group.is_empty() { "/api".to_owned() } else { format!("/apis/{}", kind.group) };
    let namespace = if resource.is_namespaced() { "/namespaces/default" } else { "" };
    format!("{root}/{}{namespace}/{}", kind.version, resource.plural)
}

/// Returns the `apiVersion` of a kind.
pub(crate) fn api_version(resource: &ResourceType) -> String {
    let kind = resource.kind;
    if kind.group.is_empty() { kind.version.to_owned() } else { format!("{}/{}", kind.group, kind.version) }
}
