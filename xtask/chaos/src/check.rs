//! The checkers of a history. Each one alone refuses the histories that break its promise.
//!
//! | module | promise |
//! |---|---|
//! | [`linear`] | operations of each object are linearizable, found without revisions |
//! | [`order`] | revisions are in the order of real time, for all objects together; consistent reads are not stale |
//! | [`explain`] | each version was made by one write, from the version before it; refused writes had no effect |
//! | [`lists`] | each list, and all pages of one, show the state at its revision |
//! | [`watches`] | watches deliver each change once and in order, and reach the end |
//! | [`invariants`] | assigned addresses and ports are unique, quotas are kept, at every revision |
//! | [`refused`] | no write succeeds that an admission policy denies, or whose client has lost its rights |
//! | [`timeline`] | each revision is one change: the state of all objects at every revision |

mod explain;
mod invariants;
mod linear;
mod lists;
mod order;
mod refused;
#[cfg(test)]
mod tests;
mod timeline;
mod watches;

use crate::history::{Asked, History};
use timeline::Timeline;

/// Maximum number of violations that are reported of one checker.
const SHOWN: usize = 5;

/// A broken promise, or that it is not known whether one is broken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Violation {
    #[error("revision {revision} is two changes: {first} and {second}")]
    TwoChanges { revision: u64, first: String, second: String },
    #[error("{object}: not linearizable; no order of the operations explains {operation}")]
    NotLinearizable { object: String, operation: String },
    #[error("{object}: too many possible orders; shorter rounds or fewer clients have fewer")]
    Undecided { object: String },
    #[error("{operation} began when revision {known} was known, and has revision {revision}")]
    RevisionOrder { operation: String, revision: u64, known: u64 },
    #[error("{operation} is stale: no such state existed between revisions {known} and {later}")]
    StaleRead { operation: String, known: u64, later: u64 },
    #[error("{object} at revision {revision}: {problem}")]
    Unexplained { object: String, revision: u64, problem: String },
    #[error("{operation} at revision {revision} is not the state at that revision: {difference}")]
    WrongList { operation: String, revision: u64, difference: String },
    #[error("{operation} returned revision {revision}, older than {known}")]
    OldList { operation: String, revision: u64, known: u64 },
    #[error("{watch}: revision {revision} after {before}")]
    WatchOrder { watch: String, revision: u64, before: u64 },
    #[error("{watch}: the change at revision {revision} was not delivered")]
    MissedEvent { watch: String, revision: u64 },
    #[error("{watch}: revision {revision}: {problem}")]
    WrongEvent { watch: String, revision: u64, problem: String },
    #[error("{watch} did not reach revision {goal}, but {reached}")]
    UnfinishedWatch { watch: String, goal: u64, reached: u64 },
    #[error("{scope} at revision {revision}: {value} is assigned to {first} and {second}")]
    AssignedTwice { scope: String, revision: u64, value: String, first: String, second: String },
    #[error("{scope} at revision {revision}: {objects} objects, the quota is {quota}")]
    QuotaExceeded { scope: String, revision: u64, objects: usize, quota: usize },
    #[error(
        "write {id} of {object} took effect, although every server had refused {entry} ones before it began"
    )]
    LetThrough { id: u64, object: String, entry: String },
    #[error("{0}")]
    Finding(String),
}

/// The result of the checks.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Of each checker the first ones.
    pub(crate) violations: Vec<Violation>,
    /// The scopes and objects of which only a part of the checks could be made, with the reason.
    pub(crate) in_part: Vec<String>,
}

/// Checks a history.
pub(crate) fn check(history: &History) -> Verdict {
    let (timeline, mut violations) = Timeline::new(history);
    violations.truncate(SHOWN);
    let checkers: [fn(&History, &Timeline<'_>) -> Vec<Violation>; 7] = [
        linear::check,
        order::check,
        explain::check,
        lists::check,
        watches::check,
        invariants::check,
        refused::check,
    ];
    for checker in checkers {
        violations.extend(checker(history, &timeline).into_iter().take(SHOWN));
    }
    violations.extend(history.findings.iter().take(SHOWN).cloned().map(Violation::Finding));
    let lost = timeline.scopes().filter(|(_, changes)| !changes.is_complete);
    let lost = lost.map(|(scope, _)| format!("{scope}: history was removed before a watch had delivered it"));
    let is_undecided = |violation: &Violation| matches!(violation, Violation::Undecided { .. });
    let (undecided, violations): (Vec<_>, _) = violations.into_iter().partition(is_undecided);
    let in_part = lost.chain(undecided.iter().map(ToString::to_string)).collect();
    Verdict { violations, in_part }
}

// === impl Asked ===

impl Asked {
    /// Whether the list shows the newest state.
    fn is_consistent(self) -> bool {
        matches!(self, Self::Consistent | Self::Paged)
    }
}
