//! Failures by rule: refusals, delays, interrupted watches and old states, for tests of clients. Only servers of tests
//! have them.
//!
//! ```
//! use std::sync::Arc;
//!
//! use apiserver::faults::{Faults, Verb};
//!
//! let faults = Arc::new(Faults::default()); // given to `apiserver::testing::TestServerBuilder::faults`
//! let conflicts = faults.on(Verb::Update, "configmaps").namespace("default").times(2).conflict();
//! // … clients write …
//! assert_eq!(conflicts.hits(), 0);
//! ```

mod rule;
mod watches;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use http::{Request, Uri};
use parking_lot::Mutex;
use registry_core::api::StatusError;
use responses::{Response, ResponseBody};

pub use request_info::Verb;
pub(crate) use rule::Target;
use rule::{Action, Rule};
pub use rule::{Fault, FaultBuilder};
pub(crate) use watches::OpenWatch;
use watches::{OpenWatches, expired_event};

/// The rules of one server. They apply to requests that are authorized, in the order in which they were made.
#[derive(Default)]
pub struct Faults {
    rules: Mutex<Vec<Arc<Rule>>>,
    watches: OpenWatches,
}

/// The outcome of the rules for a request.
pub(crate) enum Met {
    /// It is answered.
    Answered(Result<Response, StatusError>),
    /// It is handled.
    Passed(Passed),
}

/// The changes that rules make to a request which is handled.
#[derive(Default)]
pub(crate) struct Passed {
    /// A watch that can be ended later.
    pub(crate) watch: Option<OpenWatch>,
    /// The revision whose state a read of one object shows.
    pub(crate) read_revision: Option<u64>,
}

// === impl Faults ===

impl Faults {
    /// Begins a rule for requests with this verb (`None`: any) for this resource: `configmaps`, `deployments.apps`,
    /// `pods/status`, or `*` for everything. A resource without a group is that of every group, and one without a
    /// subresource does not include them.
    pub fn on(self: &Arc<Self>, verb: impl Into<Option<Verb>>, resource: &str) -> FaultBuilder {
        FaultBuilder::new(self.clone(), verb.into(), resource)
    }

    /// Removes all rules. Requests that are being delayed continue to be.
    pub fn clear(&self) {
        self.rules.lock().clear();
    }

    fn add(&self, rule: Arc<Rule>) {
        self.rules.lock().push(rule);
    }

    fn remove(&self, rule: &Arc<Rule>) {
        self.rules.lock().retain(|known| !Arc::ptr_eq(known, rule));
    }

    /// Returns the actions for a request: those that let it pass, and at most one that answers it, which is last.
    fn actions(&self, target: &Target<'_>) -> Vec<Action> {
        let mut actions = Vec::new();
        for rule in self.rules.lock().iter() {
            if let Some(action) = rule.hit(target) {
                let is_answer = action.answers();
                actions.push(action);
                if is_answer {
                    break;
                }
            }
        }
        actions
    }

    /// Applies the rules to a request.
    pub(crate) async fn meet(&self, target: Target<'_>, request: &mut Request<Body>) -> Met {
        let mut passed = Passed::default();
        for action in self.actions(&target) {
            match action {
                Action::Delay(duration) => tokio::time::sleep(duration).await,
                Action::Stale(revision) if target.is_list() => {
                    *request.uri_mut() = at_revision(request.uri(), revision);
                }
                Action::Stale(revision) => passed.read_revision = Some(revision),
                Action::Conflict => return Met::Answered(Err(target.conflict())),
                Action::Fail(failure) => return Met::Answered(Err(*failure)),
                Action::EndWatch => return Met::Answered(Ok(events(""))),
                Action::ExpireWatch if target.accepts_json => {
                    return Met::Answered(Ok(events(expired_event())));
                }
                Action::ExpireWatch => return Met::Answered(Err(watches::expired())),
            }
        }
        passed.watch = target.is_watch().then(|| self.watches.open(&target));
        Met::Passed(passed)
    }
}

/// Returns the response to a watch that has ended.
fn events(content: impl Into<ResponseBody>) -> Response {
    let mut response = Response::new(content.into());
    let json = http::HeaderValue::from_static("application/json");
    response.headers_mut().insert(http::header::CONTENT_TYPE, json);
    response
}

/// Returns the address of a list in the state of a revision. A further page is of the state of the first one already.
fn at_revision(uri: &Uri, revision: u64) -> Uri {
    let query = uri.query().unwrap_or_default();
    let is_of = |pair: &&str, name: &str| pair.strip_prefix(name).is_some_and(|rest| rest.starts_with('='));
    if query.split('&').any(|pair| is_of(&pair, "continue")) {
        return uri.clone();
    }
    let is_kept = |pair: &&str| {
        !pair.is_empty() && !is_of(pair, "resourceVersion") && !is_of(pair, "resourceVersionMatch")
    };
    let mut pairs: Vec<&str> = query.split('&').filter(is_kept).collect();
    let version = format!("resourceVersion={revision}");
    pairs.extend([version.as_str(), "resourceVersionMatch=Exact"]);
    let path = format!("{}?{}", uri.path(), pairs.join("&"));
    path.parse().unwrap_or_else(|_| uri.clone())
}

/// Returns a delay in whole seconds, rounded up.
fn seconds(delay: Duration) -> u32 {
    u32::try_from(delay.as_millis().div_ceil(1000)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_asked_for_in_an_exact_state() {
        for (asked, expected) in [
            ("/api/v1/pods", "/api/v1/pods?resourceVersion=7&resourceVersionMatch=Exact"),
            (
                "/api/v1/pods?limit=5&resourceVersion=0&labelSelector=a%3Db",
                "/api/v1/pods?limit=5&labelSelector=a%3Db&resourceVersion=7&resourceVersionMatch=Exact",
            ),
            ("/api/v1/pods?limit=5&continue=x", "/api/v1/pods?limit=5&continue=x"),
        ] {
            assert_eq!(at_revision(&asked.parse().unwrap(), 7).to_string(), expected);
        }
    }

    #[test]
    fn delays_are_rounded_up() {
        for (millis, whole) in [(0, 0), (1, 1), (1000, 1), (1001, 2)] {
            assert_eq!(seconds(Duration::from_millis(millis)), whole);
        }
    }
}
