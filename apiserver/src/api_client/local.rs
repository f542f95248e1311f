//! This server, as its own client: without a connection, authentication and authorization.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use async_trait::async_trait;
use axum::body::Body;
use bytes::Bytes;
use clients::CallFailure;
use futures::FutureExt as _;
use http::header::USER_AGENT;
use http::{HeaderValue, Request, Response};
use http_body_util::Full;
use registry_core::RequestContext;
use registry_core::context::UserInfo;
use request_info::RequestInfo;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::api_server::ApiServer;
use crate::audit::{Auditor, Origin, Recording};
use crate::filters::{AuditIds, Dispatch, ExpectedWork, begin_audit, end_audit};

/// The field manager of what is written.
const OWN_USER_AGENT: &str = "apiserver";

/// This server. Requests wait until it has its handler, which is created after those who send them.
pub(crate) struct LocalServer<D> {
    handler: watch::Sender<Option<Arc<D>>>,
    audit_ids: AuditIds,
}

/// This server, as the client of a user. Audit, admission, and extension servers see the user; whether it may do what it does
/// is not asked.
pub(crate) struct LocalUser<D> {
    handler: Arc<D>,
    auditor: Option<Arc<Auditor>>,
    audit_ids: AuditIds,
    user: UserInfo,
    user_agent: &'static str,
}

/// The audit of a request: its id, and its recording if it is recorded.
struct Audit {
    id: HeaderValue,
    recording: Option<Box<Recording>>,
}

// === impl LocalServer ===

impl<D: Dispatch> LocalServer<D> {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { handler: watch::Sender::new(None), audit_ids: AuditIds::default() })
    }

    /// Sets the handler.
    pub(crate) fn serve_by(&self, handler: Arc<D>) {
        self.handler.send_replace(Some(handler));
    }

    /// Removes the handler, which refers to its clients: both would never be dropped.
    pub(crate) fn stop(&self) {
        self.handler.send_replace(None);
    }
}

#[async_trait]
impl<D: Dispatch> ApiServer for LocalServer<D> {
    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Body>, CallFailure> {
        let mut serving = self.handler.subscribe();
        let handler = serving.wait_for(Option::is_some).await.ok().and_then(|handler| handler.clone());
        let handler = handler.ok_or(CallFailure::Ended)?;
        let info = RequestInfo::parse(request.method(), request.uri());
        let mut context = RequestContext::system("");
        OWN_USER_AGENT.clone_into(&mut context.user_agent);
        let audit = Audit { id: self.audit_ids.id_of(request.headers()), recording: None };
        Ok(dispatch(&handler, info, context, request.map(Body::new), audit).await)
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
        self.user_agent.clone_into(&mut context.user_agent);
        let id = self.audit_ids.id_of(request.headers());
        let origin = Origin::new(&request, &info, &id, received, None);
        let recording = match begin_audit(self.auditor.as_ref(), origin, Ok(&self.user)).await {
            Ok(recording) => recording,
            Err(refusal) => return Ok(refusal.map(Body::new)),
        };
        Ok(dispatch(&self.handler, info, context, request, Audit { id, recording }).await)
    }
}

/// Handles a request, and records the response. A panic becomes a 500, as for requests over connections.
async fn dispatch<D: Dispatch>(
    handler: &Arc<D>,
    info: RequestInfo,
    mut context: RequestContext,
    request: Request<Body>,
    Audit { id, recording }: Audit,
) -> Response<Body> {
    id.to_str().unwrap_or_default().clone_into(&mut context.audit_id);
    context.audit = recording.as_ref().map(|recording| recording.record().clone());
    let handling = async { Ok(handler.dispatch(info, context, request, ExpectedWork::Usual).await) };
    let answered = AssertUnwindSafe(handling).catch_unwind().await;
    end_audit(recording, answered, &id).await.map(Body::new)
}

#[cfg(test)]
mod tests {
    use clients::egress::Route;
    use futures::future::BoxFuture;
    use serde_json::Value;

    use super::*;
    use crate::audit::policy::Policy;
    use crate::metrics::ServerMetrics;
    use crate::options::Options;

    struct Panicking;

    impl Dispatch for Panicking {
        fn dispatch(
            self: &Arc<Self>,
            _: RequestInfo,
            _: RequestContext,
            _: Request<Body>,
            _: ExpectedWork,
        ) -> BoxFuture<'static, responses::Response> {
            Box::pin(async { panic!("as the test wants it") })
        }
    }

    #[tokio::test]
    async fn a_panic_is_a_500_that_is_recorded() {
        let directory = tempfile::tempdir().unwrap();
        let mut options = Options::default().audit;
        options.log.audit_log_path = Some(directory.path().join("log"));
        let policy =
            Policy::parse(b"{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: Metadata}]}");
        let metrics = ServerMetrics::new().unwrap();
        let auditor =
            Auditor::start(Some(policy.unwrap()), &options, metrics.audit(), &Route::Direct).unwrap();
        let user =
            UserInfo { name: "system:serviceaccount:kube-system:job".to_owned(), ..UserInfo::default() };
        let client = LocalUser::new(Arc::new(Panicking), auditor.clone(), user, "controller");
        let asked = || Request::get("/api/v1/nodes/a").body(Full::default()).unwrap();
        assert_eq!(client.send(asked()).await.unwrap().status(), 500);
        auditor.unwrap().stop().await;
        let log = std::fs::read_to_string(directory.path().join("log")).unwrap();
        let events: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let stages: Vec<&str> = events.iter().map(|event| event["stage"].as_str().unwrap()).collect();
        assert_eq!(stages, ["RequestReceived", "Panic"]);
        assert_eq!(events[1]["responseStatus"]["code"], 500);

        let server = LocalServer::new();
        server.serve_by(Arc::new(Panicking));
        assert_eq!(server.send(asked()).await.unwrap().status(), 500);
    }
}
