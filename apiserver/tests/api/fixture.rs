//! A server without a network, for tests of the API.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use apiserver::admission::{AdmissionChain, NamespaceLifecycle};
use apiserver::authorization::{Authorizer, AuthorizerChain};
use apiserver::handlers::{Api, ApiConfig, ApiParts};
use apiserver::request_info::RequestInfo;
use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use registry_core::RequestContext;
use registry_core::api::GroupVersionKind;
use registry_core::registry::storage_map::{
    ApiPath, InstalledApi, Main, MapVersion, OpenStorage, Scale, Status, StorageMap,
};
use registry_core::resource::{Resource as _, SchemaSource, Versions};
use registry_core::schema::{Schema, TypeTable};
use registry_core::storage::cacher::{CacheBudget, Cacher, CacherOptions};
use registry_core::storage::embedded::Embedded;
use registry_core::storage::transform::Identity;
use registry_core::storage::versioned::VersionedStore;
use registry_core::storage::{Interface, StorageError};
use registry_derive::Resource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// A custom resource.
#[derive(Resource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
#[serde(rename_all = "camelCase")]
#[resource(
    group = "zoo.example.dev",
    version = "v1",
    short = "enc",
    categories("all"),
    selectable(spec.keeper),
    column("Keeper", spec.keeper),
    scale(replicas = spec.replicas, current = status.replicas)
)]
pub(crate) struct Enclosure {
    metadata: ObjectMeta,
    spec: EnclosureSpec,
    #[resource(status)]
    status: Option<EnclosureStatus>,
}

/// The desired state.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EnclosureSpec {
    keeper: Option<String>,
    replicas: Option<i32>,
}

/// The observed state.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EnclosureStatus {
    replicas: Option<i32>,
}

#[derive(Resource)]
#[resource(version = "v1", object = ConfigMap, schema = config_map_schema, short("cm"))]
struct ConfigMaps;

#[derive(Resource)]
#[resource(version = "v1", object = Namespace, schema = namespace_schema, short("ns"), cluster, selectable(status.phase))]
struct Namespaces;

fn builtin(kind: &'static str) -> Schema {
    static TABLE: LazyLock<Arc<TypeTable>> = LazyLock::new(|| {
        let facts = concat!(env!("CARGO_MANIFEST_DIR"), "/../resources/src/generated/types.facts");
        Arc::new(TypeTable::parse(&std::fs::read_to_string(facts).unwrap()).unwrap())
    });
    TABLE.schema(GroupVersionKind { group: "", version: "v1", kind }).unwrap()
}

fn config_map_schema() -> Schema {
    static SCHEMA: LazyLock<Schema> = LazyLock::new(|| builtin("ConfigMap"));
    SCHEMA.clone()
}

fn namespace_schema() -> Schema {
    static SCHEMA: LazyLock<Schema> = LazyLock::new(|| builtin("Namespace"));
    SCHEMA.clone()
}

const MAP: StorageMap = StorageMap {
    versions: &[
        MapVersion {
            group: "",
            version: "v1",
            entries: &[Main::<ConfigMaps>::ENTRY, Main::<Namespaces>::ENTRY],
        },
        MapVersion {
            group: "zoo.example.dev",
            version: "v1",
            entries: &[Main::<Enclosure>::ENTRY, Status::<Enclosure>::ENTRY, Scale::<Enclosure>::ENTRY],
        },
    ],
    declared_in: module_path!(),
};

struct Storages(Arc<Embedded>);

impl OpenStorage for Storages {
    fn open(&self, versions: &Arc<Versions>) -> Result<Arc<dyn Interface>, StorageError> {
        let resource = versions.hub();
        let store = VersionedStore::new(self.0.clone(), Arc::new(Identity), versions.clone());
        let options = CacherOptions {
            prefix: format!("/registry/{}/", resource.storage_prefix),
            indexes: resource.indexes,
            budget: Arc::new(CacheBudget::new(16 * 1024 * 1024)),
            history_events: 1_000,
            bookmark_period: Duration::from_mins(1),
        };
        Ok(Cacher::new(Arc::new(store), options))
    }

    fn prefix(&self) -> &'static str {
        "/registry"
    }
}

/// The server.
pub(crate) struct Server {
    api: Arc<Api>,
    pub(crate) shutdown: CancellationToken,
}

/// The response, read to the end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Server {
    /// Starts a new server with the namespace `default`.
    pub(crate) async fn start() -> Self {
        Self::start_with(ApiConfig::default()).await
    }

    /// Starts a new server with this configuration.
    pub(crate) async fn start_with(config: ApiConfig) -> Self {
        let installed = MAP.install(&Storages(Embedded::in_memory()), &|_| true).unwrap();
        Self::start_installed(installed, config).await
    }

    /// Starts a new server on which the enclosures are a custom kind with this published schema.
    pub(crate) async fn start_custom(schema: impl Fn(SchemaSource) -> SchemaSource) -> Self {
        let mut installed = MAP.install(&Storages(Embedded::in_memory()), &|_| true).unwrap();
        let mut custom = Enclosure::TYPE.instantiate();
        let resource = Arc::get_mut(&mut custom).unwrap();
        resource.schema = schema(resource.schema.clone());
        for path in installed.paths.iter_mut().filter(|path| path.resource.kind == custom.kind) {
            path.resource = custom.clone();
        }
        Self::start_installed(installed, ApiConfig::default()).await
    }

    async fn start_installed(installed: InstalledApi, config: ApiConfig) -> Self {
        let installed = Arc::new(installed);
        let lifecycle = NamespaceLifecycle::new(&installed).unwrap();
        let admission = AdmissionChain { mutating: vec![Arc::new(lifecycle)], validating: Vec::new() };
        let shutdown = CancellationToken::new();
        // All requests are those of an administrator.
        let authorizer = Some(Arc::new(AuthorizerChain::default()) as Arc<dyn Authorizer>);
        let parts = ApiParts { admission, authorizer, ..ApiParts::default() };
        let api = Api::with_config(&installed, parts, shutdown.clone(), config);
        let server = Self { api, shutdown };
        server.post("/api/v1/namespaces", &json!({"metadata": {"name": "default"}})).await;
        server
    }

    /// Sends any request; the body is not read yet.
    pub(crate) async fn open(&self, request: Request<Body>) -> Response<Body> {
        let info = RequestInfo::parse(request.method(), request.uri());
        let api = Arc::clone(&self.api);
        // Runs in a task of its own, as in a server.
        let task = tokio::spawn(async move { api.respond(info, RequestContext::system(""), request).await });
        task.await.unwrap().map(Body::new)
    }

    /// Sends any request.
    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let (parts, body) = self.open(request).await.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Answer { status: parts.status, headers: parts.headers, body }
    }

    pub(crate) async fn get(&self, url: &str) -> Answer {
        self.send(Request::get(url).body(Body::empty()).unwrap()).await
    }

    pub(crate) async fn get_as(&self, url: &str, accept: &str) -> Answer {
        self.send(Request::get(url).header("accept", accept).body(Body::empty()).unwrap()).await
    }

    pub(crate) async fn post(&self, url: &str, body: &Value) -> Answer {
        self.write(Method::POST, url, "application/json", body.to_string()).await
    }

    pub(crate) async fn write(
        &self,
        method: Method,
        url: &str,
        media_type: &str,
        body: impl Into<Body>,
    ) -> Answer {
        let request = Request::builder().method(method).uri(url).header("content-type", media_type);
        self.send(request.body(body.into()).unwrap()).await
    }

    pub(crate) async fn patch(&self, url: &str, kind: &str, body: &Value) -> Answer {
        self.write(Method::PATCH, url, &format!("application/{kind}"), body.to_string()).await
    }
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.body)))
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// Returns the code and message of a failure.
    pub(crate) fn failure(&self) -> (u16, String) {
        let status = self.json();
        assert_eq!(status["kind"], "Status", "{status}");
        assert_eq!(status["code"], self.status.as_u16());
        (self.status.as_u16(), status["message"].as_str().unwrap().to_owned())
    }

    pub(crate) fn warnings(&self) -> Vec<&str> {
        self.headers.get_all("warning").iter().map(|value| value.to_str().unwrap()).collect()
    }

    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status.as_u16(), status, "{}", String::from_utf8_lossy(&self.body));
        self
    }
}

/// Returns a config map with one entry.
pub(crate) fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": "v"}})
}
