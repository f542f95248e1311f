use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

use super::*;
use crate::authentication::TokenTable;
use crate::authorization::AuthorizerChain;
use crate::options::Options;

/// Acts as the path says, and remembers the last context.
#[derive(Default)]
struct Scripted {
    started: AtomicUsize,
    release: Notify,
    context: std::sync::Mutex<Option<RequestContext>>,
}

impl Dispatch for Scripted {
    async fn dispatch(
        self: &Arc<Self>,
        info: RequestInfo,
        context: RequestContext,
        request: Request<Body>,
    ) -> Response<Body> {
        assert!(request.headers().get("authorization").is_none(), "credentials stay outside");
        self.started.fetch_add(1, Ordering::SeqCst);
        match info.resource.as_ref().map(|resource| resource.name.as_str()) {
            Some("panic") => panic!("as scripted"),
            Some("wait") => self.release.notified().await,
            _ => {}
        }
        *self.context.lock().unwrap() = Some(context);
        Response::new(Body::from("done"))
    }
}

fn filters(limits: impl FnOnce(&mut LimitOptions)) -> Arc<Filters<Scripted>> {
    let mut options = Options::default();
    limits(&mut options.limits);
    let tokens = TokenTable::parse("t,admin,admin,system:masters\na,alice,alice,").unwrap();
    Arc::new(Filters::new(
        Arc::default(),
        Authenticator::new(tokens, true),
        Arc::<AuthorizerChain>::default(),
        Arc::default(),
        Health::default(),
        &options.limits,
        ServerMetrics::new().unwrap(),
    ))
}

fn get(uri: &str, headers: &[(&str, &str)]) -> Request<Body> {
    let mut request = Request::get(uri).header("authorization", "Bearer t");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Body::empty()).unwrap()
}

async fn status_of(response: Response<Body>) -> serde_json::Value {
    let code = response.status().as_u16();
    let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
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

#[tokio::test(start_paused = true)]
async fn too_many_requests_wait_and_then_are_told_to_come_back() {
    let filters = filters(|limits| limits.max_requests_inflight = 1);
    let spawn = |uri: &'static str| {
        let filters = filters.clone();
        tokio::spawn(async move { filters.serve(&Peer::default(), get(uri, &[])).await })
    };
    let first = spawn("/api/v1/nodes/wait");
    while filters.inner.started.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    let waiting: Vec<_> = (0..8).map(|_| spawn("/api/v1/nodes/quick")).collect();
    tokio::task::yield_now().await;
    let refused = filters.serve(&Peer::default(), get("/api/v1/nodes/quick", &[])).await;
    assert_eq!(refused.headers()["retry-after"], "1");
    assert_eq!(status_of(refused).await["reason"], "TooManyRequests");
    // Probes need no place.
    assert_eq!(filters.serve(&Peer::default(), get("/livez", &[])).await.status(), 200);
    // Watches need none of these places either.
    assert_eq!(filters.serve(&Peer::default(), get("/api/v1/watch/nodes/quick", &[])).await.status(), 200);
    // Writes do not take the places of reads.
    let mut write = get("/api/v1/nodes", &[]);
    *write.method_mut() = http::Method::POST;
    assert_eq!(filters.serve(&Peer::default(), write).await.status(), 200);

    filters.inner.release.notify_one();
    assert_eq!(first.await.unwrap().status(), 200);
    for one in waiting {
        assert_eq!(one.await.unwrap().status(), 200);
    }
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
    let context = filters.inner.context.lock().unwrap().take().unwrap();
    assert_eq!((context.namespace.as_str(), context.user_agent.as_str()), ("n", "kubectl"));
    assert_eq!((context.user.name.as_str(), context.audit_id.as_str()), ("admin", "id"));
    assert!(context.deadline.is_some());
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
async fn what_is_too_large_is_refused() {
    let filters = filters(|_| {});
    let long = "x".repeat(bounds::MAX_HEADER_BYTES);
    let status =
        status_of(filters.serve(&Peer::default(), get("/api/v1/nodes", &[("x", &long)])).await).await;
    assert_eq!(status["code"], 431);

    let mut request = get("/api/v1/nodes", &[("content-length", "3145729")]);
    *request.method_mut() = http::Method::POST;
    let status = status_of(filters.serve(&Peer::default(), request).await).await;
    assert_eq!(status["message"], "Request entity too large: limit is 3145728");
}

#[tokio::test]
async fn a_panic_and_a_request_that_is_given_up_are_audited() {
    let directory = tempfile::tempdir().unwrap();
    let policy = directory.path().join("policy");
    let rules = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]";
    std::fs::write(&policy, rules).unwrap();
    let log = directory.path().join("log");
    let mut options = Options::default().audit;
    options.audit_policy_file = Some(policy);
    options.log.audit_log_path = Some(log.clone());
    let auditor = Auditor::start(&options, ServerMetrics::new().unwrap().audit()).unwrap();
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
