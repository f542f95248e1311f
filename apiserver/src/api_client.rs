//! Typed clients for the authors of servers: of this server's own kinds, in this process, and of the main cluster's.
//!
//! | part | purpose |
//! |---|---|
//! | [`ApiClient`] | a server that is asked: this one, or the main server |
//! | [`TypedClient`] | the objects of one kind there |
//! | [`Cached`] | all objects of a kind, kept up to date: an informer |
//! | [`leadership`] | work that only one of several servers does |
//!
//! A client in this process passes everything that follows authorization: validation, admission, storage. It acts as
//! `system:apiserver`, a member of `system:masters`.
//!
//! Kubernetes concept: the loopback client of `k8s.io/apiserver`, `k8s.io/client-go`.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, StatusCode};
use http_body_util::Full;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::api_server::{self, Answer, ApiServer, ApiServerError, Bounds, Refusal};

mod cached;
pub mod leadership;
mod local;

pub use cached::{Cached, Changes};
pub(crate) use local::{LocalServer, LocalUser};

/// The bounds of a request for an object.
const BOUNDS: Bounds = Bounds { timeout: Duration::from_secs(30), max_bytes: 8 << 20 };

/// A kind of objects that clients can handle: those of `k8s_openapi`, and all that derive
/// `Resource`.
pub trait Kind:
    k8s_openapi::Resource
    + k8s_openapi::Metadata<Ty = ObjectMeta>
    + Serialize
    + DeserializeOwned
    + Send
    + Sync
    + 'static
{
}

impl<K> Kind for K where
    K: k8s_openapi::Resource
        + k8s_openapi::Metadata<Ty = ObjectMeta>
        + Serialize
        + DeserializeOwned
        + Send
        + Sync
        + 'static
{
}

/// A client of a server.
#[derive(Clone)]
pub struct ApiClient {
    server: Arc<dyn ApiServer>,
}

/// A client of the objects of one kind, of one namespace or of all.
pub struct TypedClient<K> {
    server: Arc<dyn ApiServer>,
    namespace: String,
    kind: PhantomData<fn() -> K>,
}

/// Why a request has no result.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct ClientError {
    /// The status of the answer; `None` if there is none. Retryable if there is none, and from 500 on.
    pub status: Option<StatusCode>,
    /// The reason of the `Status` that was answered, for example `AlreadyExists`; may be empty.
    pub reason: String,
    /// The message of the failure.
    pub message: String,
}

// === impl ApiClient ===

impl ApiClient {
    pub(crate) fn new(server: Arc<dyn ApiServer>) -> Self {
        Self { server }
    }

    /// Returns a client of the objects in a namespace. An empty namespace stands for all namespaces, or for objects that
    /// have no namespace.
    pub fn in_namespace<K: Kind>(&self, namespace: &str) -> TypedClient<K> {
        TypedClient { server: self.server.clone(), namespace: namespace.to_owned(), kind: PhantomData }
    }
}

// === impl TypedClient ===

impl<K: Kind> TypedClient<K> {
    /// Returns an object; `None` if it does not exist.
    ///
    /// # Errors
    /// The server does not answer, or refuses.
    pub async fn get(&self, name: &str) -> Result<Option<K>, ClientError> {
        match self.exchange(Method::GET, &self.path(name), None).await {
            Ok(object) => Ok(Some(object)),
            Err(failure) if failure.status == Some(StatusCode::NOT_FOUND) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Returns all objects.
    ///
    /// # Errors
    /// The server does not answer, or refuses; or an object is not of this kind.
    pub async fn list(&self) -> Result<Vec<K>, ClientError> {
        let path = format!("{}?", self.collection());
        let mut objects = Vec::new();
        let mut token = None;
        loop {
            let page = api_server::page(&*self.server, &path, token.as_deref()).await;
            let page = page.map_err(|failure| ClientError::from_api_server(&failure))?;
            for object in page.items {
                objects.push(typed(object.into_value())?);
            }
            token = page.continue_token;
            if token.is_none() {
                return Ok(objects);
            }
        }
    }

    /// Creates an object, and returns it as it is stored.
    ///
    /// # Errors
    /// The server does not answer, or refuses: with the reason `AlreadyExists` if it exists.
    pub async fn create(&self, object: &K) -> Result<K, ClientError> {
        self.exchange(Method::POST, &self.collection(), Some((JSON, body(object)?))).await
    }

    /// Replaces an object, and returns it as it is stored.
    ///
    /// # Errors
    /// The server does not answer, or refuses: with the reason `Conflict` if it has another resource version.
    pub async fn replace(&self, name: &str, object: &K) -> Result<K, ClientError> {
        self.exchange(Method::PUT, &self.path(name), Some((JSON, body(object)?))).await
    }

    /// Changes an object by a merge patch, and returns it as it is stored.
    ///
    /// # Errors
    /// The server does not answer, or refuses.
    pub async fn merge(&self, name: &str, patch: &Value) -> Result<K, ClientError> {
        self.exchange(Method::PATCH, &self.path(name), Some((MERGE, patch.to_string().into()))).await
    }

    /// Changes the status of an object by a merge patch, and returns it as it is stored.
    ///
    /// # Errors
    /// The server does not answer, or refuses.
    pub async fn merge_status(&self, name: &str, patch: &Value) -> Result<K, ClientError> {
        let path = format!("{}/status", self.path(name));
        self.exchange(Method::PATCH, &path, Some((MERGE, patch.to_string().into()))).await
    }

    /// Deletes an object, unless it does not exist.
    ///
    /// # Errors
    /// The server does not answer, or refuses.
    pub async fn delete(&self, name: &str) -> Result<(), ClientError> {
        match self.exchange::<Value>(Method::DELETE, &self.path(name), None).await {
            Err(failure) if failure.status != Some(StatusCode::NOT_FOUND) => Err(failure),
            _ => Ok(()),
        }
    }

    /// Returns all objects, kept up to date as long as the value exists.
    ///
    /// Must be called within a Tokio runtime.
    pub fn cached(&self) -> Cached<K> {
        Cached::start(self.server.clone(), format!("{}?", self.collection()))
    }

    fn collection(&self) -> String {
        let root = match K::GROUP {
            "" => format!("/api/{}", K::VERSION),
            group => format!("/apis/{group}/{}", K::VERSION),
        };
        match self.namespace.as_str() {
            "" => format!("{root}/{}", K::URL_PATH_SEGMENT),
            namespace => format!("{root}/namespaces/{namespace}/{}", K::URL_PATH_SEGMENT),
        }
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.collection())
    }

    async fn exchange<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<(HeaderValue, Bytes)>,
    ) -> Result<T, ClientError> {
        let (media_type, body) = body.unwrap_or((JSON, Bytes::new()));
        let request = Request::builder().method(method).uri(path).header(CONTENT_TYPE, media_type);
        let request = request.body(Full::new(body)).map_err(|error| ClientError::lasting(&error))?;
        let answer = api_server::exchange(&*self.server, request, BOUNDS).await;
        let Answer { status, body } = answer.map_err(|failure| ClientError::from_api_server(&failure))?;
        if !status.is_success() {
            return Err(ClientError::refused(status, &body));
        }
        serde_json::from_slice(&body).map_err(|error| ClientError::lasting(&error))
    }
}

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const MERGE: HeaderValue = HeaderValue::from_static("application/merge-patch+json");

/// Encodes an object with its type, which the structs of kinds do not have as fields.
fn body<K: Kind>(object: &K) -> Result<Bytes, ClientError> {
    let mut value = serde_json::to_value(object).map_err(|error| ClientError::lasting(&error))?;
    if let Some(fields) = value.as_object_mut() {
        fields.insert("apiVersion".to_owned(), K::API_VERSION.into());
        fields.insert("kind".to_owned(), K::KIND.into());
    }
    Ok(value.to_string().into())
}

/// Decodes an object.
fn typed<K: Kind>(mut value: Value) -> Result<K, ClientError> {
    // The objects of lists have no type, which some kinds check.
    if let Some(fields) = value.as_object_mut() {
        fields.insert("apiVersion".to_owned(), K::API_VERSION.into());
        fields.insert("kind".to_owned(), K::KIND.into());
    }
    serde_json::from_value(value).map_err(|error| ClientError::lasting(&error))
}

// === impl ClientError ===

impl ClientError {
    /// Whether an object exists already that was to be created.
    pub fn is_already_exists(&self) -> bool {
        self.reason == "AlreadyExists"
    }

    /// Whether an object was changed by another client in between.
    pub fn is_conflict(&self) -> bool {
        self.reason == "Conflict"
    }

    fn lasting(error: &dyn std::error::Error) -> Self {
        Self { status: Some(StatusCode::BAD_REQUEST), reason: String::new(), message: error.to_string() }
    }

    fn refused(status: StatusCode, body: &[u8]) -> Self {
        let Refusal { reason, message } = Refusal::new(status, &api_server::status_object(body));
        Self { status: Some(status), reason, message }
    }

    fn from_api_server(failure: &ApiServerError) -> Self {
        let status = match failure {
            ApiServerError::NotFound(_) => Some(StatusCode::NOT_FOUND),
            ApiServerError::Gone(_) => Some(StatusCode::GONE),
            _ => None,
        };
        Self { status, reason: String::new(), message: failure.to_string() }
    }
}
