//! Compares events with those that a kube-apiserver recorded for the same requests.

use std::io::{self, Write as _};
use std::path::PathBuf;

use serde_json::Value;

use super::{Audited, audit_id, request};
use crate::client::Connection;

const VARIABLE: &str = "ORLOP_AUDIT";
const CONFIG_MAPS: &str = "/api/v1/namespaces/audit/configmaps";

#[tokio::test]
async fn events_are_those_of_a_kube_apiserver() {
    let directory =
        std::env::var_os(VARIABLE).map_or_else(|| PathBuf::from("../../shared/audit"), PathBuf::from);
    let Ok(recorded) = std::fs::read_to_string(directory.join("events.jsonl")) else {
        // Not `println!`: the harness hides the output of tests that pass.
        let text = format!("{VARIABLE} names no directory with recorded audit events");
        io::stderr()
            .write_all(format!("SKIPPED events_are_those_of_a_kube_apiserver: {text}\n").as_bytes())
            .unwrap();
        return;
    };
    let policy = std::fs::read_to_string(directory.join("policy.yaml")).unwrap();
    let audited = Audited::start(&policy, &[]).await;
    let mut connection = audited.connect().await;
    let mut differences = Vec::new();
    for line in recorded.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        if case["title"] == "delete cm" {
            apply_what_was_applied(&mut connection).await;
        }
        let answer = connection.send(request_of(&case)).await;
        let expected = case["events"].as_array().unwrap();
        let events = audited.events(audit_id(&answer), expected.len()).await;
        let title = case["title"].as_str().unwrap();
        if case["code"] != answer.status {
            differences.push(format!("{title}: code {}", answer.status));
        }
        let expected = Value::from(expected.clone());
        compare(title, &settled(&expected), &settled(&Value::from(events)), &mut differences);
    }
    audited.server.stop().await;
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
}

/// The events of this request are not among the recorded ones: kube-apiserver cannot encode a patch in YAML.
async fn apply_what_was_applied(connection: &mut Connection) {
    let body = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ssa}\ndata: {q: \"1\"}\n";
    let path = format!("{CONFIG_MAPS}/ssa?fieldManager=me");
    let headers = [("content-type", "application/apply-patch+yaml")];
    assert_eq!(connection.send(request("PATCH", &path, body, &headers)).await.status, 201);
}

fn request_of(case: &Value) -> http::Request<http_body_util::Full<bytes::Bytes>> {
    let asked = &case["request"];
    let text = |field: &str| asked[field].as_str();
    let body = match &asked["body"] {
        Value::Null => String::new(),
        Value::String(body) => body.clone(),
        body => body.to_string(),
    };
    let authorization = text("token").map(|token| format!("Bearer {token}"));
    let mut headers = vec![("user-agent", "audit-corpus/1.0")];
    let declared = asked["headers"].as_object().into_iter().flatten();
    headers.extend(declared.map(|(name, value)| (name.as_str(), value.as_str().unwrap())));
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("accept")) {
        headers.push(("accept", "application/json"));
    }
    if !body.is_empty() {
        headers.push(("content-type", text("contentType").unwrap_or("application/json")));
    }
    headers.push(("authorization", authorization.as_deref().unwrap_or_default()));
    let mut request = request(text("method").unwrap(), text("path").unwrap(), &body, &headers);
    if authorization.is_none() {
        request.headers_mut().remove("authorization");
    }
    request
}

/// Replaces times and the ids of tokens by placeholders.
fn settled(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (name.clone(), settled(value)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Value::Array(items) => items.iter().map(settled).collect::<Vec<_>>().into(),
        Value::String(text) if text.parse::<jiff::Timestamp>().is_ok() => "<time>".into(),
        Value::String(text) if text.starts_with("JTI=") => "JTI=<uid>".into(),
        other => other.clone(),
    }
}

/// Adds a line for each difference. A placeholder stands for any text.
fn compare(path: &str, expected: &Value, actual: &Value, differences: &mut Vec<String>) {
    match (expected, actual) {
        (Value::Object(expected), Value::Object(actual)) => {
            for (name, value) in expected {
                compare(
                    &format!("{path}.{name}"),
                    value,
                    actual.get(name).unwrap_or(&Value::Null),
                    differences,
                );
            }
            // Slow requests are annotated, and a test's server may be slow.
            let is_latency = |name: &str| name.starts_with("apiserver.latency.k8s.io/");
            let more = actual.iter().filter(|(name, _)| !expected.contains_key(*name) && !is_latency(name));
            differences.extend(more.map(|(name, value)| format!("{path}.{name}: not expected: {value}")));
        }
        (Value::Array(expected), Value::Array(actual)) if expected.len() == actual.len() => {
            for (number, (element, other)) in expected.iter().zip(actual).enumerate() {
                compare(&format!("{path}[{number}]"), element, other, differences);
            }
        }
        (Value::String(expected), Value::String(actual))
            if expected.starts_with('<') && expected.ends_with('>') && !actual.is_empty() => {}
        (expected, actual) if expected == actual => {}
        _ => differences.push(format!("{path}: expected {expected}, not {actual}")),
    }
}
