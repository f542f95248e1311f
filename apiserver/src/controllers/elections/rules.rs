//! The next step of an election, from its candidates and its Lease.
//!
//! Kubernetes concept: `reconcileElectionStep`.

use std::cmp::Ordering;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use registry_core::api::time;
use semver::Version;
use serde_json::Value;

/// The namespace and the name of a Lease.
pub(super) type LeaseKey = (String, String);

/// The strategy by which this server elects: the candidate with the oldest emulated release leads, so that no other one meets
/// something that it does not know.
const OLDEST_EMULATION_VERSION: &str = "OldestEmulationVersion";

/// Time in which a candidate that is asked has to answer.
const PATIENCE: SignedDuration = SignedDuration::from_secs(5);
/// Time for which a candidate counts without having been heard of.
const VALIDITY: SignedDuration = SignedDuration::from_mins(30);

/// A process that can become the leader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) name: String,
    pub(super) lease: LeaseKey,
    created: Option<Timestamp>,
    /// The versions; `None` if there is no valid one.
    binary: Option<Version>,
    emulation: Option<Version>,
    strategy: String,
    /// When it was asked last whether it is alive.
    asked: Option<Timestamp>,
    /// When it was heard of last.
    renewed: Option<Timestamp>,
}

/// The parts of a Lease that matter to its election.
#[derive(Debug, Default)]
pub(super) struct LeaseState {
    pub(super) holder: Option<String>,
    renewed: Option<Timestamp>,
    duration_seconds: Option<i64>,
}

/// The next step of an election.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step<'a> {
    /// Nothing, until something changes.
    Wait,
    /// These candidates are asked whether they are alive.
    Ask(Vec<&'a Candidate>),
    /// The Lease gets its strategy, and its holder unless another component chooses it.
    Elect { strategy: &'a str, holder: Option<&'a str> },
}

/// Error of candidates that contradict each other. Retryable when they change.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" and \"{1}\" have the same binary version, but different strategies")]
pub(super) struct Undecided(String, String);

/// Returns the next step of the election among these candidates, of which none is expired.
pub(super) fn next_step<'a>(
    candidates: &'a [Arc<Candidate>],
    lease: Option<&LeaseState>,
    now: Timestamp,
) -> Result<Step<'a>, Undecided> {
    if !is_needed(candidates, lease, now)? {
        return Ok(Step::Wait);
    }
    let candidates = || candidates.iter().map(|candidate| &**candidate);
    let asked: Vec<&Candidate> = candidates().filter(|candidate| candidate.has_to_be_asked(now)).collect();
    if !asked.is_empty() {
        return Ok(Step::Ask(asked));
    }
    if candidates().any(|candidate| candidate.may_still_answer(now)) {
        return Ok(Step::Wait);
    }
    let alive: Vec<&Candidate> = candidates().filter(|candidate| candidate.is_alive(now)).collect();
    let Some(strategy) = strategy(alive.iter().copied())? else { return Ok(Step::Wait) };
    let holder = if strategy == OLDEST_EMULATION_VERSION { best(alive.iter().copied()) } else { None };
    match holder {
        None if strategy == OLDEST_EMULATION_VERSION => Ok(Step::Wait),
        holder => Ok(Step::Elect { strategy, holder: holder.map(|candidate| candidate.name.as_str()) }),
    }
}

/// Whether an election has a result that differs from the present state.
fn is_needed(
    candidates: &[Arc<Candidate>],
    lease: Option<&LeaseState>,
    now: Timestamp,
) -> Result<bool, Undecided> {
    let Some(lease) = lease else { return Ok(true) };
    let holder = lease.holder.as_deref().unwrap_or_default();
    // From time to time all are asked, so that those that live do not expire.
    let is_quiet = |candidate: &Arc<Candidate>| is_past(candidate.renewed, VALIDITY / 2, now);
    if is_expired(lease, now) || holder.is_empty() || candidates.iter().any(is_quiet) {
        return Ok(true);
    }
    let candidates = || candidates.iter().map(|candidate| &**candidate);
    if strategy(candidates())? != Some(OLDEST_EMULATION_VERSION) {
        return Ok(false);
    }
    Ok(best(candidates()).is_some_and(|best| best.name != holder))
}

/// Returns the strategy: that of the candidates with the newest binaries, which have to agree.
fn strategy<'a>(candidates: impl Iterator<Item = &'a Candidate>) -> Result<Option<&'a str>, Undecided> {
    let mut chosen: Option<&Candidate> = None;
    for candidate in candidates {
        let order = chosen
            .map_or(Ordering::Less, |chosen| compare(chosen.binary.as_ref(), candidate.binary.as_ref()));
        match (order, chosen) {
            (Ordering::Less, _) => chosen = Some(candidate),
            (Ordering::Equal, Some(chosen)) if chosen.strategy != candidate.strategy => {
                return Err(Undecided(chosen.name.clone(), candidate.name.clone()));
            }
            _ => {}
        }
    }
    Ok(chosen.map(|candidate| candidate.strategy.as_str()))
}

/// Returns the candidate with the oldest emulated release, then the oldest binary, then the longest time in the race.
fn best<'a>(candidates: impl Iterator<Item = &'a Candidate>) -> Option<&'a Candidate> {
    let valid = candidates.filter(|candidate| candidate.emulation.is_some() && candidate.binary.is_some());
    valid.min_by(|a, b| {
        compare(a.emulation.as_ref(), b.emulation.as_ref())
            .then_with(|| compare(a.binary.as_ref(), b.binary.as_ref()))
            .then_with(|| a.created.cmp(&b.created))
    })
}

/// Compares versions, of which a missing one is the oldest.
fn compare(a: Option<&Version>, b: Option<&Version>) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => a.cmp_precedence(b),
        _ => a.is_some().cmp(&b.is_some()),
    }
}

/// Whether nobody holds a Lease, or its holder does not renew it.
pub(super) fn is_expired(lease: &LeaseState, now: Timestamp) -> bool {
    let duration = lease.duration_seconds.map(SignedDuration::from_secs);
    duration.is_none_or(|duration| is_past(lease.renewed, duration, now))
}

/// Whether a time has passed since a moment, or there is no such moment. A sum beyond the range of times is never reached.
fn is_past(moment: Option<Timestamp>, time: SignedDuration, now: Timestamp) -> bool {
    moment.is_none_or(|moment| moment.checked_add(time).is_ok_and(|end| end < now))
}

// === impl Candidate ===

impl Candidate {
    /// Reads a LeaseCandidate; `None` if it has no names.
    pub(super) fn read(object: &Value) -> Option<Self> {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str);
        let moment = |path| text(path).and_then(time::parse);
        let version = |path| text(path).and_then(|text| Version::parse(text).ok());
        let lease = (text("/metadata/namespace")?.to_owned(), text("/spec/leaseName")?.to_owned());
        Some(Self {
            name: text("/metadata/name")?.to_owned(),
            lease,
            created: moment("/metadata/creationTimestamp"),
            binary: version("/spec/binaryVersion"),
            emulation: version("/spec/emulationVersion"),
            strategy: text("/spec/strategy").unwrap_or_default().to_owned(),
            asked: moment("/spec/pingTime"),
            renewed: moment("/spec/renewTime"),
        })
    }

    /// Whether it has not been heard of for so long that it does not count.
    pub(super) fn is_expired(&self, now: Timestamp) -> bool {
        is_past(self.renewed, VALIDITY, now)
    }

    /// Whether it can be removed. One that was never heard of may be new.
    pub(super) fn is_obsolete(&self, now: Timestamp) -> bool {
        is_past(self.renewed.or(self.created), VALIDITY, now)
    }

    /// Whether it was asked, and has not answered.
    fn is_asked(&self) -> bool {
        self.asked.is_some() && self.renewed < self.asked
    }

    fn is_alive(&self, now: Timestamp) -> bool {
        !is_past(self.renewed, PATIENCE, now)
    }

    fn may_still_answer(&self, now: Timestamp) -> bool {
        self.is_asked() && !is_past(self.asked, PATIENCE, now)
    }

    /// Whether it is silent, and was not asked since it was heard of.
    fn has_to_be_asked(&self, now: Timestamp) -> bool {
        !self.is_alive(now) && !self.is_asked()
    }
}

// === impl LeaseState ===

impl LeaseState {
    /// Reads a Lease.
    pub(super) fn read(lease: &Value) -> Self {
        let field = |name: &str| lease.get("spec").and_then(|spec| spec.get(name));
        Self {
            holder: field("holderIdentity").and_then(Value::as_str).map(str::to_owned),
            renewed: field("renewTime").and_then(Value::as_str).and_then(time::parse),
            duration_seconds: field("leaseDurationSeconds").and_then(Value::as_i64),
        }
    }
}

#[cfg(test)]
mod tests;
