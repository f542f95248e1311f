use std::sync::atomic::{AtomicUsize, Ordering};

use clients::egress::Route;
use flowcontrol::{FlowControl, Mandatory};
use http_body_util::BodyExt as _;
use resources::api::flowcontrol::mandatory;
use tokio::sync::Notify;

use super::*;
use crate::audit::policy::Policy;
use crate::authentication::TokenTable;
use crate::authorization::{Attributes, AuthorizerChain, Decision};
use crate::options::Options;

/// Acts as the path says, and remembers the last context.
#[derive(Default)]
struct Scripted {
    started: AtomicUsize,
    release: Notify,
    context: parking_lot::Mutex<Option<RequestContext>>,
}

impl Dispatch for Scripted {
    fn dispatch(
        self: &Arc<Self>,
        info: RequestInfo,
        context: RequestContext,
        request: Request<Body>,
        _: ExpectedWork,
    ) -> BoxFuture<'static, Response> {
        Box::pin(self.clone().act(info, context, request))
    }
}

impl Scripted {
    async fn act(
        self: Arc<Self>,
        info: RequestInfo,
        context: RequestContext,
        request: Request<Body>,
    ) -> Response {
        assert!(request.headers().get("authorization").is_none(), "credentials stay outside");
        self.started.fetch_add(1, Ordering::SeqCst);
        match info.resource.as_ref().map(|resource| resource.name.as_str()) {
            Some("panic") => panic!("as scripted"),
            Some("wait") => self.release.notified().await,
            _ => {}
        }
        *self.context.lock() = Some(context);
        Response::new(ResponseBody::from("done"))
    }
}

fn filters(limits: impl FnOnce(&mut LimitOptions)) -> Arc<Filters<Scripted>> {
    let mut options = Options::default();
    limits(&mut options.limits);
    filters_with(&options.limits, Arc::<AuthorizerChain>::default())
}

fn filters_with(limits: &LimitOptions, authorizer: Arc<dyn Authorizer>) -> Arc<Filters<Scripted>> {
    let tokens = TokenTable::parse("t,admin,admin,system:masters\na,alice,alice,").unwrap();
    let metrics = ServerMetrics::new().unwrap();
    let seats = limits.max_requests_inflight + limits.max_mutating_requests_inflight;
    let control = || {
        let (flows, storage) = (metrics.flow_control(), metrics.storage());
        FlowControl::new(seats, limits.request_timeout, flows, storage, Mandatory::new(mandatory::specs()))
    };
    let filters =
        Filters::new(Arc::default(), Authenticator::new(tokens, true), authorizer, limits, metrics.clone());
    Arc::new(filters.with_flow_control(limits.enable_priority_and_fairness.then(control)))
}

/// Allows everything.
struct AllowAll;

#[async_trait::async_trait]
impl Authorizer for AllowAll {
    async fn authorize(&self, _: &Attributes<'_>) -> Decision {
        Decision::allow("")
    }
}

/// Returns filters with one seat for reads and one for writes, at which everybody may do everything.
fn narrow(is_fair: bool) -> Arc<Filters<Scripted>> {
    let mut limits = Options::default().limits;
    limits.enable_priority_and_fairness = is_fair;
    limits.max_requests_inflight = 1;
    limits.max_mutating_requests_inflight = usize::from(!is_fair);
    filters_with(&limits, Arc::new(AllowAll))
}

fn get_as(token: &str, uri: &str) -> Request<Body> {
    let mut request = get(uri, &[]);
    request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
    request
}

/// Begins a request that lasts until it is aborted, and waits until it executes.
async fn occupy(filters: &Arc<Filters<Scripted>>, uri: &'static str) -> tokio::task::JoinHandle<()> {
    let before = filters.inner.started.load(Ordering::SeqCst);
    let serving = filters.clone();
    let task = tokio::spawn(async move {
        serving.serve(&Peer::default(), get_as("a", uri)).await;
    });
    while filters.inner.started.load(Ordering::SeqCst) == before {
        tokio::task::yield_now().await;
    }
    task
}

fn get(uri: &str, headers: &[(&str, &str)]) -> Request<Body> {
    let mut request = Request::get(uri).header("authorization", "Bearer t");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Body::empty()).unwrap()
}

async fn status_of(response: Response) -> serde_json::Value {
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let status: serde_json::Value = serde_json::from_slice(&body).expect("a Status");
    assert_eq!(status["code"], code);
    status
}

#[tokio::test]
async fn a_panic_is_one_requests_500() {
    let filters = filters(|_| {});
    let response = filters.serve(&Peer::default(), get("/api/v1/nodes/panic", &[("audit-id", "mine")])).await;
    assert_eq!(response.headers()["audit-id"], "mine");
    assert_eq!(status_of(response).await["reason"], "InternalError");
    let response = filters.serve(&Peer::default(), get("/api/v1/nodes/fine", &[])).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["cache-control"], "no-cache, private");
    assert_eq!(response.headers()["audit-id"].len(), 36);
}

#[tokio::test(start_paused = true)]
async fn slow_requests_time_out_and_watches_do_not() {
    let filters = filters(|_| {});
    let before = tokio::time::Instant::now();
    let status =
        status_of(filters.serve(&Peer::default(), get("/api/v1/nodes/wait?timeout=2s", &[])).await).await;
    assert_eq!((&status["code"], &status["reason"]), (&504.into(), &"Timeout".into()));
    assert_eq!(before.elapsed().as_secs(), 2);
    let status = status_of(filters.serve(&Peer::default(), get("/api/v1/nodes/wait", &[])).await).await;
    assert_eq!(status["message"], "Timeout: request did not complete within the allotted timeout");
    assert_eq!(before.elapsed().as_secs(), 62);

    let watch = get("/api/v1/watch/nodes/wait?timeout=1s", &[]);
    let peer = Peer::default();
    let watching = tokio::time::timeout(Duration::from_hours(1), filters.serve(&peer, watch));
    assert!(watching.await.is_err(), "a watch has no request timeout");
    let status =
        status_of(filters.serve(&Peer::default(), get("/api/v1/nodes?timeout=zork", &[])).await).await;
    assert_eq!(status["code"], 400);
}

#[tokio::test]
async fn a_request_that_finds_no_seat_is_refused_as_kubernetes_does_it() {
    for is_fair in [true, false] {
        let filters = narrow(is_fair);
        let peer = Peer::default();
        let first = occupy(&filters, "/api/v1/nodes/wait").await;
        let refused = filters.serve(&peer, get_as("a", "/api/v1/nodes/quick")).await;
        assert_eq!(
            (refused.status().as_u16(), &refused.headers()["retry-after"]),
            (429, &"1".parse().unwrap())
        );
        assert_eq!(refused.headers()["content-type"], "text/plain; charset=utf-8");
        let body = refused.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(body, "Too many requests, please try again later.\n");

        // An administrator is never refused, and who leaves gives its seat back.
        assert_eq!(filters.serve(&peer, get("/api/v1/nodes/quick", &[])).await.status(), 200);
        first.abort();
        assert!(first.await.unwrap_err().is_cancelled());
        assert_eq!(filters.serve(&peer, get_as("a", "/api/v1/nodes/quick")).await.status(), 200);
        let (reads, writes) = filters.in_flight.numbers();
        assert_eq!((reads.working, reads.waiting, writes.working), (0, 0, 0));
    }
}

#[tokio::test]
async fn fixed_limits_concern_neither_the_other_kind_nor_watches_nor_probes() {
    let filters = narrow(false);
    let peer = Peer::default();
    let _first = occupy(&filters, "/api/v1/nodes/wait").await;
    let mut write = get_as("a", "/api/v1/nodes");
    *write.method_mut() = http::Method::POST;
    assert_eq!(filters.serve(&peer, write).await.status(), 200);
    for unlimited in ["/api/v1/watch/nodes/quick", "/livez"] {
        assert_eq!(filters.serve(&peer, get_as("a", unlimited)).await.status(), 200, "{unlimited}");
    }
}

#[tokio::test]
async fn streams_need_no_seat_and_watches_only_at_first() {
    let filters = narrow(true);
    let peer = Peer::default();
    // The scripted watch never begins to send events: it waits in its handler, with its seat.
    let watch = occupy(&filters, "/api/v1/watch/nodes/wait").await;
    assert_eq!(filters.serve(&peer, get_as("a", "/api/v1/nodes/quick")).await.status(), 429);
    let stream = "/api/v1/namespaces/n/pods/quick/log";
    assert_eq!(filters.serve(&peer, get_as("a", stream)).await.status(), 200);
    watch.abort();
    assert!(watch.await.unwrap_err().is_cancelled());
    assert_eq!(filters.serve(&peer, get_as("a", "/api/v1/watch/nodes/quick")).await.status(), 200);
    assert_eq!(filters.serve(&peer, get_as("a", "/api/v1/nodes/quick")).await.status(), 200);
}

#[tokio::test]
async fn the_context_says_who_and_where() {
    let filters = filters(|_| {});
    let headers = [("user-agent", "kubectl/v1.36 (linux)"), ("impersonate-user", "system:anonymous")];
    let refused =
        status_of(filters.serve(&Peer::default(), get("/api/v1/namespaces/n/pods", &headers)).await).await;
    assert_eq!(refused["code"], 403, "somebody else asks, who may not");

    let headers = [("user-agent", "kubectl/v1.36 (linux)"), ("audit-id", "id")];
    filters.serve(&Peer::default(), get("/api/v1/namespaces/n/pods", &headers)).await;
    let context = filters.inner.context.lock().take().unwrap();
    assert_eq!((context.namespace.as_str(), context.user_agent.as_str()), ("n", "kubectl"));
    assert_eq!((context.user.name.as_str(), context.audit_id.as_str()), ("admin", "id"));
    assert!(context.budget.deadline().is_some());
}

#[tokio::test]
async fn impersonation_needs_permission() {
    let filters = filters(|_| {});
    let mut request = get("/api", &[("impersonate-user", "carol")]);
    request.headers_mut().insert("authorization", "Bearer a".parse().unwrap());
    let status = status_of(filters.serve(&Peer::default(), request).await).await;
    assert_eq!(
        status["message"],
        "forbidden: User \"alice\" cannot impersonate-on:user-info:get path \"/api\""
    );
    assert_eq!(status["details"], serde_json::json!({}));
}

#[tokio::test]
async fn too_large_requests_are_refused() {
    let filters = filters(|_| {});
    let long = "x".repeat(bounds::MAX_HEADER_BYTES);
    let status =
        status_of(filters.serve(&Peer::default(), get("/api/v1/nodes", &[("x", &long)])).await).await;
    assert_eq!(status["code"], 431);

    let mut request = get("/api/v1/nodes", &[]);
    *request.method_mut() = http::Method::POST;
    *request.body_mut() = Body::from(vec![b' '; 3_145_729]);
    let status = status_of(filters.serve(&Peer::default(), request).await).await;
    assert_eq!(status["message"], "Request entity too large: limit is 3145728");
}

#[tokio::test]
async fn a_panic_and_a_request_that_is_given_up_are_audited() {
    let directory = tempfile::tempdir().unwrap();
    let rules = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]";
    let policy = Some(Policy::parse(rules.as_bytes()).unwrap());
    let log = directory.path().join("log");
    let mut options = Options::default().audit;
    options.log.audit_log_path = Some(log.clone());
    let auditor =
        Auditor::start(policy, &options, ServerMetrics::new().unwrap().audit(), &Route::Direct).unwrap();
    let filters = Arc::into_inner(filters(|_| {})).unwrap().with_auditor(auditor.clone());
    filters.serve(&Peer::default(), get("/api/v1/nodes/panic", &[])).await;
    let peer = Peer::default();
    let given_up = filters.serve(&peer, get("/api/v1/nodes/wait", &[]));
    assert!(tokio::time::timeout(Duration::from_millis(50), given_up).await.is_err());
    auditor.unwrap().stop().await;
    let text = std::fs::read_to_string(log).unwrap();
    let events: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let outcomes: Vec<_> = events
        .iter()
        .map(|event| (event["stage"].as_str().unwrap(), &event["responseStatus"]["code"]))
        .collect();
    let none = serde_json::Value::Null;
    let expected = [
        ("RequestReceived", &none),
        ("Panic", &500.into()),
        ("RequestReceived", &none),
        ("ResponseComplete", &504.into()),
    ];
    assert_eq!(outcomes, expected);
    assert_eq!(events[3]["responseStatus"]["message"], "Connection closed early");
}

#[tokio::test]
async fn writes_wait_until_the_server_has_said_how_it_stores_the_resource() {
    use registry_core::api::GroupResource;
    let limits = Options::default().limits;
    let filters = filters_with(&limits, Arc::new(AllowAll));
    let pending = [("", "configmaps"), ("apps", "deployments"), ("coordination.k8s.io", "leases")];
    let pending = pending.map(|(group, resource)| GroupResource { group, resource });
    let pending = PendingVersions::about(pending);
    let filters = Arc::into_inner(filters).unwrap().with_pending_versions(Some(Arc::new(pending)));
    let namespaced = |path: &str| format!("/apis/{path}");
    for (method, path, resource) in [
        ("POST", "/api/v1/namespaces/default/configmaps".to_owned(), "configmaps"),
        ("PUT", namespaced("apps/v1/namespaces/default/deployments/a/status"), "deployments.apps"),
        ("DELETE", namespaced("apps/v1/namespaces/default/deployments"), "deployments.apps"),
        (
            "PATCH",
            namespaced("coordination.k8s.io/v1/namespaces/default/leases/a"),
            "leases.coordination.k8s.io",
        ),
    ] {
        let request = Request::builder().method(method).uri(&path).header("authorization", "Bearer a");
        let answer = filters.serve(&Peer::default(), request.body(Body::empty()).unwrap()).await;
        let status = status_of(answer).await;
        assert_eq!(
            (&status["code"], &status["reason"]),
            (&503.into(), &"ServiceUnavailable".into()),
            "{path}"
        );
        let message = format!(
            "wait for storage version registration to complete for resource: {resource}, last seen error: <nil>"
        );
        assert_eq!(status["message"], message);
    }
    for (method, path) in [
        ("GET", "/api/v1/namespaces/default/configmaps"),
        ("GET", "/apis/apps/v1/deployments?watch=true"),
        ("POST", "/api/v1/namespaces/default/secrets"),
        ("POST", "/apis/internal.apiserver.k8s.io/v1alpha1/storageversions"),
        ("PUT", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/a"),
        ("POST", "/not/a/resource"),
    ] {
        let request = Request::builder().method(method).uri(path).header("authorization", "Bearer a");
        let answer = filters.serve(&Peer::default(), request.body(Body::empty()).unwrap()).await;
        assert_eq!(answer.status(), 200, "{method} {path}");
    }
}
