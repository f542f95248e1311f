//! A service that is asked whether requests are allowed.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use apiserver::testing::{ALICE_TOKEN, TestServer, TestServerBuilder};
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::client::{Connection, Protocol};
use crate::metrics::Page;
use crate::tls_server::TlsServer;

/// A service that allows configmaps, denies secrets, is out of order for pods, does not answer for endpoints, and has no opinion
/// about the rest.
struct Service {
    kubeconfig: PathBuf,
    _directory: tempfile::TempDir,
    calls: Arc<AtomicUsize>,
    last: Arc<Mutex<Value>>,
}

impl Service {
    async fn start() -> Self {
        let (calls, last) = (Arc::<AtomicUsize>::default(), Arc::<Mutex<Value>>::default());
        let state = (calls.clone(), last.clone());
        let server =
            TlsServer::start(&["127.0.0.1"], None, move |request| answer(state.clone(), request)).await;
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("ca.pem"), &server.ca_pem).unwrap();
        let kubeconfig = directory.path().join("kubeconfig");
        let text = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "c",
            "contexts": [{ "name": "c", "context": { "cluster": "s", "user": "u" } }],
            "clusters": [{ "name": "s", "cluster": {
                "server": server.url("/authorize"), "certificate-authority": "ca.pem",
            } }],
            "users": [{ "name": "u", "user": { "token": "shared" } }],
        });
        std::fs::write(&kubeconfig, text.to_string()).unwrap();
        Self { kubeconfig, _directory: directory, calls, last }
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    /// Writes a configuration in which RBAC is asked after this service.
    fn configuration(&self, failure_policy: &str, condition: &str) -> PathBuf {
        let path = self.kubeconfig.with_file_name("configuration");
        let webhook = json!({
            "timeout": "5s",
            "subjectAccessReviewVersion": "v1",
            "matchConditionSubjectAccessReviewVersion": "v1",
            "failurePolicy": failure_policy,
            "connectionInfo": { "type": "KubeConfigFile", "kubeConfigFile": self.kubeconfig },
            "matchConditions": [{ "expression": condition }],
        });
        let configuration = json!({
            "apiVersion": "apiserver.config.k8s.io/v1",
            "kind": "AuthorizationConfiguration",
            "authorizers": [
                { "type": "Webhook", "name": "service", "webhook": webhook },
                { "type": "RBAC", "name": "rbac" },
            ],
        });
        std::fs::write(&path, configuration.to_string()).unwrap();
        path
    }
}

async fn answer(
    (calls, last): (Arc<AtomicUsize>, Arc<Mutex<Value>>),
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, hyper::Error> {
    assert_eq!(request.headers()["authorization"], "Bearer shared");
    calls.fetch_add(1, Ordering::SeqCst);
    let body = request.into_body().collect().await?.to_bytes();
    let mut review: Value = serde_json::from_slice(&body).unwrap();
    *last.lock() = review.clone();
    let status = match review["spec"]["resourceAttributes"]["resource"].as_str() {
        Some("configmaps") => json!({ "allowed": true, "reason": "why not" }),
        Some("secrets") => json!({ "allowed": false, "denied": true, "reason": "never" }),
        Some("pods") => {
            return Ok(Response::builder().status(503).body(Full::default()).unwrap());
        }
        Some("endpoints") => std::future::pending().await,
        _ => json!({ "allowed": false }),
    };
    review["status"] = status;
    Ok(Response::new(Full::new(Bytes::from(review.to_string()))))
}

fn memory() -> TestServerBuilder {
    TestServer::builder().memory()
}

#[tokio::test]
async fn the_service_decides_and_its_answers_are_kept() {
    let service = Service::start().await;
    let file = format!("--authorization-webhook-config-file={}", service.kubeconfig.display());
    let server = memory().flag("--authorization-mode=Webhook,RBAC").flag(file).start().await.unwrap();
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    let list = |resource: &str| format!("/api/v1/namespaces/default/{resource}");
    for _ in 0..3 {
        assert_eq!(connection.get(&list("configmaps"), Some(ALICE_TOKEN)).await.status, 200);
        let denied = connection.get(&list("secrets"), Some(ALICE_TOKEN)).await;
        assert_eq!(denied.status, 403);
        assert!(denied.text().contains(": never"), "{}", denied.text());
    }
    assert_eq!(service.calls(), 2, "one call for each question");
    let own = connection.get(&format!("{}?labelSelector=a", list("configmaps")), Some(ALICE_TOKEN)).await;
    assert_eq!(own.status, 200);
    let last = service.last.lock().clone();
    assert_eq!(
        (&last["apiVersion"], &last["kind"]),
        (&json!("authorization.k8s.io/v1beta1"), &json!("SubjectAccessReview"))
    );
    assert_eq!(
        last["spec"],
        json!({
            "user": "alice", "uid": "alice", "group": ["system:authenticated"],
            "resourceAttributes": {
                "namespace": "default", "verb": "list", "version": "v1", "resource": "configmaps",
                "labelSelector": { "requirements": [{ "key": "a", "operator": "Exists" }] },
            },
        })
    );
    // No opinion: RBAC is asked.
    assert_eq!(connection.get("/api", Some(ALICE_TOKEN)).await.status, 200);
    assert_eq!(connection.get("/api/v1/nodes", Some(ALICE_TOKEN)).await.status, 403);
    // Nobody allows it, and the service is out of order.
    assert_eq!(connection.get(&list("pods"), Some(ALICE_TOKEN)).await.status, 500);
    // Administrators and probes do not depend on the service.
    assert_eq!(connection.get(&list("pods"), Some(server.admin_token())).await.status, 200);
    assert_eq!(connection.get("/readyz", None).await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn flags_set_the_version_of_reviews_and_how_long_answers_are_kept() {
    let service = Service::start().await;
    let file = format!("--authorization-webhook-config-file={}", service.kubeconfig.display());
    let server = memory()
        .flag("--authorization-mode=Webhook")
        .flag(file)
        .flag("--authorization-webhook-version=v1")
        .flag("--authorization-webhook-cache-authorized-ttl=0s")
        .flag("--authorization-webhook-cache-unauthorized-ttl=1h")
        .start()
        .await
        .unwrap();
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    for _ in 0..3 {
        let allowed = connection.get("/api/v1/namespaces/default/configmaps", Some(ALICE_TOKEN)).await;
        assert_eq!(allowed.status, 200);
    }
    assert_eq!(service.calls(), 3, "what is allowed is asked each time");
    let version = service.last.lock()["apiVersion"].clone();
    assert_eq!(version, "authorization.k8s.io/v1");
    for _ in 0..3 {
        let denied = connection.get("/api/v1/namespaces/default/secrets", Some(ALICE_TOKEN)).await;
        assert_eq!(denied.status, 403);
    }
    assert_eq!(service.calls(), 4, "what is denied is kept");
    server.stop().await;
}

#[tokio::test]
async fn conditions_select_what_the_service_is_asked_about() {
    let service = Service::start().await;
    let condition = "has(request.resourceAttributes) && request.resourceAttributes.namespace == 'default'";
    for (failure_policy, refused) in [("Deny", 500), ("NoOpinion", 200)] {
        let path = service.configuration(failure_policy, condition);
        let server =
            memory().flag(format!("--authorization-config={}", path.display())).start().await.unwrap();
        let mut connection = Connection::open(&server, Protocol::Http2).await;
        let before = service.calls();
        assert_eq!(connection.get("/api", Some(ALICE_TOKEN)).await.status, 200);
        assert_eq!(connection.get("/api/v1/configmaps", Some(ALICE_TOKEN)).await.status, 403);
        assert_eq!(service.calls(), before, "the condition does not hold");
        let asked = connection.get("/api/v1/namespaces/default/configmaps", Some(ALICE_TOKEN)).await;
        assert_eq!((asked.status, service.calls()), (200, before + 1));
        // RBAC allows it, but the service does not answer.
        let body = json!({
            "metadata": { "name": "pods" },
            "rules": [{ "apiGroups": [""], "resources": ["pods"], "verbs": ["list"] }],
        });
        let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
        let made = connection.send(crate::client::post(roles, body.to_string().into_bytes())).await;
        assert_eq!(made.status, 201, "{}", made.text());
        let body = json!({
            "metadata": { "name": "pods" },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "pods" },
            "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice" }],
        });
        let bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
        let made = connection.send(crate::client::post(bindings, body.to_string().into_bytes())).await;
        assert_eq!(made.status, 201, "{}", made.text());
        let listed = connection.get("/api/v1/namespaces/default/pods", Some(ALICE_TOKEN)).await;
        assert_eq!(listed.status, refused, "{failure_policy}: {}", listed.text());
        server.stop().await;
    }
}

#[tokio::test]
async fn a_service_that_cannot_be_used_is_refused_at_the_start() {
    let service = Service::start().await;
    let text = std::fs::read_to_string(&service.kubeconfig).unwrap();
    for (from, to) in [
        ("https://", "ftp://"),
        ("\"server\"", "\"proxy-url\":\"http://127.0.0.1:1\",\"server\""),
        ("\"current-context\":\"c\"", "\"current-context\":\"d\""),
        ("ca.pem", "absent.pem"),
        ("\"certificate-authority\"", "\"insecure-skip-tls-verify\":true,\"certificate-authority\""),
        ("\"token\":\"shared\"", "\"exec\":{}"),
        ("\"token\":\"shared\"", "\"client-key-data\":\"eA==\""),
    ] {
        assert!(text.contains(from), "{from}");
        std::fs::write(&service.kubeconfig, text.replace(from, to)).unwrap();
        let file = format!("--authorization-webhook-config-file={}", service.kubeconfig.display());
        let started = memory().flag("--authorization-mode=Webhook").flag(file).start().await;
        assert!(started.is_err(), "{to}");
    }
    let path = service.configuration("Deny", "request.zork");
    assert!(memory().flag(format!("--authorization-config={}", path.display())).start().await.is_err());
}

/// Returns the value of a metric, or nothing.
async fn metric(connection: &mut Connection, line: &str) -> Option<String> {
    let page = connection.get("/metrics", Some("admin-token")).await.text();
    page.lines().find_map(|text| text.strip_prefix(line)).map(|value| value.trim().to_owned())
}

#[tokio::test]
async fn a_changed_configuration_is_applied_and_a_wrong_one_is_not() {
    const RELOADS: &str = "apiserver_authorization_config_controller_automatic_reloads_total";
    let service = Service::start().await;
    let path = service.configuration("NoOpinion", "request.user == 'nobody'");
    let original = std::fs::read_to_string(&path).unwrap();
    let server = memory().flag(format!("--authorization-config={}", path.display())).start().await.unwrap();
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    let list = "/api/v1/namespaces/default/configmaps";
    assert_eq!(connection.get(list, Some(ALICE_TOKEN)).await.status, 403, "the service is not asked");
    let reloads = async |status: &str| {
        let labels = [format!("status=\"{status}\""), "apiserver_id_hash=\"sha256:".to_owned()];
        Page::scrape(&server).await.sum(RELOADS, &labels.each_ref().map(String::as_str))
    };
    for (number, (change, is_good)) in [
        (original.replace("'nobody'", "'alice'"), true),
        (original.replace("'nobody'", "'bob'").replace("RBAC", "Node"), false),
        (original.replace("\"RBAC\"", "\"AlwaysDeny\""), false),
        ("{".to_owned(), false),
        (original.clone(), true),
    ]
    .into_iter()
    .enumerate()
    {
        let status = if is_good { "success" } else { "failure" };
        let before = reloads(status).await;
        std::fs::write(&path, change).unwrap();
        let begun = std::time::Instant::now();
        while reloads(status).await == before {
            assert!(begun.elapsed().as_secs() < 20, "change {number} is not noticed");
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        let wanted = if number < 4 { 200 } else { 403 };
        assert_eq!(connection.get(list, Some(ALICE_TOKEN)).await.status, wanted, "change {number}");
    }
    let decisions =
        "apiserver_authorization_decisions_total{decision=\"allowed\",name=\"service\",type=\"Webhook\"}";
    assert_eq!(metric(&mut connection, decisions).await.as_deref(), Some("4"));
    let calls = "apiserver_authorization_webhook_evaluations_total{name=\"service\",result=\"success\"}";
    assert!(metric(&mut connection, calls).await.is_some());
    let excluded =
        "apiserver_authorization_match_condition_exclusions_total{name=\"service\",type=\"Webhook\"}";
    assert_ne!(metric(&mut connection, excluded).await.as_deref(), Some("0"));
    server.stop().await;
}

#[tokio::test]
async fn calls_for_one_user_hold_up_nobody_else() {
    /// Maximum number of concurrent calls for a user.
    const AT_ONCE: usize = 64;
    let service = Service::start().await;
    let file = format!("--authorization-webhook-config-file={}", service.kubeconfig.display());
    let builder = memory().flag("--authorization-mode=Webhook,RBAC").flag(file);
    let server = builder.token("bob-token", "bob", "").start().await.unwrap();
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    let Connection::Http2 { sender, .. } = &connection else { panic!("another protocol") };
    let mut flood = tokio::task::JoinSet::new();
    for number in 0..AT_ONCE + 6 {
        let mut connection = Connection::Http2 { sender: sender.clone(), server: None, is_over: false };
        let path = format!("/api/v1/namespaces/n-{number}/endpoints");
        flood.spawn(async move { connection.get(&path, Some(ALICE_TOKEN)).await.status });
    }
    while service.calls() < AT_ONCE {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let answered = connection.get("/api/v1/namespaces/default/configmaps", Some("bob-token")).await;
    assert_eq!((answered.status, service.calls()), (200, AT_ONCE + 1), "{}", answered.text());
    assert!(flood.try_join_next().is_none(), "the others wait");
    drop(flood);
    server.stop().await;
}
