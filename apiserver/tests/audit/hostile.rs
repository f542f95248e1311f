//! The audit log under bad conditions.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Empty;
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::TcpListener;

use super::{Audited, EVERYTHING, METADATA, audit_id, events_in, request};
use crate::client::{Connection, Protocol, tls};
use crate::peer;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Returns a config map of about this size.
fn config_map(name: &str, bytes: usize) -> String {
    json!({"metadata": {"name": name}, "data": {"k": "x".repeat(bytes)}}).to_string()
}

#[tokio::test]
async fn a_full_disk_is_counted_and_refuses_requests_only_in_strict_mode() {
    let path = "--audit-log-path=/dev/full";
    let audited = Audited::start(METADATA, &[path, "--audit-log-maxsize=0"]).await;
    let mut connection = audited.connect().await;
    assert_eq!(connection.get("/api", Some("admin-token")).await.status, 200);
    assert!(audited.metric("apiserver_audit_error_total{plugin=\"log\"}").await >= 2.0);
    assert!(audited.metric("apiserver_audit_event_total").await >= 2.0);
    assert!(audited.metric("apiserver_audit_level_total{level=\"Metadata\"}").await >= 1.0);

    let policy =
        METADATA.replace("rules: [", "rules: [{level: None, nonResourceURLs: ['/metrics', '/readyz']}, ");
    let strict =
        Audited::start(&policy, &[path, "--audit-log-maxsize=0", "--audit-log-mode=blocking-strict"]).await;
    let refused = strict.connect().await.send(request("POST", CONFIG_MAPS, &config_map("a", 1), &[])).await;
    assert_eq!(refused.status, 500);
    let text = format!("Internal Server Error: {CONFIG_MAPS:?}: failed to store audit event\n");
    assert_eq!(refused.text(), text);
    assert!(strict.metric("apiserver_audit_requests_rejected_total").await >= 1.0);
}

#[tokio::test]
async fn unusable_settings_are_refused_at_the_start() {
    for (policy, flags, reason) in [
        (
            METADATA,
            &["--audit-log-path=/proc/none/audit.log"][..],
            "ensureLogFile: open /proc/none/audit.log: ",
        ),
        (METADATA, &["--audit-log-maxage=-1"], "--audit-log-maxage -1 can't be a negative number"),
        (
            "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Zork}]",
            &[],
            "loading audit policy file: rules[0].level: Unsupported value: \"Zork\": supported values: ",
        ),
        ("kind: Policy", &[], "Object 'apiVersion' is missing in"),
        (METADATA, &["--audit-webhook-config-file=DIR/policy.yaml"], "initializing audit webhook: "),
    ] {
        let failure = Audited::try_start(policy, flags).await.err().unwrap().to_string();
        assert!(failure.contains(reason), "{failure}");
    }
}

#[tokio::test]
async fn unknown_fields_of_a_policy_do_not_keep_the_server_from_starting() {
    let audited = Audited::start(&format!("{METADATA}zork: 1\n"), &[]).await;
    let answer = audited.connect().await.get("/api", Some("admin-token")).await;
    assert_eq!(audited.events(audit_id(&answer), 2).await.len(), 2);
}

#[tokio::test]
async fn a_webhook_that_never_answers_delays_no_request() {
    // Connections are accepted by the operating system, and nothing is ever read.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": format!("http://{address}/")}}],
        "contexts": [{"name": "c", "context": {"cluster": "c"}}],
    });
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("webhook");
    std::fs::write(&path, config.to_string()).unwrap();
    let webhook = format!("--audit-webhook-config-file={}", path.display());
    let flags =
        [webhook.as_str(), "--audit-webhook-batch-buffer-size=10", "--audit-webhook-batch-max-size=1"];
    let audited = Audited::start(METADATA, &flags).await;
    let mut connection = audited.connect().await;
    let begun = Instant::now();
    for _ in 0..100 {
        assert_eq!(connection.get("/api", Some("admin-token")).await.status, 200);
    }
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert!(audited.metric("apiserver_audit_error_total{plugin=\"buffered\"}").await > 50.0);
    let begun = Instant::now();
    audited.server.stop().await;
    assert!(begun.elapsed() < Duration::from_secs(30), "and not the end of the server for long");
}

#[tokio::test]
async fn a_thousand_concurrent_requests_are_recorded_once_each_across_rotated_files() {
    let audited = Audited::start(METADATA, &["--audit-log-maxsize=1"]).await;
    let tasks = (0..20).map(|task| {
        let connection = Connection::open(&audited.server, Protocol::Http2);
        async move {
            let mut connection = connection.await;
            for number in 0..50 {
                let id = format!("{task}-{number}");
                let agent = "x".repeat(1000);
                let headers = [("audit-id", id.as_str()), ("user-agent", agent.as_str())];
                let answer = connection.send(request("GET", CONFIG_MAPS, "", &headers)).await;
                assert_eq!((answer.status, audit_id(&answer)), (200, id.as_str()));
            }
        }
    });
    futures::future::join_all(tasks).await;
    let files = std::fs::read_dir(audited.directory.path()).unwrap().map(|entry| entry.unwrap().path());
    let logs: Vec<_> = files.filter(|path| path.extension().is_some_and(|ending| ending == "log")).collect();
    assert!(logs.len() > 1, "{logs:?}");
    let mut stages: HashMap<String, usize> = HashMap::new();
    for event in logs.iter().flat_map(|path| events_in(path)) {
        *stages.entry(event["auditID"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    stages.retain(|id, _| id.contains('-') && id.len() < 8);
    assert_eq!(stages.len(), 1000);
    assert!(stages.values().all(|count| *count == 2), "{stages:?}");
}

#[tokio::test]
async fn oversized_events_lose_their_objects() {
    let flags = ["--audit-log-truncate-enabled", "--audit-log-truncate-max-event-size=5000"];
    let audited = Audited::start(EVERYTHING, &flags).await;
    let mut connection = audited.connect().await;
    for (name, bytes, is_whole) in [("small", 100, true), ("large", 10_000, false)] {
        let answer = connection.send(request("POST", CONFIG_MAPS, &config_map(name, bytes), &[])).await;
        let events = audited.events(audit_id(&answer), 1).await;
        assert_eq!(events[0]["objectRef"]["name"], name);
        assert_eq!(events[0].get("requestObject").is_some(), is_whole);
        assert_eq!(events[0].get("responseObject").is_some(), is_whole);
        assert_eq!(events[0]["annotations"].get("audit.k8s.io/truncated").is_some(), !is_whole);
    }
}

/// A body that is too large is refused after authentication and authorization, so its sender is on record.
#[tokio::test]
async fn a_body_that_is_too_large_is_recorded_with_its_user() {
    let audited = Audited::start(METADATA, &[]).await;
    let body = config_map("large", 4 << 20);
    for (headers, code, user, stages) in [
        (&[][..], 413, "admin", &["RequestReceived", "ResponseComplete"][..]),
        (&[("authorization", "Bearer nonsense")], 401, "", &["ResponseStarted"]),
    ] {
        let refused = audited.connect().await.send(request("POST", CONFIG_MAPS, &body, headers)).await;
        assert_eq!(refused.status, code, "{}", refused.text());
        let events = audited.events(audit_id(&refused), stages.len()).await;
        assert_eq!(events.iter().map(|event| event["stage"].as_str().unwrap()).collect::<Vec<_>>(), stages);
        let last = events.last().unwrap();
        assert_eq!(last["responseStatus"]["code"], code);
        assert_eq!(last["user"]["username"].as_str().unwrap_or_default(), user, "{last}");
    }
}

#[tokio::test]
async fn objects_are_recorded_whatever_their_format_and_patches_as_they_are_meant() {
    let audited = Audited::start(&EVERYTHING.replace("rules:", "omitManagedFields: true\nrules:"), &[]).await;
    let mut connection = audited.connect().await;
    let yaml = [("content-type", "application/yaml"), ("accept", "application/vnd.kubernetes.protobuf")];
    let created = connection.send(request("POST", CONFIG_MAPS, "metadata: {name: a}\n", &yaml)).await;
    let events = audited.events(audit_id(&created), 1).await;
    assert_eq!(
        events[0]["requestObject"],
        json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}})
    );
    let shown = &events[0]["responseObject"]["metadata"];
    assert!(shown["uid"].is_string() && shown.get("managedFields").is_none(), "{shown}");

    let apply = [("content-type", "application/apply-patch+yaml")];
    let body = "apiVersion: v1\nkind: ConfigMap\ndata:\n  k: v\n";
    let path = format!("{CONFIG_MAPS}/a?fieldManager=me&force=true");
    let applied = connection.send(request("PATCH", &path, body, &apply)).await;
    let events = audited.events(audit_id(&applied), 1).await;
    let meant = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "v"}});
    assert_eq!(events[0]["requestObject"], meant);

    let broken = [("content-type", "application/merge-patch+json")];
    let path = format!("{CONFIG_MAPS}/a");
    let refused = connection.send(request("PATCH", &path, "{\"a\":\n", &broken)).await;
    let events = audited.events(audit_id(&refused), 1).await;
    assert_eq!(
        (&events[0]["requestObject"], &events[0]["responseObject"]["code"]),
        (&"{\"a\":\n".into(), &400.into())
    );

    for accept in ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"] {
        let listed = connection.send(request("GET", CONFIG_MAPS, "", &[("accept", accept)])).await;
        let events = audited.events(audit_id(&listed), 1).await;
        assert_eq!(events[0]["responseObject"]["kind"], "ConfigMapList");
        let names = events[0]["responseObject"]["items"].as_array().unwrap().iter();
        assert!(names.into_iter().any(|item| item["metadata"]["name"] == "a"), "{accept}");
    }
}

#[tokio::test]
async fn tokens_are_never_recorded() {
    let audited = Audited::start(EVERYTHING, &[]).await;
    let mut connection = audited.connect().await;
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    connection.send(request("POST", accounts, "{\"metadata\":{\"name\":\"robot\"}}", &[])).await;
    let issued =
        connection.send(request("POST", &format!("{accounts}/robot/token"), "{\"spec\":{}}", &[])).await;
    let token = issued.json()["status"]["token"].as_str().unwrap().to_owned();
    let review = json!({"spec": {"token": token}}).to_string();
    let reviews = "/apis/authentication.k8s.io/v1/tokenreviews";
    let reviewed = connection.send(request("POST", reviews, &review, &[])).await;
    assert_eq!(reviewed.json()["status"]["authenticated"], true);
    let bearer = format!("Bearer {token}");
    let used = connection.send(request("GET", "/api", "", &[("authorization", &bearer)])).await;
    assert_eq!(audited.events(audit_id(&used), 1).await.len(), 1);
    let log = std::fs::read_to_string(audited.log()).unwrap();
    for secret in [token.as_str(), "admin-token", token.rsplit('.').next().unwrap()] {
        assert!(!log.contains(secret), "{secret}");
    }
}

#[tokio::test]
async fn a_request_that_is_abandoned_is_recorded() {
    let audited = Audited::start(METADATA, &[]).await;
    let connection = audited.connect().await;
    // The first response of a watch is long: the client leaves while it is being sent.
    let path = format!("{CONFIG_MAPS}?watch=1");
    let watching = async move {
        let mut connection = connection;
        connection.try_send(request("GET", &path, "", &[("audit-id", "left")])).await
    };
    let left = tokio::time::timeout(Duration::from_millis(500), watching).await;
    assert!(left.is_err(), "the watch goes on");
    let stages: Vec<_> = audited
        .events("left", 3)
        .await
        .iter()
        .map(|event| event["stage"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(stages, ["RequestReceived", "ResponseStarted", "ResponseComplete"]);
}

#[tokio::test]
async fn the_security_of_pods_and_deprecated_apis_are_annotated() {
    let audited = Audited::start(METADATA, &[]).await;
    let mut connection = audited.connect().await;
    let labels = json!({
        "pod-security.kubernetes.io/enforce": "baseline", "pod-security.kubernetes.io/audit": "restricted",
    });
    let namespace = json!({"metadata": {"name": "guarded", "labels": labels}}).to_string();
    connection.send(request("POST", "/api/v1/namespaces", &namespace, &[])).await;
    let account = "/api/v1/namespaces/guarded/serviceaccounts";
    connection.send(request("POST", account, "{\"metadata\":{\"name\":\"default\"}}", &[])).await;
    let pod =
        json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}).to_string();
    let created = connection.send(request("POST", "/api/v1/namespaces/guarded/pods", &pod, &[])).await;
    assert_eq!(created.status, 201, "{}", created.text());
    let events = audited.events(audit_id(&created), 2).await;
    let annotations = &events[1]["annotations"];
    assert_eq!(annotations["pod-security.kubernetes.io/enforce-policy"], "baseline:latest");
    let violations = annotations["pod-security.kubernetes.io/audit-violations"].as_str().unwrap();
    assert!(violations.starts_with("would violate PodSecurity \"restricted:latest\": "), "{violations}");

    let deprecated = connection.get("/api/v1/componentstatuses", Some("admin-token")).await;
    let events = audited.events(audit_id(&deprecated), 2).await;
    assert_eq!(events[1]["annotations"]["k8s.io/deprecated"], "true");
}

#[tokio::test]
async fn an_upgraded_connection_is_recorded_until_it_ends() {
    let kubelet = peer::start(true).await;
    let audited = Audited::start(METADATA, &["--controllers="]).await;
    let mut connection = audited.connect().await;
    let node = json!({
        "metadata": {"name": "n1"},
        "status": {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet.port()}},
        },
    });
    let pod = json!({"metadata": {"name": "web"}, "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "x"}]}});
    let below = "/api/v1/namespaces/default";
    for (path, body) in [
        ("/api/v1/nodes".to_owned(), node),
        (format!("{below}/serviceaccounts"), json!({"metadata": {"name": "default"}})),
        (format!("{below}/pods"), pod),
    ] {
        let created = connection.send(request("POST", &path, &body.to_string(), &[])).await;
        assert_eq!(created.status, 201, "{}", created.text());
    }
    let stream = TokioIo::new(tls(&audited.server, "http/1.1").await);
    let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await.unwrap();
    tokio::spawn(connection.with_upgrades());
    let exec = http::Request::post(format!("{below}/pods/web/exec?command=ls&stdout=true"))
        .header("host", "localhost")
        .header("authorization", "Bearer admin-token")
        .header("audit-id", "exec")
        .header("connection", "Upgrade")
        .header("upgrade", "SPDY/3.1");
    let mut answer = sender.send_request(exec.body(Empty::<Bytes>::new()).unwrap()).await.unwrap();
    assert_eq!(answer.status(), 101);
    let stream = hyper::upgrade::on(&mut answer).await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    let stages = |events: &[serde_json::Value]| {
        events.iter().map(|event| event["stage"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let begun = audited.events("exec", 2).await;
    assert_eq!(stages(&begun), ["RequestReceived", "ResponseStarted"]);
    assert_eq!(begun[1]["responseStatus"]["code"], 101);
    drop(stream);
    let ended = audited.events("exec", 3).await;
    assert_eq!(stages(&ended)[2], "ResponseComplete");
}
