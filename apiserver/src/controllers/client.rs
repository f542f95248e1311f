//! Requests of a controller to this server, in the process, under the controller's own name.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, StatusCode};
use http_body_util::Full;
use registry_core::RequestContext;
use registry_core::context::ServiceAccountName;
use serde_json::{Value, json};

use crate::api_client::LocalUser;
use crate::api_server::{self, Answer, ApiServer, Bounds, Refusal};
use crate::audit::Auditor;
use crate::filters::Dispatch;

use super::metadata::{Metadata, set};

/// The bounds of a request.
const BOUNDS: Bounds = Bounds { timeout: Duration::from_mins(1), max_bytes: 256 << 20 };

/// The field manager of what controllers write: that of kube-controller-manager, whose fields they are when it takes over.
const USER_AGENT: &str = "kube-controller-manager";

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const MERGE: HeaderValue = HeaderValue::from_static("application/merge-patch+json");

/// A client of this server.
#[derive(Clone)]
pub(super) struct Client {
    server: Arc<dyn ApiServer>,
}

/// Why a request has no result.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub(super) struct Failure {
    /// The status of the answer; `None` if there is none.
    pub(super) status: Option<StatusCode>,
    /// The reason of the failure, in words.
    pub(super) message: String,
    /// The answer; `null` if there is none.
    pub(super) answer: Value,
}

/// The treatment of the dependents of a deleted object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Propagation {
    /// They are deleted after it.
    Background,
    /// They are deleted before it.
    Foreground,
    /// They lose it as their owner.
    Orphan,
}

// === impl Client ===

impl Client {
    /// Creates the client of a service account in `kube-system`: the name that kube-controller-manager gives the controller.
    /// Its requests are audited.
    pub(super) fn for_account<D: Dispatch>(
        handler: Arc<D>,
        auditor: Option<Arc<Auditor>>,
        account: &str,
    ) -> Self {
        let user = ServiceAccountName { namespace: "kube-system", name: account }.user();
        Self { server: Arc::new(LocalUser::new(handler, auditor, user, USER_AGENT)) }
    }

    /// Creates the client of the server itself, for what kube-apiserver writes. Its requests are audited.
    pub(super) fn for_server<D: Dispatch>(handler: Arc<D>, auditor: Option<Arc<Auditor>>) -> Self {
        let user = RequestContext::system("").user;
        Self { server: Arc::new(LocalUser::new(handler, auditor, user, "kube-apiserver")) }
    }

    /// Returns the server that is asked.
    pub(super) fn server(&self) -> &Arc<dyn ApiServer> {
        &self.server
    }

    /// Reads an object; `None` if it does not exist.
    pub(super) async fn get(&self, path: &str) -> Result<Option<Value>, Failure> {
        match self.send(Method::GET, path, JSON, &Value::Null).await {
            Ok(object) => Ok(Some(object)),
            Err(failure) if failure.is_not_found() => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Creates an object.
    pub(super) async fn create(&self, path: &str, object: &Value) -> Result<Value, Failure> {
        self.send(Method::POST, path, JSON, object).await
    }

    /// Replaces an object.
    pub(super) async fn replace(&self, path: &str, object: &Value) -> Result<Value, Failure> {
        self.send(Method::PUT, path, JSON, object).await
    }

    /// Changes an object by a merge patch.
    pub(super) async fn merge(&self, path: &str, patch: &Value) -> Result<Value, Failure> {
        self.send(Method::PATCH, path, MERGE, patch).await
    }

    /// Deletes the object in this state; in any state of this object, if the resource version is empty.
    pub(super) async fn delete(
        &self,
        path: &str,
        state: &Metadata,
        propagation: Propagation,
    ) -> Result<(), Failure> {
        let mut preconditions = json!({"uid": state.uid});
        if !state.resource_version.is_empty() {
            set(&mut preconditions, "resourceVersion", state.resource_version.as_str().into());
        }
        self.delete_with(path, propagation, Some(preconditions)).await
    }

    /// Deletes an object, or all objects of a collection.
    pub(super) async fn delete_any(&self, path: &str, propagation: Propagation) -> Result<(), Failure> {
        self.delete_with(path, propagation, None).await
    }

    async fn delete_with(
        &self,
        path: &str,
        propagation: Propagation,
        preconditions: Option<Value>,
    ) -> Result<(), Failure> {
        let mut options = json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation.name(),
        });
        if let Some(preconditions) = preconditions {
            set(&mut options, "preconditions", preconditions);
        }
        self.send(Method::DELETE, path, JSON, &options).await.map(drop)
    }

    /// Sends a request, with a body unless it is `null`.
    async fn send(
        &self,
        method: Method,
        path: &str,
        media_type: HeaderValue,
        body: &Value,
    ) -> Result<Value, Failure> {
        let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
        let request = Request::builder().method(method).uri(path).header(CONTENT_TYPE, media_type);
        let request = request.body(Full::new(body)).map_err(|error| Failure::none(error.to_string()))?;
        let answer = api_server::exchange(&*self.server, request, BOUNDS).await;
        let Answer { status, body } = answer.map_err(|failure| Failure::none(failure.to_string()))?;
        if !status.is_success() {
            return Err(Failure::refused(status, &body));
        }
        serde_json::from_slice(&body)
            .map_err(|error| Failure::none(format!("the server's answer cannot be read: {error}")))
    }
}

// === impl Failure ===

impl Failure {
    /// Creates the failure of a request without an answer.
    pub(super) fn none(message: String) -> Self {
        Self { status: None, message, answer: Value::Null }
    }

    fn refused(status: StatusCode, body: &[u8]) -> Self {
        let answer = api_server::status_object(body);
        let Refusal { message, .. } = Refusal::new(status, &answer);
        Self { status: Some(status), message, answer }
    }

    /// Whether the object, or its kind, does not exist.
    pub(super) fn is_not_found(&self) -> bool {
        self.status == Some(StatusCode::NOT_FOUND)
    }

    /// Whether the object has another state than the request expects.
    pub(super) fn is_conflict(&self) -> bool {
        self.status == Some(StatusCode::CONFLICT)
    }

    /// Whether the collection does not serve the verb.
    pub(super) fn is_not_supported(&self) -> bool {
        self.status == Some(StatusCode::METHOD_NOT_ALLOWED)
    }

    /// Whether the namespace of the object is being deleted.
    pub(super) fn is_of_terminating_namespace(&self) -> bool {
        let causes = self.answer.pointer("/details/causes").and_then(Value::as_array);
        let is_cause = |cause: &Value| cause.get("reason").is_some_and(|own| own == "NamespaceTerminating");
        causes.is_some_and(|causes| causes.iter().any(is_cause))
    }
}

// === impl Propagation ===

impl Propagation {
    fn name(self) -> &'static str {
        match self {
            Self::Background => "Background",
            Self::Foreground => "Foreground",
            Self::Orphan => "Orphan",
        }
    }
}
