//! `/healthz`, `/livez` and `/readyz`: one list of named checks, each part of some of the endpoints.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/server/healthz`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use http::StatusCode;
use registry_core::api::go_text::quote;
use request_info::query_pairs;
use responses::{self, Response};

mod checks;
#[cfg(test)]
mod tests;

pub use checks::{Completion, EngineCheck, ReadinessCheck};
pub(crate) use checks::{CustomResourcesCheck, PingCheck, ShutdownCheck};

/// One of the three endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// `/healthz`, the oldest: whether the server is healthy.
    Healthz,
    /// `/livez`: a failure means that the server should be restarted.
    Livez,
    /// `/readyz`: a failure means that the server should receive no requests.
    Readyz,
}

/// Failure of a health check; the text is the reason, for the log and for requests of this one check.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unhealthy(pub String);

/// A health check.
#[async_trait]
pub trait Check: Send + Sync + 'static {
    /// Runs the check.
    ///
    /// # Errors
    /// Returns the reason of the failure.
    async fn check(&self) -> Result<(), Unhealthy>;
}

/// All checks of a server.
#[derive(Default)]
pub struct Health {
    checks: Vec<NamedCheck>,
    /// Until when failing checks do not fail `/livez`.
    tolerant_until: Option<Instant>,
}

struct NamedCheck {
    name: String,
    endpoints: &'static [Endpoint],
    check: Arc<dyn Check>,
}

/// Parameters of a request to an endpoint.
#[derive(Default)]
struct Question {
    verbose: bool,
    excluded: BTreeSet<String>,
}

// === impl Endpoint ===

impl Endpoint {
    /// All three endpoints.
    pub const ALL: &'static [Self] = &[Self::Healthz, Self::Livez, Self::Readyz];
    /// The endpoints of checks that are about the process.
    pub const ALIVE: &'static [Self] = &[Self::Healthz, Self::Livez];
    /// The endpoints of checks of other processes, which a restart of this one would not repair.
    pub const NOT_ALIVE: &'static [Self] = &[Self::Healthz, Self::Readyz];
    /// The endpoint of checks that are about serving requests.
    pub const READY: &'static [Self] = &[Self::Readyz];

    /// Returns the endpoint that a path belongs to, with the rest of the path.
    pub fn from_path(path: &str) -> Option<(Self, &str)> {
        Self::ALL.iter().find_map(|endpoint| {
            let rest = path.strip_prefix('/')?.strip_prefix(endpoint.name())?;
            (rest.is_empty() || rest.starts_with('/')).then_some((*endpoint, rest))
        })
    }

    /// Returns the endpoint's path.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Healthz => "/healthz",
            Self::Livez => "/livez",
            Self::Readyz => "/readyz",
        }
    }

    /// Returns the endpoint's path without its slash.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Healthz => "healthz",
            Self::Livez => "livez",
            Self::Readyz => "readyz",
        }
    }
}

// === impl Health ===

impl Health {
    /// Adds a check to some endpoints. Checks are run and listed in the order in which they were added.
    pub fn add(&mut self, name: impl Into<String>, endpoints: &'static [Endpoint], check: Arc<dyn Check>) {
        self.checks.push(NamedCheck { name: name.into(), endpoints, check });
    }

    /// Lets failing checks not fail `/livez` for this time from now on.
    pub fn tolerate_for(&mut self, grace_period: Duration) {
        self.tolerant_until = Instant::now().checked_add(grace_period).filter(|_| !grace_period.is_zero());
    }

    /// Runs a check of an endpoint.
    async fn run(&self, endpoint: Endpoint, named: &NamedCheck) -> Result<(), Unhealthy> {
        let outcome = named.check.check().await;
        let is_tolerant = || self.tolerant_until.is_some_and(|until| Instant::now() < until);
        if endpoint == Endpoint::Livez && outcome.is_err() && is_tolerant() { Ok(()) } else { outcome }
    }

    /// Responds to a request below an endpoint: `rest` is the path after its name.
    pub async fn respond(&self, endpoint: Endpoint, rest: &str, query: &str) -> Response {
        if rest.is_empty() {
            return self.respond_all(endpoint, &Question::parse(query)).await;
        }
        let name = rest.trim_start_matches('/');
        match self.checks(endpoint).find(|check| check.name == name) {
            None => responses::page_not_found(),
            Some(found) => match self.run(endpoint, found).await {
                Ok(()) => responses::text(StatusCode::OK, "ok"),
                Err(error) => {
                    let body = format!("internal server error: {error}\n");
                    responses::text(StatusCode::INTERNAL_SERVER_ERROR, body)
                }
            },
        }
    }

    /// Runs all checks of an endpoint, and returns their names and whether they pass.
    pub async fn results(&self, endpoint: Endpoint) -> Vec<(&str, bool)> {
        let mut results = Vec::new();
        for named in self.checks(endpoint) {
            results.push((named.name.as_str(), self.run(endpoint, named).await.is_ok()));
        }
        results
    }

    /// Returns one text per failing check of an endpoint.
    pub async fn failures(&self, endpoint: Endpoint) -> Vec<String> {
        let mut failures = Vec::new();
        for named in self.checks(endpoint) {
            if let Err(error) = self.run(endpoint, named).await {
                failures.push(format!("{}: {error}", named.name));
            }
        }
        failures
    }

    async fn respond_all(&self, endpoint: Endpoint, question: &Question) -> Response {
        let mut report = String::new();
        let mut failed = Vec::new();
        for named in self.checks(endpoint) {
            let name = &named.name;
            if question.excluded.contains(name) {
                let _ = writeln!(report, "[+]{name} excluded: ok");
                continue;
            }
            match self.run(endpoint, named).await {
                Ok(()) => {
                    let _ = writeln!(report, "[+]{name} ok");
                }
                Err(error) => {
                    // The endpoint is public, so the reason is only logged.
                    let _ = writeln!(report, "[-]{name} failed: reason withheld");
                    failed.push(format!("{name}: {error}"));
                }
            }
        }
        let unknown =
            question.excluded.iter().filter(|name| !self.checks(endpoint).any(|check| check.name == **name));
        let unknown: Vec<String> = unknown.map(|name| quote(name)).collect();
        if !unknown.is_empty() {
            let names = unknown.join(",");
            let _ = writeln!(report, "warn: some health checks cannot be excluded: no matches for {names}");
        }
        let endpoint = endpoint.name();
        if !failed.is_empty() {
            tracing::warn!(failed = failed.join("; "), "{endpoint} check failed");
            let _ = writeln!(report, "{endpoint} check failed");
            return responses::text(StatusCode::INTERNAL_SERVER_ERROR, report);
        }
        if !question.verbose {
            return responses::text(StatusCode::OK, "ok");
        }
        let _ = writeln!(report, "{endpoint} check passed");
        responses::text(StatusCode::OK, report)
    }

    fn checks(&self, endpoint: Endpoint) -> impl Iterator<Item = &NamedCheck> {
        self.checks.iter().filter(move |check| check.endpoints.contains(&endpoint))
    }
}

// === impl Question ===

impl Question {
    fn parse(query: &str) -> Self {
        let mut question = Self::default();
        for (key, value) in query_pairs(query) {
            match &*key {
                "verbose" => question.verbose = true,
                "exclude" => {
                    question.excluded.insert(value.into_owned());
                }
                _ => {}
            }
        }
        question
    }
}
