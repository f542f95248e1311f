//! The requests of a run, from the server's audit log.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

/// The answered requests.
pub(crate) struct Requests(Vec<Request>);

/// One of them.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) user: String,
    pub(crate) agent: String,
    /// Shown if a test fails.
    #[allow(dead_code, reason = "shown")]
    pub(crate) uri: String,
    pub(crate) code: u64,
    /// The message of a failure.
    pub(crate) message: String,
}

// === impl Requests ===

impl Requests {
    /// Reads an audit log.
    pub(crate) fn read(path: &Path) -> Self {
        let log = std::fs::read_to_string(path).unwrap();
        let events = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        Self(events.map(|event| Request::from_event(&event)).collect())
    }

    /// Returns those that were refused, or failed.
    pub(crate) fn refused(&self) -> impl Iterator<Item = &Request> {
        self.0.iter().filter(|request| matches!(request.code, 400 | 401 | 403 | 405 | 415 | 422 | 500..))
    }

    /// Returns the users who made them.
    pub(crate) fn users(&self) -> BTreeSet<String> {
        self.0.iter().map(|request| request.user.clone()).collect()
    }

    /// Returns the user agents of one user.
    pub(crate) fn agents_of(&self, user: &str) -> BTreeSet<&str> {
        self.0.iter().filter(|request| request.user == user).map(|request| request.agent.as_str()).collect()
    }
}

impl Request {
    fn from_event(event: &Value) -> Self {
        let text =
            |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        Self {
            user: text("/user/username"),
            agent: text("/userAgent"),
            uri: text("/requestURI"),
            code: event.pointer("/responseStatus/code").and_then(Value::as_u64).unwrap_or_default(),
            message: text("/responseStatus/message"),
        }
    }
}
