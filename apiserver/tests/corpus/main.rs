//! Recorded single requests (validation, update rules, status rules, defaulting of the built-in kinds), compared with the
//! answers of a real kube-apiserver.
//!
//! Skipped if the recordings are not there. Variables:
//!
//! * `ORLOP_CORPUS`: the directory of the recordings;
//! * `ORLOP_CORPUS_KIND`: only these kinds, separated by commas;
//! * `ORLOP_CORPUS_CASE`: only cases whose id begins so;
//! * `ORLOP_CORPUS_SHOW`: how many differing cases to print per kind (10).
//!
//! With `--nocapture` it prints the counts per kind.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    unreachable_pub,
    reason = "what is missing fails the test"
)]

mod answer;
mod client;
mod remaining;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use apiserver::testing::TestServer;
use http::Method;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use answer::{Agreement, Answer};
use client::Client;

const NAMESPACE: &str = "corpus";
/// Kinds replayed at the same time.
const PARALLEL: usize = 4;
/// Attempts to remove an object.
const REMOVALS: usize = 40;

/// The configuration of the recorded server: without the plug-ins that depend on other objects, and without controllers.
const FLAGS: [&str; 3] = [
    "--controllers=",
    "--service-cluster-ip-range=10.0.0.0/24",
    "--disable-admission-plugins=ServiceAccount,LimitRanger,ResourceQuota,Priority,RuntimeClass,StorageObjectInUseProtection,TaintNodesByCondition,DefaultIngressClass,DefaultStorageClass,PersistentVolumeClaimResize,MutatingAdmissionWebhook,ValidatingAdmissionWebhook,MutatingAdmissionPolicy,ValidatingAdmissionPolicy",
];

/// A recorded request.
pub struct Case {
    id: String,
    kind: String,
    verb: String,
    from: String,
    path: String,
    subresource: Option<String>,
    body: Value,
    old: Option<Value>,
    prepare: Vec<(String, Value)>,
    expected: Answer,
}

/// The results of the cases of a kind.
#[derive(Default)]
struct Score {
    code: usize,
    causes: usize,
    exact: usize,
    all: usize,
    /// The cases that differ for no known reason, and those that agree in spite of one.
    unexpected: Vec<String>,
    differences: Vec<String>,
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}

/// Replaces the short form of repeated characters.
fn unpack(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let unpacked = fields.into_iter().map(|(key, value)| (unpack_text(&key), unpack(value)));
            Value::Object(unpacked.collect())
        }
        Value::Array(elements) => elements.into_iter().map(unpack).collect(),
        Value::String(text) => unpack_text(&text).into(),
        other => other,
    }
}

fn unpack_text(text: &str) -> String {
    const MARK: &str = "${REPEAT:";
    let mut unpacked = String::new();
    let mut rest = text;
    while let Some((before, packed)) = rest.split_once(MARK) {
        let (count, packed) = packed.split_once(':').unwrap();
        let (character, after) = packed.split_at(packed.chars().next().unwrap().len_utf8());
        unpacked.push_str(before);
        unpacked.push_str(&character.repeat(count.parse().unwrap()));
        rest = after.strip_prefix('}').unwrap();
    }
    unpacked + rest
}

// === impl Case ===

impl Case {
    fn parse(line: &str) -> Self {
        let case = unpack(serde_json::from_str(line).unwrap());
        let text = |key: &str| case[key].as_str().unwrap_or_default().to_owned();
        let prepare = case["prepare"].as_array().into_iter().flatten();
        Self {
            id: text("id"),
            kind: text("kind"),
            verb: text("verb"),
            from: text("from"),
            path: text("path"),
            subresource: case["sub"].as_str().map(str::to_owned),
            body: case["body"].clone(),
            old: case.get("old").filter(|old| !old.is_null()).cloned(),
            prepare: prepare.map(|step| (step[0].as_str().unwrap().to_owned(), step[1].clone())).collect(),
            expected: Answer::recorded(&case["expect"]),
        }
    }

    /// Performs the case.
    async fn run(&self, client: &mut Client) -> Answer {
        let Some(old) = self.old.as_ref().filter(|_| self.verb != "create") else {
            let url = format!("{}?dryRun=All", self.path);
            let (code, body) = client.send(Method::POST, &url, Some(&self.body)).await;
            return Answer::received(self, code, body, None);
        };
        let url = format!("{}/{}", self.path, encoded(old["metadata"]["name"].as_str().unwrap()));
        let (code, mut live) = client.send(Method::POST, &self.path, Some(old)).await;
        if code != 201 {
            let message = Some(format!("the old object was refused: {live}"));
            return Answer { message, ..Answer::default() };
        }
        for (subresource, body) in &self.prepare {
            let url = format!("{url}/{subresource}");
            let (code, body) = client.send(Method::PUT, &url, Some(&on_top_of(body, &live))).await;
            if code == 200 {
                live = body;
            }
        }
        let below = self.subresource.as_ref().map(|name| format!("/{name}")).unwrap_or_default();
        let target = format!("{url}{below}?dryRun=All");
        let (code, body) = self.put(client, &url, &target, &mut live).await;
        let answer = Answer::received(self, code, body, live["metadata"]["uid"].as_str());
        self.remove(client, &url).await;
        answer
    }

    /// Sends the update; again if a controller of the server changed the object meanwhile.
    async fn put(&self, client: &mut Client, url: &str, target: &str, live: &mut Value) -> (u16, Value) {
        for _ in 0..5 {
            let body = on_top_of(&self.body, live);
            let (code, body) = client.send(Method::PUT, target, Some(&body)).await;
            let is_late =
                body["message"].as_str().is_some_and(|text| text.contains("object has been modified"));
            if code != 409 || !is_late {
                return (code, body);
            }
            *live = client.send(Method::GET, url, None).await.1;
        }
        (409, Value::Null)
    }

    async fn remove(&self, client: &mut Client, url: &str) {
        let delete = format!("{url}?gracePeriodSeconds=0&propagationPolicy=Background");
        for _ in 0..REMOVALS {
            client.send(Method::DELETE, &delete, None).await;
            let (code, mut object) = client.send(Method::GET, url, None).await;
            if code == 404 {
                return;
            }
            if self.kind == "Namespace" {
                object["spec"]["finalizers"] = json!([]);
                client.send(Method::PUT, &format!("{url}/finalize"), Some(&object)).await;
            }
            let without = json!({"metadata": {"finalizers": null}});
            client.send(Method::PATCH, url, Some(&without)).await;
        }
        panic!("{}: {url} cannot be removed", self.id);
    }
}

/// Returns a body for an update of the live object.
fn on_top_of(body: &Value, live: &Value) -> Value {
    let mut body = body.clone();
    body["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"].clone();
    let metadata = body["metadata"].as_object_mut().unwrap();
    metadata.remove("uid");
    metadata.remove("creationTimestamp");
    body
}

/// Returns a name as a segment of a URL.
fn encoded(name: &str) -> String {
    let mut text = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            text.push(byte.into());
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

/// Returns the recorded cases by kind; `None`, with a message, if there are none.
fn cases() -> Option<BTreeMap<String, Vec<Case>>> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/corpus");
    let directory = variable("ORLOP_CORPUS").map_or_else(|| PathBuf::from(default), PathBuf::from);
    let path = directory.join("cases-open.jsonl");
    let Ok(text) = std::fs::read_to_string(&path) else {
        // Not `println!`: the harness hides the output of tests that pass.
        let text = format!("no recordings at {} (set ORLOP_CORPUS to where they are)", path.display());
        io::stderr()
            .write_all(format!("SKIPPED recorded_requests_are_answered_alike: {text}\n").as_bytes())
            .unwrap();
        return None;
    };
    let kinds = variable("ORLOP_CORPUS_KIND");
    let id = variable("ORLOP_CORPUS_CASE").unwrap_or_default();
    let mut by_kind: BTreeMap<String, Vec<Case>> = BTreeMap::new();
    for case in text.lines().map(Case::parse) {
        let is_wanted = kinds.as_ref().is_none_or(|kinds| kinds.split(',').any(|kind| kind == case.kind));
        if is_wanted && case.id.starts_with(&id) {
            by_kind.entry(case.kind.clone()).or_default().push(case);
        }
    }
    Some(by_kind)
}

/// Performs the cases of a kind, one after the other.
async fn score(client: &mut Client, cases: &[Case]) -> Score {
    let mut score = Score { all: cases.len(), ..Score::default() };
    for case in cases {
        let answer = case.run(client).await;
        let agreement = case.expected.agreement(&answer);
        score.code += usize::from(agreement >= Agreement::Code);
        score.causes += usize::from(agreement >= Agreement::Causes);
        score.exact += usize::from(agreement == Agreement::Exact);
        let Case { id, kind, verb, from, .. } = case;
        let reason = remaining::reason(id);
        if (agreement == Agreement::Exact) == reason.is_some() {
            score.unexpected.push(format!("{id} {kind} {verb} {from}: agrees in {agreement:?}"));
        }
        if agreement != Agreement::Exact {
            let known = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
            score.differences.push(format!(
                "{id} {kind} {verb} {from}: agrees in {agreement:?}{known}\n  wanted {}\n  found  {}",
                described(&case.expected, &answer),
                described(&answer, &case.expected)
            ));
        }
    }
    score
}

/// Describes an answer by what the other one does not have.
fn described(answer: &Answer, other: &Answer) -> String {
    let mut text = format!("{} {}", answer.code, answer.reason);
    for cause in answer.causes.iter().filter(|cause| !other.causes.contains(cause)) {
        let _ = write!(text, "\n    {}", cause.join(" "));
    }
    if answer.message != other.message {
        let _ = write!(text, " {}", answer.message.as_deref().unwrap_or_default());
    }
    match (&answer.object, &other.object) {
        (Some(own), Some(other)) => differences(own, other, "", &mut text),
        (Some(own), None) if answer.code < 300 => {
            let _ = write!(text, " {own}");
        }
        _ => {}
    }
    text
}

fn differences(own: &Value, other: &Value, path: &str, text: &mut String) {
    match (own, other) {
        (Value::Object(own), Value::Object(other)) => {
            for (key, value) in own {
                let other = other.get(key).unwrap_or(&Value::Null);
                differences(value, other, &format!("{path}.{key}"), text);
            }
        }
        (Value::Array(own), Value::Array(other)) if own.len() == other.len() => {
            for (place, (own, other)) in own.iter().zip(other).enumerate() {
                differences(own, other, &format!("{path}[{place}]"), text);
            }
        }
        _ if own == other => {}
        _ => {
            let _ = write!(text, "\n    {path}: {own}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recorded_requests_are_answered_alike() {
    let Some(by_kind) = cases() else { return };
    let server = FLAGS.iter().fold(TestServer::builder().memory(), |server, flag| server.flag(*flag));
    let server = Arc::new(server.start().await.unwrap());
    let mut client = Client::connect(&server).await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
    assert_eq!(client.send(Method::POST, "/api/v1/namespaces", Some(&namespace)).await.0, 201);
    let permits = Arc::new(Semaphore::new(PARALLEL));
    let tasks = by_kind.into_iter().map(|(kind, cases)| {
        let (server, permits) = (server.clone(), permits.clone());
        tokio::spawn(async move {
            let _permit = permits.acquire().await.unwrap();
            let mut client = Client::connect(&server).await;
            let score = score(&mut client, &cases).await;
            (kind, score)
        })
    });
    let shown = variable("ORLOP_CORPUS_SHOW").and_then(|count| count.parse().ok()).unwrap_or(10);
    let mut unexpected = Vec::new();
    let mut total = Score::default();
    let mut table = String::new();
    for task in tasks.collect::<Vec<_>>() {
        let (kind, score) = task.await.unwrap();
        for difference in score.differences.iter().take(shown) {
            println!("{difference}");
        }
        let _ = writeln!(table, "{}", line(&kind, &score));
        unexpected.extend(score.unexpected);
        total.code += score.code;
        total.causes += score.causes;
        total.exact += score.exact;
        total.all += score.all;
    }
    println!("{table}{}", line("total", &total));
    assert!(unexpected.is_empty(), "not as listed in `remaining`: {unexpected:#?}");
}

fn line(name: &str, score: &Score) -> String {
    let Score { code, causes, exact, all, .. } = score;
    format!("{name:36} code {code:5} causes {causes:5} exact {exact:5} of {all}")
}
