//! etcd's words to the contract's errors: the one table.

use std::fmt;

use etcd_client::Error;

use crate::storage::mvcc::MvccError;

/// What a failed call means, before the revisions it is about are filled in.
#[derive(Debug)]
pub(super) enum Failure {
    /// The request is larger than etcd takes.
    TooLarge(String),
    /// The revision asked for has been compacted.
    Compacted,
    /// The revision asked for has not happened yet.
    Future,
    /// More requests are under way than etcd or this client takes; nothing was done.
    Overloaded,
    /// The lease is gone; nothing was done.
    LeaseNotFound,
    /// The request never left: trying again is safe.
    NotSent(String),
    /// The request may or may not have been carried out.
    Lost(String),
    /// etcd refuses, for a reason that trying again does not cure at once (full disk, missing permission).
    Refused(String),
}

/// gRPC's status codes, as far as they tell something the text does not.
mod code {
    pub(super) const UNKNOWN: i32 = 2;
    pub(super) const RESOURCE_EXHAUSTED: i32 = 8;
    pub(super) const OUT_OF_RANGE: i32 = 11;
    pub(super) const DEADLINE_EXCEEDED: i32 = 4;
    pub(super) const UNAVAILABLE: i32 = 14;
    pub(super) const CANCELLED: i32 = 1;
    pub(super) const INTERNAL: i32 = 13;
}

/// Makes a failure of its text.
type Make = fn(String) -> Failure;

/// Parts of messages by which failures are known. The first that is found counts.
const KNOWN: &[(&str, Make)] = &[
    ("request is too large", Failure::TooLarge),
    ("larger than max", Failure::TooLarge),
    ("required revision has been compacted", |_| Failure::Compacted),
    ("required revision is a future revision", |_| Failure::Future),
    ("requested lease not found", |_| Failure::LeaseNotFound),
    ("too many requests", |_| Failure::Overloaded),
    ("database space exceeded", Failure::Refused),
    // The connection could not be made at all, or the member said so before it proposed anything.
    ("tcp connect error", Failure::NotSent),
    ("Service was not ready", Failure::NotSent),
    ("etcdserver: no leader", Failure::NotSent),
    ("etcdserver: not capable", Failure::NotSent),
];

// === impl Failure ===

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let Error::GRpcStatus(status) = &error else { return Self::Lost(error.to_string()) };
        let text = match std::error::Error::source(status) {
            Some(source) => format!("{}: {}", status.message(), root_cause(source)),
            None => status.message().to_owned(),
        };
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
            other => unavailable(other),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge(text) | Self::NotSent(text) | Self::Lost(text) | Self::Refused(text) => {
                f.write_str(text)
            }
            Self::Compacted => f.write_str("the revision has been compacted"),
            Self::Future => f.write_str("the revision is in the future"),
            Self::Overloaded => f.write_str("too many requests"),
            Self::LeaseNotFound => f.write_str("the lease is gone"),
        }
    }
}

/// The engine cannot be used just now.
pub(super) fn unavailable(reason: impl fmt::Display) -> MvccError {
    MvccError::Unavailable(reason.to_string().into())
}

/// The innermost reason: transport errors wrap the one that tells something several times.
fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    let mut texts = vec![cause.to_string()];
    while let Some(inner) = cause.source() {
        cause = inner;
        texts.push(cause.to_string());
    }
    texts.dedup();
    texts.join(": ")
}
