//! This server, as its own client: without a connection, authentication and authorization.

use std::sync::Arc;

use async_trait::async_trait;
use axum::body::Body;
use bytes::Bytes;
use clients::CallFailure;
use http::header::USER_AGENT;
use http::{HeaderValue, Request, Response};
use http_body_util::Full;
use registry_core::RequestContext;
use registry_core::context::UserInfo;
use request_info::RequestInfo;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::audit::{Auditor, Origin};
use crate::filters::{AuditIds, Dispatch, ExpectedWork};
use crate::main_server::source::ApiServer;

/// The field manager of what is written.
const OWN_USER_AGENT: &str = "apiserver";

/// This server. Requests wait until it has its handler, which is created after those who send them.
pub(crate) struct LocalServer<D>(watch::Sender<Option<Arc<D>>>);

/// This server, as the client of a user. Audit, admission, and extension servers see the user; whether it may do what it does
/// is not asked.
pub(crate) struct LocalUser<D> {
    handler: Arc<D>,
    auditor: Option<Arc<Auditor>>,
    audit_ids: AuditIds,
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
        let info = RequestInfo::parse(request.method(), request.uri());
        let context = RequestContext::system("");
        Ok(dispatch(&handler, info, context, OWN_USER_AGENT, request.map(Body::new)).await.map(Body::new))
    }
}

// === impl LocalUser ===

impl<D: Dispatch> LocalUser<D> {
    /// Creates the client of this user. What it writes has `user_agent` as its field manager.
    pub(crate) fn new(
        handler: Arc<D>,
        auditor: Option<Arc<Auditor>>,
        user: UserInfo,
        user_agent: &'static str,
    ) -> Self {
        Self { handler, auditor, audit_ids: AuditIds::default(), user, user_agent }
    }
}

#[async_trait]
impl<D: Dispatch> ApiServer for LocalUser<D> {
    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Body>, CallFailure> {
        let received = Instant::now().into_std();
        let mut request = request.map(Body::new);
        request.headers_mut().insert(USER_AGENT, HeaderValue::from_static(self.user_agent));
        let info = RequestInfo::parse(request.method(), request.uri());
        let mut context = RequestContext::system("");
        context.user = self.user.clone();
        let mut recording = None;
        if let Some(auditor) = &self.auditor {
            let audit_id = self.audit_ids.id_of(request.headers());
            let origin = Origin::new(&request, &info, &audit_id, received, None);
            match auditor.begin(origin, &self.user).await {
                Ok(begun) => recording = begun,
                Err(refusal) => return Ok(refusal.map(Body::new)),
            }
            audit_id.to_str().unwrap_or_default().clone_into(&mut context.audit_id);
            context.audit = recording.as_ref().map(|recording| recording.record().clone());
        }
        let response = dispatch(&self.handler, info, context, self.user_agent, request).await;
        let response = match recording {
            Some(recording) => recording.finish(response).await,
            None => response,
        };
        Ok(response.map(Body::new))
    }
}

async fn dispatch<D: Dispatch>(
    handler: &Arc<D>,
    info: RequestInfo,
    mut context: RequestContext,
    user_agent: &str,
    request: Request<Body>,
) -> responses::Response {
    user_agent.clone_into(&mut context.user_agent);
    handler.dispatch(info, context, request, ExpectedWork::Usual).await
}
