//! A rule: the requests that it is for, how often it applies, and what it does.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::HeaderMap;
use http::header::{ACCEPT, USER_AGENT};
use registry_core::api::status::StatusDetails;
use registry_core::api::{Reason, StatusError};
use registry_core::context::UserInfo;
use registry_core::registry::errors::OPTIMISTIC_LOCK;
use request_info::{RequestInfo, ResourceRequest, Verb};

use super::{Faults, seconds};

/// The message of failures without another one.
const MESSAGE: &str = "the test lets this request fail";

/// A rule that is being made. Its last method makes it.
#[derive(Clone)]
#[must_use = "a rule applies once its last method, for example `conflict`, is called"]
pub struct FaultBuilder {
    faults: Arc<Faults>,
    selection: Selection,
    times: usize,
}

/// A rule that applies until it is removed, or has applied as often as it should. Dropping this does not end it.
#[derive(Clone)]
pub struct Fault {
    faults: Arc<Faults>,
    rule: Arc<Rule>,
}

/// A request, as rules see it.
pub(crate) struct Target<'r> {
    pub(super) info: &'r RequestInfo,
    pub(super) user: &'r str,
    pub(super) user_agent: String,
    /// Whether the client reads events in JSON, and not as a table or in protobuf only.
    pub(super) accepts_json: bool,
}

/// The requests that a rule is for.
#[derive(Clone, Default)]
pub(super) struct Selection {
    verb: Option<Verb>,
    /// `None` is any.
    resource: Option<ResourcePattern>,
    namespace: Option<String>,
    name: Option<String>,
    user: Option<String>,
    user_agent: Option<String>,
}

#[derive(Clone)]
struct ResourcePattern {
    /// `None` is any.
    group: Option<String>,
    resource: String,
    subresource: String,
}

/// A rule.
pub(super) struct Rule {
    selection: Selection,
    action: Action,
    remaining: AtomicUsize,
    hits: AtomicUsize,
}

/// The effect of a rule.
#[derive(Clone)]
pub(super) enum Action {
    Delay(Duration),
    /// Reads show the state of this revision.
    Stale(u64),
    Conflict,
    Fail(Box<StatusError>),
    EndWatch,
    ExpireWatch,
}

// === impl Target ===

impl<'r> Target<'r> {
    pub(crate) fn new(info: &'r RequestInfo, user: &'r UserInfo, headers: &HeaderMap) -> Self {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let accept = text(ACCEPT);
        let accepts_json = accept.is_empty() || accept.contains("json") || accept.contains("*/*");
        Self { info, user: &user.name, user_agent: text(USER_AGENT).to_owned(), accepts_json }
    }

    pub(super) fn is_watch(&self) -> bool {
        self.info.verb == Verb::Watch
    }

    pub(super) fn is_list(&self) -> bool {
        self.info.verb == Verb::List
    }

    /// Returns the refusal of a write whose object has changed.
    pub(super) fn conflict(&self) -> StatusError {
        let none = ResourceRequest::default();
        let request = self.info.resource.as_ref().unwrap_or(&none);
        let message = format!(
            "Operation cannot be fulfilled on {} \"{}\": {OPTIMISTIC_LOCK}",
            qualified(request),
            request.name
        );
        let mut failure = StatusError::new(Reason::Conflict, message);
        failure.details = Some(Box::new(StatusDetails {
            name: request.name.clone(),
            group: request.group.clone(),
            kind: request.resource.clone(),
            ..StatusDetails::default()
        }));
        failure
    }
}

/// Returns the resource with its group.
fn qualified(request: &ResourceRequest) -> String {
    if request.group.is_empty() {
        request.resource.clone()
    } else {
        format!("{}.{}", request.resource, request.group)
    }
}

// === impl Selection ===

impl Selection {
    /// Whether a request is one of them.
    pub(super) fn includes(&self, target: &Target<'_>) -> bool {
        let request = target.info.resource.as_ref();
        let is = |wanted: &Option<String>, actual: fn(&ResourceRequest) -> &String| {
            wanted.as_ref().is_none_or(|wanted| request.is_some_and(|request| actual(request) == wanted))
        };
        self.verb.is_none_or(|verb| verb == target.info.verb)
            && self.resource.as_ref().is_none_or(|wanted| request.is_some_and(|request| wanted.is(request)))
            && is(&self.namespace, |request| &request.namespace)
            && is(&self.name, |request| &request.name)
            && self.user.as_ref().is_none_or(|user| user == target.user)
            && self.user_agent.as_ref().is_none_or(|agent| target.user_agent.contains(agent.as_str()))
    }
}

// === impl ResourcePattern ===

impl ResourcePattern {
    /// Reads `configmaps`, `deployments.apps/scale`; `None` for `*`.
    fn parse(text: &str) -> Option<Self> {
        if text == "*" {
            return None;
        }
        let (resource, subresource) = text.split_once('/').unwrap_or((text, ""));
        let (resource, group) = match resource.split_once('.') {
            Some((resource, group)) => (resource, Some(group.to_owned())),
            None => (resource, None),
        };
        Some(Self { group, resource: resource.to_owned(), subresource: subresource.to_owned() })
    }

    fn is(&self, request: &ResourceRequest) -> bool {
        self.resource == request.resource
            && self.subresource == request.subresource
            && self.group.as_ref().is_none_or(|group| *group == request.group)
    }
}

// === impl Rule ===

impl Rule {
    /// Returns the action if the rule applies to a request, and counts that.
    pub(super) fn hit(&self, target: &Target<'_>) -> Option<Action> {
        if !self.selection.includes(target) || !self.action.is_for(target) {
            return None;
        }
        let took = self.remaining.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| match left {
            usize::MAX => Some(left),
            left => left.checked_sub(1),
        });
        took.ok()?;
        self.hits.fetch_add(1, Ordering::AcqRel);
        Some(self.action.clone())
    }
}

// === impl Action ===

impl Action {
    /// Whether it can have an effect on a request.
    fn is_for(&self, target: &Target<'_>) -> bool {
        !matches!(self, Self::Stale(_)) || matches!(target.info.verb, Verb::Get | Verb::List)
    }

    /// Whether the request does not reach its handler.
    pub(super) fn answers(&self) -> bool {
        !matches!(self, Self::Delay(_) | Self::Stale(_))
    }
}

// === impl FaultBuilder ===

impl FaultBuilder {
    pub(super) fn new(faults: Arc<Faults>, verb: Option<Verb>, resource: &str) -> Self {
        let selection =
            Selection { verb, resource: ResourcePattern::parse(resource), ..Selection::default() };
        Self { faults, selection, times: usize::MAX }
    }

    /// Selects requests in this namespace.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.selection.namespace = Some(namespace.into());
        self
    }

    /// Selects requests for the object of this name. Creations have no name in their path.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.selection.name = Some(name.into());
        self
    }

    /// Selects requests of this user.
    pub fn user(mut self, user: impl Into<String>) -> Self {
        self.selection.user = Some(user.into());
        self
    }

    /// Selects requests with this text in their user agent.
    pub fn user_agent(mut self, part: impl Into<String>) -> Self {
        self.selection.user_agent = Some(part.into());
        self
    }

    /// Lets the rule apply to this number of requests, and then no more.
    pub fn times(mut self, times: usize) -> Self {
        self.times = times;
        self
    }

    /// Refuses writes as if the object had been changed by another client: 409.
    pub fn conflict(self) -> Fault {
        self.add(Action::Conflict)
    }

    /// Refuses requests with this status code.
    pub fn status(self, code: u16) -> Fault {
        let mut failure = StatusError::new(Reason::for_code(code), MESSAGE);
        failure.code = code;
        self.fail(failure)
    }

    /// Refuses requests with this failure.
    pub fn fail(self, failure: StatusError) -> Fault {
        self.add(Action::Fail(Box::new(failure)))
    }

    /// Refuses requests with 429, and asks for another attempt after this time, in whole seconds.
    pub fn too_many_requests(self, retry_after: Duration) -> Fault {
        self.fail(StatusError::too_many_requests(MESSAGE, seconds(retry_after)))
    }

    /// Delays requests, which are then handled, or refused by a later rule. They keep their places in priority and
    /// fairness, and their deadline.
    pub fn delay(self, duration: Duration) -> Fault {
        self.add(Action::Delay(duration))
    }

    /// Shows lists and single objects in the state of a revision in the past, which compaction must not have reached (five
    /// minutes). Other requests are not changed.
    pub fn stale(self, revision: u64) -> Fault {
        self.add(Action::Stale(revision))
    }

    /// Ends new watches at once, without an event.
    pub fn end_watch(self) -> Fault {
        self.add(Action::EndWatch)
    }

    /// Ends new watches with the event that their resource version is too old: 410. The client has to list again.
    pub fn expire_watch(self) -> Fault {
        self.add(Action::ExpireWatch)
    }

    /// Ends the watches that are open now, once, and returns their number.
    pub fn end_open_watches(self) -> usize {
        self.faults.watches.end(&self.selection, false)
    }

    /// Ends the watches that are open now, once, with the event that their resource version is too old, and returns their
    /// number. Those that are not in JSON end without the event.
    pub fn expire_open_watches(self) -> usize {
        self.faults.watches.end(&self.selection, true)
    }

    fn add(self, action: Action) -> Fault {
        let remaining = AtomicUsize::new(self.times);
        let rule = Arc::new(Rule { selection: self.selection, action, remaining, hits: AtomicUsize::new(0) });
        self.faults.add(rule.clone());
        Fault { faults: self.faults, rule }
    }
}

// === impl Fault ===

impl Fault {
    /// Returns the number of requests that the rule has applied to.
    pub fn hits(&self) -> usize {
        self.rule.hits.load(Ordering::Acquire)
    }

    /// Ends the rule.
    pub fn remove(self) {
        self.faults.remove(&self.rule);
    }
}
