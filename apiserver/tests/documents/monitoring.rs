//! The files below `deploy/monitoring`: the server has the metrics and labels that they name, and lets the scraper read them.

use std::collections::{BTreeMap, BTreeSet};

use apiserver::metrics::ServerMetrics;
use apiserver::testing::TestServer;
use serde_json::Value;

use crate::expressions::Named;
use crate::{read, workspace, yaml_documents};

const ALERTS: &str = "deploy/monitoring/alerts.yaml";
const DASHBOARD: &str = "deploy/monitoring/dashboard.json";
const SCRAPE: &str = "deploy/monitoring/prometheus.yaml";
const ACCESS: &str = "deploy/monitoring/access.yaml";

/// Labels that Prometheus adds, and that of the buckets of histograms.
const ADDED_LABELS: [&str; 3] = ["job", "instance", "le"];

/// The names that `/metrics` and `/metrics/slis` have, and `up`, which Prometheus adds, each with its labels.
struct Known(BTreeMap<String, BTreeSet<String>>);

// === impl Known ===

impl Known {
    fn collect() -> Self {
        let mut known = BTreeMap::from([("up".to_owned(), BTreeSet::new())]);
        for metric in ServerMetrics::new().unwrap().described() {
            let labels: BTreeSet<String> = metric.labels.iter().map(ToString::to_string).collect();
            let suffixes: &[&str] =
                if metric.kind == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
            for suffix in suffixes {
                known.insert(format!("{}{suffix}", metric.name), labels.clone());
            }
        }
        Self(known)
    }

    /// Fails if the expression names a metric or a label that there is not. Returns the labels of the result.
    fn check(&self, expression: &str) -> BTreeSet<String> {
        let named = Named::read_from(expression);
        assert!(!named.metrics.is_empty(), "no metric in {expression}");
        let mut labels: BTreeSet<String> = ADDED_LABELS.map(str::to_owned).into();
        for metric in &named.metrics {
            let own = self.0.get(metric).unwrap_or_else(|| panic!("no metric {metric}: {expression}"));
            labels.extend(own.iter().cloned());
        }
        for label in named.selected.iter().chain(&named.grouped) {
            assert!(labels.contains(label), "no label {label}: {expression}");
        }
        if named.grouped.is_empty() { labels } else { named.grouped }
    }
}

/// Returns the texts of a field, at any depth.
fn texts<'v>(value: &'v Value, field: &str, found: &mut Vec<&'v str>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get(field).and_then(Value::as_str));
            fields.values().for_each(|value| texts(value, field, found));
        }
        Value::Array(elements) => elements.iter().for_each(|value| texts(value, field, found)),
        _ => {}
    }
}

#[test]
fn alert_rules_name_metrics_and_labels_of_the_server() {
    let known = Known::collect();
    let documents = yaml_documents(ALERTS);
    let rules: Vec<&Value> = documents
        .iter()
        .flat_map(|file| file["groups"].as_array().unwrap())
        .flat_map(|group| group["rules"].as_array().unwrap())
        .collect();
    assert!(rules.len() > 10, "{} rules", rules.len());
    let names: BTreeSet<&str> = rules.iter().map(|rule| rule["alert"].as_str().unwrap()).collect();
    assert_eq!(names.len(), rules.len(), "each rule has its own name");
    for rule in rules {
        let labels = known.check(rule["expr"].as_str().unwrap());
        assert!(rule["labels"]["severity"].is_string(), "{rule}");
        let summary = rule["annotations"]["summary"].as_str().unwrap();
        for shown in summary.split("$labels.").skip(1) {
            let label =
                shown.split(|next: char| !next.is_ascii_alphanumeric() && next != '_').next().unwrap();
            assert!(labels.contains(label), "the result has no label {label}: {rule}");
        }
    }
}

#[test]
fn the_dashboard_names_metrics_and_labels_of_the_server() {
    let known = Known::collect();
    let dashboard: Value = serde_json::from_str(&read(DASHBOARD)).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    assert!(panels.len() > 10, "{} panels", panels.len());
    for panel in panels {
        let targets = panel["targets"].as_array().unwrap();
        assert!(!targets.is_empty(), "{panel}");
        for target in targets {
            let labels = known.check(target["expr"].as_str().unwrap());
            for shown in target["legendFormat"].as_str().unwrap().split("{{").skip(1) {
                let (label, _) = shown.split_once("}}").unwrap();
                assert!(labels.contains(label), "the result has no label {label}: {target}");
            }
        }
    }
    let mut queries = Vec::new();
    texts(&dashboard["templating"], "query", &mut queries);
    let of_labels = queries.iter().filter_map(|query| query.strip_prefix("label_values("));
    let metrics: Vec<&str> = of_labels.map(|query| query.split(['{', ',']).next().unwrap()).collect();
    assert_eq!(metrics, ["kubernetes_build_info"]);
    known.check(metrics[0]);
}

#[test]
fn alerts_and_dashboard_select_jobs_that_are_scraped() {
    let documents = yaml_documents(SCRAPE);
    let jobs: Vec<&str> = documents[0]["scrape_configs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|job| job["job_name"].as_str().unwrap())
        .collect();
    assert_eq!(documents[0]["rule_files"][0], "alerts.yaml");
    let alerts = yaml_documents(ALERTS);
    let dashboard: Value = serde_json::from_str(&read(DASHBOARD)).unwrap();
    let mut expressions = Vec::new();
    alerts.iter().chain([&dashboard]).for_each(|file| texts(file, "expr", &mut expressions));
    for expression in expressions {
        for selector in expression.split("job=\"").skip(1) {
            let (job, _) = selector.split_once('"').unwrap();
            assert!(jobs.contains(&job), "{job} is not scraped: {expression}");
        }
        assert!(expression.contains("job=\""), "{expression} selects no job");
    }
}

#[tokio::test]
async fn the_scraper_may_read_the_metrics_and_nothing_else() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let kubectl = server.kubectl();
    kubectl.run(&format!("create --validate=strict -f {}", workspace(ACCESS).display())).await;
    let scraper = "--as=system:serviceaccount:monitoring:prometheus";
    let page = kubectl.run(&format!("{scraper} get --raw /metrics")).await;
    assert!(page.contains("kubernetes_build_info{"), "{page}");
    let page = kubectl.run(&format!("{scraper} get --raw /metrics/slis")).await;
    assert!(page.contains("kubernetes_healthcheck{"), "{page}");
    let refused = kubectl.fail(&format!("{scraper} get namespaces")).await;
    assert!(refused.contains("cannot list resource"), "{refused}");
    server.stop().await;
}
