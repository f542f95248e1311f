//! The audit log of a whole server.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    unreachable_pub,
    dead_code,
    reason = "helpers of tests fail as tests do, and not every test uses all of a shared client"
)]

#[path = "../server/client.rs"]
mod client;
mod controllers;
mod hostile;
#[path = "../server/peer.rs"]
mod peer;
mod recorded;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use apiserver::ServerError;
use apiserver::testing::TestServer;
use bytes::Bytes;
use client::{Answer, Connection, Protocol};
use http::Request;
use http_body_util::Full;
use serde_json::Value;

/// A policy that records the metadata of everything.
pub(crate) const METADATA: &str = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n";
/// A policy that records everything.
pub(crate) const EVERYTHING: &str = "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: RequestResponse}]\n";

/// A server with an audit log.
pub(crate) struct Audited {
    pub(crate) server: TestServer,
    pub(crate) directory: tempfile::TempDir,
}

impl Audited {
    pub(crate) async fn start(policy: &str, flags: &[&str]) -> Self {
        Self::try_start(policy, flags).await.expect("it starts")
    }

    /// Starts a server with this policy. In flags, `DIR` is a directory of the test's own.
    pub(crate) async fn try_start(policy: &str, flags: &[&str]) -> Result<Self, ServerError> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("policy.yaml");
        std::fs::write(&path, policy).unwrap();
        let mut builder =
            TestServer::builder().memory().flag(format!("--audit-policy-file={}", path.display()));
        if !flags.iter().any(|flag| flag.starts_with("--audit-log-path")) {
            builder =
                builder.flag(format!("--audit-log-path={}", directory.path().join("audit.log").display()));
        }
        for flag in flags {
            builder = builder.flag(flag.replace("DIR", &directory.path().display().to_string()));
        }
        Ok(Self { server: builder.start().await?, directory })
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.directory.path().join("audit.log")
    }

    /// Returns the events of a request: at least this many, for which it waits.
    pub(crate) async fn events(&self, audit_id: &str, count: usize) -> Vec<Value> {
        let begun = Instant::now();
        loop {
            let mut events = events_in(&self.log());
            events.retain(|event| event["auditID"] == audit_id);
            if events.len() >= count || begun.elapsed() > Duration::from_secs(10) {
                return events;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub(crate) async fn connect(&self) -> Connection {
        Connection::open(&self.server, Protocol::Http1).await
    }

    pub(crate) async fn metric(&self, name: &str) -> f64 {
        let answer = self.connect().await.get("/metrics", Some("admin-token")).await;
        let text = answer.text();
        let line = text.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or_default()
    }
}

/// Returns the events of a log.
pub(crate) fn events_in(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

/// Returns an administrator's request in JSON.
pub(crate) fn request(
    method: &str,
    path: &str,
    body: &str,
    headers: &[(&str, &str)],
) -> Request<Full<Bytes>> {
    let mut request = Request::builder().method(method).uri(path).header("host", "localhost");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    if !headers.iter().any(|(name, _)| *name == "authorization") {
        request = request.header("authorization", "Bearer admin-token");
    }
    request.body(Full::new(Bytes::from(body.to_owned()))).unwrap()
}

pub(crate) fn audit_id(answer: &Answer) -> &str {
    answer.headers["audit-id"].to_str().unwrap()
}
