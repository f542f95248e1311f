//! The verbs of the API, over whatever storages are installed.
//!
//! | module | what lives there |
//! |---|---|
//! | `routing` | from a request's resource to the storage that serves it |
//! | `negotiation`, `options` | what a client wants, and in which form |
//! | `managers` | who manages the fields of what is written |
//! | `content` | bodies: read, decoded, checked against the schema |
//! | `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `connect` | one verb each |
//! | `respond`, `encoding`, `yaml` | answers: status, headers, pretty-printing, gzip |
//! | `items`, `table`, `partial` | the forms objects are given in |
//! | `protobuf`, `cbor` | objects in binary, as they were encoded once for everybody |
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/endpoints/handlers`.

use std::sync::{Arc, OnceLock};

use axum::body::Body;
use http::request::Parts;
use http::{Method, Request, Response};
use registry_core::RequestContext;
use registry_core::api::{Reason, StatusError};
use registry_core::registry::InstalledApi;
use registry_core::storage::EncodingBudget;
use tokio_util::sync::CancellationToken;

use crate::admission::AdmissionChain;
use crate::discovery::Discovery;
use crate::metrics::{Measure, RequestMetrics};
use crate::openapi::{DescriptionsSource, OpenApi};
use crate::proxy::Proxy;
use crate::request_info::{Query, RequestInfo, ResourceRequest, Verb};

mod call;
mod cbor;
mod connect;
mod content;
mod create;
mod delete;
mod encoding;
mod get;
mod items;
mod list;
mod managers;
pub(crate) mod negotiation;
mod options;
mod partial;
mod patch;
mod protobuf;
pub(crate) mod respond;
mod routing;
mod table;
mod update;
mod watch;
mod yaml;

use call::Call;
use negotiation::Output;
use routing::{Missing, Routes};
use watch::Ending;
pub(crate) use watch::{LongRunning, Pieces, WatchBody};

/// What encodings may take unless a server's watch caches share a budget with them.
const DEFAULT_ENCODINGS_BYTES: usize = 16 * 1024 * 1024;

/// How a server answers, beside what is installed.
#[derive(Clone, Debug)]
pub struct ApiConfig {
    /// Gives texts for the types in OpenAPI documents.
    pub descriptions: DescriptionsSource,
    /// Whether CBOR is read and written.
    pub cbor: bool,
    /// What the encodings that are kept of stored objects may take in memory.
    pub encodings: Arc<EncodingBudget>,
    /// Where requests are counted.
    pub metrics: RequestMetrics,
}

/// The API of everything installed: all paths except health and version.
pub struct Api {
    config: ApiConfig,
    routes: Routes,
    admission: AdmissionChain,
    discovery: Discovery,
    openapi: OpenApi,
    ending: Ending,
    proxy: OnceLock<Proxy>,
}

// === impl ApiConfig ===

impl Default for ApiConfig {
    fn default() -> Self {
        let encodings = Arc::new(EncodingBudget::new(DEFAULT_ENCODINGS_BYTES));
        Self { descriptions: || None, cbor: false, encodings, metrics: RequestMetrics::default() }
    }
}

// === impl Api ===

impl Api {
    /// The API over these storages. Watches end when `shutdown` is cancelled. Must be called within a Tokio runtime.
    pub fn new(
        installed: Arc<InstalledApi>,
        admission: AdmissionChain,
        shutdown: CancellationToken,
    ) -> Arc<Self> {
        Self::with_config(installed, admission, shutdown, ApiConfig::default())
    }

    /// The same, configured.
    pub fn with_config(
        installed: Arc<InstalledApi>,
        admission: AdmissionChain,
        shutdown: CancellationToken,
        config: ApiConfig,
    ) -> Arc<Self> {
        Arc::new(Self {
            routes: Routes::new(&installed, &config.metrics),
            admission,
            discovery: Discovery::new(&installed),
            openapi: OpenApi::new(installed, config.descriptions),
            ending: Ending::after(shutdown),
            proxy: OnceLock::new(),
            config,
        })
    }

    /// Passes connections on by this proxy; without one they are refused. The first one counts.
    pub fn connect_by(&self, proxy: Proxy) {
        let _ = self.proxy.set(proxy);
    }

    fn proxy(&self) -> Result<&Proxy, StatusError> {
        let missing = || StatusError::new(Reason::ServiceUnavailable, "this server passes no connections on");
        self.proxy.get().ok_or_else(missing)
    }

    /// Answers a request that has passed the filters. Every failure becomes an answer too.
    pub async fn dispatch(
        self: &Arc<Self>,
        info: RequestInfo,
        mut context: RequestContext,
        request: Request<Body>,
    ) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let mut measure = Measure::begin(context.received);
        let result = match &info.resource {
            Some(resource) => self.serve(&info, resource, &mut context, &parts, body, &mut measure).await,
            None => self.document(&info.path, &parts),
        };
        let mut response =
            result.unwrap_or_else(|failure| respond::failure(&failure, &self.output_of_errors(&parts)));
        respond::add_warnings(&mut response, &context.take_warnings());
        measure.finish(response)
    }

    fn output_of_errors(&self, parts: &Parts) -> Output {
        Output::of_errors(&parts.headers, Query::of(&parts.uri), self.config.cbor)
    }

    async fn serve(
        &self,
        info: &RequestInfo,
        resource: &ResourceRequest,
        context: &mut RequestContext,
        parts: &Parts,
        body: Body,
        measure: &mut Measure,
    ) -> Result<Response<Body>, StatusError> {
        let route = match self.routes.find(info, resource) {
            Ok(route) => route,
            Err(missing) => return missing.status().map_or_else(|| Ok(respond::page_not_found()), Err),
        };
        route.metrics.count(measure, info, patch::is_apply(&parts.headers), Query::of(&parts.uri));
        route.namespace(resource).clone_into(&mut context.namespace);
        context.resource = Some(route.path.resource.resource());
        if let Some(deprecation) = route.path.resource.strategy.deprecation()
            && route.serves(info.verb)
        {
            context.warn(deprecation);
        }
        let call = Call {
            api: self,
            route,
            name: &resource.name,
            context,
            headers: &parts.headers,
            query: Query::of(&parts.uri),
        };
        let has_name = !resource.name.is_empty();
        if let (Some(connecter), true) = (&route.path.capabilities.connecter, has_name) {
            return connect::connect(&call, connecter.as_ref(), info, parts, body).await;
        }
        match info.verb {
            Verb::Get if has_name => get::get(&call).await,
            Verb::List => list::list(&call).await,
            Verb::Watch => watch::watch(&call).await,
            Verb::Create => create::create(&call, body).await,
            Verb::Update if has_name => update::update(&call, body).await,
            Verb::Patch if has_name => patch::patch(&call, body).await,
            Verb::Delete if has_name => delete::delete(&call, body).await,
            Verb::DeleteCollection => delete::delete_collection(&call, body).await,
            _ => Err(call::method_not_allowed()),
        }
    }

    /// The documents the server gives about itself.
    fn document(&self, path: &str, parts: &Parts) -> Result<Response<Body>, StatusError> {
        let known = self.discovery.serves(path) || self.openapi.serves(path);
        if known && !matches!(parts.method, Method::GET | Method::HEAD) {
            return Err(call::method_not_allowed());
        }
        if let Some(result) = self.openapi.get(path, parts) {
            return result;
        }
        match self.discovery.get(path, parts, self.config.cbor)? {
            Some(response) => Ok(response),
            // A version that a served group does not have is told as a missing resource.
            None if self.discovery.serves_group_of(path) => {
                Err(Missing::Resource.status().unwrap_or_else(call::method_not_allowed))
            }
            None => Ok(respond::page_not_found()),
        }
    }
}

impl std::fmt::Debug for Api {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Api")
    }
}
