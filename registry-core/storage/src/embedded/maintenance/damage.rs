//! All that is damaged in a store, not only the first damage.

use std::ops::ControlFlow;
use std::path::Path;

use bytes::Bytes;

use super::MAX_PROBLEMS;
use crate::embedded::Revision;
use crate::embedded::log::Log;
use crate::embedded::log::fjall::FjallLog;
use crate::embedded::log_error::LogError;
use crate::embedded::record::META_REVISION;

/// Number of revisions behind a damaged record that are read one by one.
const NEIGHBOURS: u64 = 10_000;

/// Visits all records that can be read, and returns which cannot: behind a damaged block, a scan begins again.
pub(in super::super) fn scan_past_damage(
    log: &dyn Log,
    visit: &mut dyn FnMut(Revision, Bytes),
) -> Vec<String> {
    let end = log.acknowledged().unwrap_or_default();
    let mut next = META_REVISION;
    let mut problems = Vec::new();
    while problems.len() < MAX_PROBLEMS {
        let scanned = log.scan(next..=Revision::MAX, &mut |revision, bytes| {
            next = revision.saturating_add(1);
            visit(revision, bytes);
            ControlFlow::Continue(())
        });
        let Err(error) = scanned else { break };
        let Some((revision, bytes)) = readable_from(log, next, end) else {
            problems.push(format!("the records from revision {next} on cannot be read: {error}"));
            break;
        };
        if next < revision {
            let last = revision - 1;
            problems.push(format!("the records of revisions {next} to {last} cannot be read: {error}"));
        }
        next = revision.saturating_add(1);
        visit(revision, bytes);
    }
    problems
}

/// Returns the first record that can be read, from a revision that cannot to the newest one.
fn readable_from(log: &dyn Log, next: Revision, end: Revision) -> Option<(Revision, Bytes)> {
    let mut unreadable = end.min(next.saturating_add(NEIGHBOURS));
    let near = (next..=unreadable).find_map(|revision| Some((revision, log.read(revision).ok()??)));
    if near.is_some() {
        return near;
    }
    // A store that was restored has no records for a billion revisions: too many to try each of them. Where a scan can begin
    // is found by halving the range instead.
    let mut readable = end.saturating_add(1);
    while unreadable + 1 < readable {
        let middle = unreadable.midpoint(readable);
        if first_from(log, middle).is_ok() {
            readable = middle;
        } else {
            unreadable = middle;
        }
    }
    first_from(log, readable).ok().flatten()
}

/// Returns the first record from a revision on; `None` if there is none.
fn first_from(log: &dyn Log, start: Revision) -> Result<Option<(Revision, Bytes)>, LogError> {
    let mut first = None;
    log.scan(start..=Revision::MAX, &mut |revision, bytes| {
        first = Some((revision, bytes));
        ControlFlow::Break(())
    })?;
    Ok(first)
}

/// Returns the error of a store that cannot be opened, with all of its files that are damaged.
pub(super) fn with_other_damage(directory: &Path, error: LogError) -> LogError {
    if !matches!(error, LogError::Damaged(_)) {
        return error;
    }
    let damaged = FjallLog::damaged_files(directory);
    let texts: Vec<String> = damaged.iter().take(MAX_PROBLEMS).map(ToString::to_string).collect();
    if texts.len() < 2 { error } else { LogError::Damaged(texts.join("; ")) }
}
