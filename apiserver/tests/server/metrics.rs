//! The server's metrics on `/metrics`.

use std::collections::BTreeSet;

use apiserver::metrics::ServerMetrics;
use apiserver::testing::TestServer;
use serde_json::json;

use crate::client::{Answer, Connection, Protocol, post};

const REFERENCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/metrics.md");

/// A scraped page.
pub struct Page(String);

impl Page {
    /// Reads the metrics as an administrator.
    pub async fn scrape(server: &TestServer) -> Self {
        let mut connection = Connection::open(server, Protocol::Http2).await;
        let answer = connection.get("/metrics", Some(server.admin_token())).await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8");
        Self(answer.text())
    }

    /// Returns the sum of a metric's values with all of these labels, each written `name="value"`.
    pub fn sum(&self, name: &str, labels: &[&str]) -> f64 {
        let lines = self.0.lines().filter_map(|line| line.strip_prefix(name));
        let values = lines.filter_map(|rest| {
            let (own, value) = rest.rsplit_once(' ')?;
            let is_it = own.is_empty() || own.starts_with('{');
            (is_it && labels.iter().all(|label| own.contains(label))).then(|| value.parse::<f64>().unwrap())
        });
        values.sum()
    }

    /// Returns whether a metric has a value with these labels.
    pub fn has(&self, name: &str, labels: &[&str]) -> bool {
        let mut lines = self.0.lines().filter_map(|line| line.strip_prefix(name));
        lines.any(|own| own.starts_with(['{', ' ']) && labels.iter().all(|label| own.contains(label)))
    }

    fn families(&self) -> BTreeSet<&str> {
        self.0.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect()
    }
}

pub async fn create(connection: &mut Connection, name: &str, data: &str, query: &str) -> Answer {
    let object = json!({"metadata": {"name": name}, "data": {"text": data}}).to_string();
    let path = format!("/api/v1/namespaces/default/configmaps{query}");
    let mut request = post(&path, object.into_bytes());
    request.headers_mut().insert("content-type", "application/json".parse().unwrap());
    connection.send(request).await
}

#[tokio::test]
async fn requests_are_counted_as_kubernetes_counts_them() {
    let server = TestServer::builder().memory().without_controllers().start().await.unwrap();
    let admin = Some(server.admin_token());
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    assert_eq!(create(&mut connection, "one", "text", "").await.status, 201);
    assert_eq!(create(&mut connection, "one", "text", "").await.status, 409);
    assert_eq!(create(&mut connection, "two", "text", "?dryRun=All").await.status, 201);
    for _ in 0..3 {
        connection.get("/api/v1/namespaces/default/configmaps/one", admin).await;
    }
    connection.get("/api/v1/configmaps", admin).await;
    connection.get("/api/v1/namespaces/default/configmaps", admin).await;
    connection.get("/api/v1/configmaps?watch=true&timeoutSeconds=1", admin).await;
    connection.get("/api/v1/configmaps", Some("alice-token")).await;
    connection.get("/livez", Some("wrong")).await;
    connection.get("/api/v1/componentstatuses", admin).await;

    let page = Page::scrape(&server).await;
    let count = |labels: &[&str]| {
        let all = [labels, &[r#"resource="configmaps""#, r#"group="""#, r#"version="v1""#]].concat();
        page.sum("apiserver_request_total", &all)
    };
    assert_eq!(count(&[r#"verb="POST""#, r#"code="201""#, r#"dry_run="""#, r#"scope="resource""#]), 1.0);
    assert_eq!(count(&[r#"verb="POST""#, r#"code="201""#, r#"dry_run="All""#]), 1.0);
    assert_eq!(count(&[r#"verb="POST""#, r#"code="409""#]), 1.0);
    assert_eq!(count(&[r#"verb="GET""#, r#"code="200""#, r#"component="apiserver""#]), 3.0);
    assert_eq!(count(&[r#"verb="LIST""#, r#"scope="cluster""#]), 1.0, "who may not is not counted here");
    assert_eq!(count(&[r#"verb="LIST""#, r#"scope="namespace""#]), 1.0);
    assert_eq!(count(&[r#"verb="WATCH""#, r#"scope="cluster""#]), 1.0);
    let gets = [r#"verb="GET""#, r#"resource="configmaps""#];
    assert_eq!(page.sum("apiserver_request_duration_seconds_count", &gets), 3.0);
    assert_eq!(page.sum("apiserver_response_sizes_count", &gets), 3.0);
    // The server has two of its own, in kube-system.
    assert_eq!(page.sum("apiserver_watch_events_total", &[r#"resource="configmaps""#]), 3.0);
    assert_eq!(page.sum("apiserver_longrunning_requests", &[r#"resource="configmaps""#]), 0.0);

    let deprecated = [r#"resource="componentstatuses""#, r#"version="v1""#, r#"removed_release="""#];
    assert_eq!(page.sum("apiserver_requested_deprecated_apis", &deprecated), 1.0);
    assert_eq!(page.sum("apiserver_storage_objects", &[r#"resource="configmaps""#]), 3.0);
    let creates = [r#"operation="create""#, r#"resource="configmaps""#];
    assert_eq!(page.sum("etcd_requests_total", &creates), 4.0, "a dry run asks nothing");
    assert!(page.sum("orlop_embedded_commit_writes_count", &[]) > 0.0);
    let of_configmaps = [r#"resource="configmaps""#];
    assert_eq!(page.sum("apiserver_watch_cache_events_received_total", &of_configmaps), 3.0);
    assert_eq!(page.sum("apiserver_cache_list_total", &of_configmaps), 2.0, "its own it gets by name");
    assert!(page.sum("orlop_watch_cache_object_bytes", &of_configmaps) > 200.0);

    assert_eq!(page.sum("authentication_attempts", &[r#"result="error""#]), 1.0);
    assert!(page.sum("authorization_attempts_total", &[r#"result="no-opinion""#]) >= 1.0);
    assert!(page.sum("authenticated_user_requests", &[r#"username="admin""#]) >= 9.0);
    assert_eq!(page.sum("kubernetes_build_info", &[r#"major="1""#, r#"minor="36""#]), 1.0);
    assert!(page.sum("process_resident_memory_bytes", &[]) > 1e6);
}

#[tokio::test]
async fn only_who_may_sees_metrics_and_service_levels() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    for path in ["/metrics", "/metrics/slis"] {
        assert_eq!(connection.get(path, None).await.status, 403, "{path}");
        assert_eq!(connection.get(path, Some("alice-token")).await.status, 403, "{path}");
    }
    let levels = connection.get("/metrics/slis", Some(server.admin_token())).await.text();
    assert!(levels.contains(r#"kubernetes_healthcheck{name="etcd",type="livez"} 1"#), "{levels}");
    assert!(
        levels.contains(r#"kubernetes_healthchecks_total{name="ping",status="success",type="readyz"} 1"#)
    );
}

#[tokio::test]
async fn without_a_cache_everything_comes_from_the_store() {
    for flag in ["--watch-cache=false", "--watch-cache-sizes=configmaps#0"] {
        let server = TestServer::builder().memory().without_controllers().flag(flag).start().await.unwrap();
        let admin = Some(server.admin_token());
        let mut connection = Connection::open(&server, Protocol::Http2).await;
        assert_eq!(create(&mut connection, "one", "text", "").await.status, 201);
        let list = connection.get("/api/v1/configmaps?resourceVersion=0", admin).await;
        assert_eq!(
            list.json()["items"][0]["metadata"]["name"],
            "one",
            "the namespace `default` is the first"
        );
        let watch = connection.get("/api/v1/configmaps?watch=true&timeoutSeconds=1", admin).await;
        assert!(watch.text().starts_with(r#"{"type":"ADDED""#), "{}", watch.text());

        let page = Page::scrape(&server).await;
        let of_configmaps = [r#"resource="configmaps""#];
        // The server reads its own objects by name.
        assert_eq!(page.sum("apiserver_storage_list_total", &of_configmaps), 1.0, "{flag}");
        assert!(!page.has("apiserver_cache_list_total", &of_configmaps), "{flag}");
        assert!(!page.has("apiserver_watch_cache_initializations_total", &of_configmaps), "{flag}");
        assert_eq!(page.sum("apiserver_storage_objects", &of_configmaps), 3.0, "counted by the store");
        let others = page.has("apiserver_watch_cache_initializations_total", &[r#"resource="pods""#]);
        assert_eq!(others, flag != "--watch-cache=false");
    }
}

#[tokio::test]
async fn only_allowed_labels_and_metrics_are_shown() {
    let manifest = tempfile::NamedTempFile::new().unwrap();
    let entry = "allowListMapping:\n  \"apiserver_request_total,code\": \"201,500\"\n";
    std::fs::write(manifest.path(), entry).unwrap();
    for flag in [
        "--allow-metric-labels=\"apiserver_request_total,code=201,500\"".to_owned(),
        format!("--allow-metric-labels-manifest={}", manifest.path().display()),
    ] {
        let builder = TestServer::builder().memory().without_controllers().flag(&flag);
        let disabled = "--disabled-metrics=apiserver_response_sizes,apiserver_watch_events_total";
        let server = builder.flag(disabled).start().await.unwrap();
        let mut connection = Connection::open(&server, Protocol::Http2).await;
        for name in ["one", "two"] {
            assert_eq!(create(&mut connection, name, "text", "").await.status, 201);
        }
        let missing = "/api/v1/namespaces/default/configmaps/missing";
        assert_eq!(connection.get(missing, Some(server.admin_token())).await.status, 404);
        let page = Page::scrape(&server).await;
        let of_configmaps = r#"resource="configmaps""#;
        let total = |code| page.sum("apiserver_request_total", &[of_configmaps, code]);
        assert_eq!(total(r#"code="201""#), 2.0, "{flag}");
        assert!(total(r#"code="unexpected""#) >= 1.0, "{flag}");
        assert!(!page.has("apiserver_request_total", &[r#"code="404""#]), "{flag}");
        assert!(page.sum("cardinality_enforcement_unexpected_categorizations_total", &[]) >= 1.0);
        assert!(!page.has("apiserver_response_sizes_count", &[of_configmaps]), "it is disabled");
        assert_eq!(page.sum("disabled_metrics_total", &[]), 2.0);
    }
}

#[tokio::test]
async fn a_manifest_of_labels_that_cannot_be_read_is_an_error_at_the_start() {
    let manifest = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(manifest.path(), "allowListMapping:\n  \"apiserver_request_total\": \"201\"\n").unwrap();
    let flag = format!("--allow-metric-labels-manifest={}", manifest.path().display());
    let error = TestServer::builder().memory().flag(&flag).start().await.err().unwrap().to_string();
    assert!(error.contains("--allow-metric-labels-manifest: --allow-metric-labels must have"), "{error}");
}

/// Run with `UPDATE_REFERENCE=1` to write it.
#[tokio::test]
async fn the_reference_has_every_metric() {
    let metrics = ServerMetrics::new().unwrap();
    let mut text = String::from(
        "<!-- Written and checked by the test `the_reference_has_every_metric`. Do not edit. -->\n\n\
         # Metrics\n\nWhat `/metrics` tells (`kubernetes_healthcheck…` is on `/metrics/slis`), in Prometheus' text \
         format. Names, labels and buckets are\nKubernetes'; what begins with `orlop_` only this server has. `etcd_…` is \
         about the engine, whichever it is. Who may `get` the path\nmay see it: by default `system:masters`.\n\n\
         | metric | kind | labels | what it says |\n|---|---|---|---|\n",
    );
    let described = metrics.described();
    for metric in &described {
        let labels: Vec<_> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
        let cells =
            [format!("`{}`", metric.name), metric.kind.to_owned(), labels.join(", "), metric.help.clone()];
        text.push_str(&["| ", &cells.join(" | "), " |\n"].concat());
    }
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        std::fs::write(REFERENCE, &text).unwrap();
    }
    let written = std::fs::read_to_string(REFERENCE).unwrap_or_default();
    assert!(written == text, "{REFERENCE} is not what there is: run with UPDATE_REFERENCE=1");

    // Every reported metric is described.
    let server = TestServer::builder().memory().start().await.unwrap();
    let page = Page::scrape(&server).await;
    let known: BTreeSet<&str> = described.iter().map(|metric| metric.name.as_str()).collect();
    assert!(page.families().is_subset(&known), "{:?}", page.families().difference(&known));
}
