//! Maps etcd's errors to the contract's errors, in one table.

use std::fmt;

use etcd_client::Error;

use crate::mvcc::MvccError;

/// The meaning of a failed call, without the revisions concerned.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The request exceeds etcd's size limit.
    #[error("{0}")]
    TooLarge(String),
    /// The requested revision has been compacted.
    #[error("the revision has been compacted")]
    Compacted,
    /// The requested revision is in the future.
    #[error("the revision is in the future")]
    Future,
    /// Too many requests are in flight for etcd or this client; nothing was executed.
    #[error("too many requests")]
    Overloaded,
    /// The lease does not exist; nothing was executed.
    #[error("the lease is gone")]
    LeaseNotFound,
    /// The request was not sent: a retry is safe.
    #[error("{0}")]
    NotSent(String),
    /// It is unknown whether the request was executed.
    #[error("{0}")]
    Lost(String),
    /// etcd refuses the request for a reason that a retry does not resolve (no space, missing permission).
    #[error("{0}")]
    Refused(String),
}

/// The gRPC status codes that carry information beyond the message.
mod code {
    pub(super) const UNKNOWN: i32 = 2;
    pub(super) const RESOURCE_EXHAUSTED: i32 = 8;
    pub(super) const OUT_OF_RANGE: i32 = 11;
    pub(super) const DEADLINE_EXCEEDED: i32 = 4;
    pub(super) const UNAVAILABLE: i32 = 14;
    pub(super) const CANCELLED: i32 = 1;
    pub(super) const INTERNAL: i32 = 13;
}

/// Creates a failure from its message.
type Make = fn(String) -> Failure;

/// Message parts that identify failures. The first match counts.
const KNOWN: &[(&str, Make)] = &[
    ("request is too large", Failure::TooLarge),
    ("larger than max", too_large_to_send),
    ("required revision has been compacted", |_| Failure::Compacted),
    ("required revision is a future revision", |_| Failure::Future),
    ("requested lease not found", |_| Failure::LeaseNotFound),
    ("too many requests", |_| Failure::Overloaded),
    ("database space exceeded", Failure::Refused),
    // The connection could not be established, or the member refused before it proposed anything.
    ("tcp connect error", Failure::NotSent),
    ("Service was not ready", Failure::NotSent),
    ("etcdserver: no leader", Failure::NotSent),
    ("etcdserver: not capable", Failure::NotSent),
];

/// Returns the failure of a message that etcd does not receive, in the words of Go's client, which does not send it.
fn too_large_to_send(text: String) -> Failure {
    let Some((_, sizes)) = text.split_once("larger than max") else { return Failure::TooLarge(text) };
    let reason = "rpc error: code = ResourceExhausted desc = trying to send message larger than max";
    Failure::TooLarge(format!("{reason}{sizes}"))
}

// === impl Failure ===

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let Error::GRpcStatus(status) = &error else { return Self::Lost(error.to_string()) };
        let text = without_repetition(status.message(), std::error::Error::source(status));
        if let Some((_, make)) = KNOWN.iter().find(|(part, _)| text.contains(part)) {
            return make(text);
        }
        match i32::from(status.code()) {
            code::OUT_OF_RANGE => Self::Refused(text),
            code::UNKNOWN
            | code::UNAVAILABLE
            | code::DEADLINE_EXCEEDED
            | code::CANCELLED
            | code::INTERNAL
            | code::RESOURCE_EXHAUSTED => Self::Lost(text),
            _ => Self::Refused(text),
        }
    }
}

impl From<Failure> for MvccError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::TooLarge(text) => Self::TooLarge(text),
            Failure::Overloaded => Self::Overloaded,
            Failure::Refused(text) => Self::Refused(text.into()),
            other => unavailable(other),
        }
    }
}

/// Creates the error for an engine that is temporarily unavailable.
pub(super) fn unavailable(reason: impl fmt::Display) -> MvccError {
    MvccError::Unavailable(reason.to_string().into())
}

/// Returns an error of the client library with its causes.
pub(super) fn with_causes(error: &Error) -> String {
    match error {
        // It does not name its cause.
        Error::TransportError(error) => {
            without_repetition(&error.to_string(), std::error::Error::source(error))
        }
        _ => error.to_string(),
    }
}

/// Returns a message and its causes, each text once: transport errors wrap the informative one several times.
fn without_repetition(message: &str, mut cause: Option<&dyn std::error::Error>) -> String {
    let mut texts = vec![message.to_owned()];
    while let Some(error) = cause {
        texts.push(error.to_string());
        cause = error.source();
    }
    // Some wrappers say nothing else.
    texts.retain(|text| text != "transport error");
    let is_new = |(at, text): &(usize, &String)| {
        !texts.iter().skip(at + 1).any(|inner: &String| inner.contains(text.as_str()))
    };
    let shown: Vec<&str> = texts.iter().enumerate().filter(is_new).map(|(_, text)| text.as_str()).collect();
    if shown.is_empty() { message.to_owned() } else { shown.join(": ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Wrapped {
        text: &'static str,
        source: Option<Box<Wrapped>>,
    }

    #[test]
    fn each_cause_is_shown_once() {
        for (texts, shown) in [
            (
                &["tcp connect error", "transport error", "tcp connect error", "refused"][..],
                "tcp connect error: refused",
            ),
            (&["transport error", "transport error", "keys differ"], "keys differ"),
            (&["transport error"], "transport error"),
            (&["a", "b: a", "c"], "b: a: c"),
            (&["etcdserver: no leader"], "etcdserver: no leader"),
        ] {
            let (message, causes) = texts.split_first().unwrap();
            let innermost = causes
                .iter()
                .rev()
                .fold(None, |source: Option<Box<Wrapped>>, &text| Some(Box::new(Wrapped { text, source })));
            let cause = innermost.as_deref().map(|cause| cause as &dyn std::error::Error);
            assert_eq!(without_repetition(message, cause), shown, "{texts:?}");
        }
    }

    #[test]
    fn a_message_that_is_too_large_is_told_in_the_words_of_gos_client() {
        let failure =
            too_large_to_send("grpc: received message larger than max (2829571 vs. 2097152)".to_owned());
        assert_eq!(
            failure.to_string(),
            "rpc error: code = ResourceExhausted desc = trying to send message larger than max (2829571 vs. 2097152)"
        );
    }
}
