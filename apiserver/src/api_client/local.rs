//! This server, as its own client: without a connection, authentication and authorization.

use std::sync::Arc;

use async_trait::async_trait;
use axum::body::Body;
use bytes::Bytes;
use clients::CallFailure;
use http::{Request, Response};
use http_body_util::Full;
use registry_core::RequestContext;
use registry_core::context::UserInfo;
use request_info::RequestInfo;
use tokio::sync::watch;

use crate::filters::{Dispatch, ExpectedWork};
use crate::main_server::source::ApiServer;

/// The field manager of what is written.
const USER_AGENT: &str = "apiserver";

/// This server. Requests wait until it has its handler, which is created after those who send them.
pub(crate) struct LocalServer<D>(watch::Sender<Option<Arc<D>>>);

/// This server, as the client of a user. Admission, and extension servers, see the user; whether it may do what it does is
/// not asked.
pub(crate) struct LocalUser<D> {
    handler: Arc<D>,
    user: UserInfo,
    user_agent: &'static str,
}

// === impl LocalServer ===

impl<D: Dispatch> LocalServer<D> {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(watch::Sender::new(None)))
    }

    /// Sets the handler.
    pub(crate) fn serve_by(&self, handler: Arc<D>) {
        self.0.send_replace(Some(handler));
    }

    /// Removes the handler, which refers to its clients: both would never be dropped.
    pub(crate) fn stop(&self) {
        self.0.send_replace(None);
    }
}

#[async_trait]
impl<D: Dispatch> ApiServer for LocalServer<D> {
    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Body>, CallFailure> {
        let mut serving = self.0.subscribe();
        let handler = serving.wait_for(Option::is_some).await.ok().and_then(|handler| handler.clone());
        let handler = handler.ok_or(CallFailure::Ended)?;
        Ok(dispatch(&handler, RequestContext::system(""), USER_AGENT, request).await)
    }
}

// === impl LocalUser ===

impl<D: Dispatch> LocalUser<D> {
    /// Creates the client of this user. What it writes has `user_agent` as its field manager.
    pub(crate) fn new(handler: Arc<D>, user: UserInfo, user_agent: &'static str) -> Self {
        Self { handler, user, user_agent }
    }
}

#[async_trait]
impl<D: Dispatch> ApiServer for LocalUser<D> {
    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Body>, CallFailure> {
        let mut context = RequestContext::system("");
        context.user = self.user.clone();
        Ok(dispatch(&self.handler, context, self.user_agent, request).await)
    }
}

async fn dispatch<D: Dispatch>(
    handler: &Arc<D>,
    mut context: RequestContext,
    user_agent: &str,
    request: Request<Full<Bytes>>,
) -> Response<Body> {
    let info = RequestInfo::parse(request.method(), request.uri());
    user_agent.clone_into(&mut context.user_agent);
    handler.dispatch(info, context, request.map(Body::new), ExpectedWork::Usual).await.map(Body::new)
}
