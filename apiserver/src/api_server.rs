//! A server that is asked as a client asks it: this one, in the process, or the main server of an extension server.
//!
//! | module | contents |
//! |---|---|
//! | `exchange` | a request and its whole answer, within bounds |
//! | `lists`, `watches` | the objects of a collection, and their changes |
//! | `follow` | the objects of a list, kept up to date by a reflector |
//!
//! Kubernetes concept: `k8s.io/client-go/rest`, and the `ListWatch` of `k8s.io/client-go/tools/cache`.

use std::error::Error;
use std::sync::Arc;

use async_trait::async_trait;
use axum::body::Body;
use bytes::Bytes;
use clients::{CallFailure, Client};
use http::{Request, Response};
use http_body_util::Full;

mod exchange;
pub(crate) mod follow;
mod lists;
mod watches;

pub(crate) use exchange::{Answer, Bounds, Refusal, exchange, status_object};
pub(crate) use lists::{document, get, page, revision_of};
pub(crate) use watches::{Events, watch};

/// A server that is asked.
#[async_trait]
pub(crate) trait ApiServer: Send + Sync + 'static {
    /// Sends a request for a path and query, and returns the response, whose body may be a stream without end.
    ///
    /// # Errors
    /// Fails if there is no response.
    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Body>, CallFailure>;
}

#[async_trait]
impl ApiServer for Client {
    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Body>, CallFailure> {
        Ok(self.open(request).await?.map(Body::new))
    }
}

/// The reason that the server does not answer as expected.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ApiServerError {
    /// It does not know what was asked for.
    #[error("the server does not have it: {0}")]
    NotFound(String),
    /// It no longer has the revision.
    #[error("the server no longer has the revision: {0}")]
    Gone(String),
    /// It refuses, in its own words.
    #[error("{0}")]
    Refused(String),
    /// It cannot be reached.
    #[error(transparent)]
    Unreachable(#[from] CallFailure),
    /// The request cannot be made.
    #[error("{0}")]
    Request(#[source] Arc<http::Error>),
    /// It has not answered in time.
    #[error("the server has not answered in time")]
    Late,
    /// Its answer breaks off, or is too large.
    #[error("{0}")]
    Body(#[source] Arc<dyn Error + Send + Sync>),
    /// Its answer is none of Kubernetes.
    #[error("the server's answer cannot be read: {0}")]
    Unreadable(#[source] Arc<serde_json::Error>),
    /// Its answer has something else in place of an object.
    #[error("the server's answer has no objects")]
    NoObjects,
    /// A list or an object has another revision than a number.
    #[error("the server's revision {0:?} is not a number")]
    Revision(String),
    /// A watch has an event that Kubernetes does not have.
    #[error("the server sent the unknown event {0:?}")]
    UnknownEvent(String),
    /// A watch has an event larger than any object.
    #[error("the server sent an event that is too large")]
    LargeEvent,
    /// A watch has had no event and no bookmark.
    #[error("the server has sent nothing for too long")]
    Silent,
}
