//! Watches: every change once, in order, of the right type, up to the end of the round.

use super::Violation;
use super::timeline::{Changes, Timeline};
use crate::history::{Change, Event, Goal, History, Watch};

/// Returns the watches that are not complete and in order.
pub(super) fn check(history: &History, timeline: &Timeline<'_>) -> Vec<Violation> {
    let none = Changes::default();
    let mut violations = Vec::new();
    for watch in &history.watches {
        let changes = timeline.scope(&watch.scope).unwrap_or(&none);
        violations.extend(check_order(watch));
        if changes.is_complete {
            violations.extend(watch.events.iter().filter_map(|event| check_event(watch, event, changes)));
        }
        violations.extend(missed(watch, changes));
    }
    violations.extend(history.goals.iter().flat_map(|goal| check_goal(history, goal)));
    violations
}

fn described(watch: &Watch) -> String {
    let Watch { reflector, server, scope, from, .. } = watch;
    format!("watch of {scope} by reflector {reflector} from server {server} after revision {from}")
}

/// Returns the revision that a watch reached.
fn reached(watch: &Watch) -> u64 {
    watch.events.last().map_or(watch.from, |event| event.revision)
}

/// Bookmarks may repeat a revision, changes not.
fn check_order(watch: &Watch) -> Option<Violation> {
    let mut before = watch.from;
    for Event { revision, change, .. } in &watch.events {
        let is_later = *revision > before || (*change == Change::Bookmark && *revision == before);
        if !is_later {
            return Some(Violation::WatchOrder { watch: described(watch), revision: *revision, before });
        }
        before = *revision;
    }
    None
}

/// Compares the type and the content of an event with the change.
fn check_event(watch: &Watch, event: &Event, changes: &Changes<'_>) -> Option<Violation> {
    let before = changes.before(&event.object, event.revision);
    let problem = match event.change {
        Change::Bookmark => None,
        Change::Added if before.is_some() => Some("added, and existed before"),
        Change::Modified if before.is_none() => Some("modified, and did not exist before"),
        Change::Deleted => match before {
            None => Some("deleted, and did not exist before"),
            Some((_, content)) if *content.entries != event.entries => {
                Some("deleted, and shows another version than the last one")
            }
            Some(_) => None,
        },
        Change::Added | Change::Modified => None,
    };
    let problem = format!("{} {}", event.object, problem?);
    Some(Violation::WrongEvent { watch: described(watch), revision: event.revision, problem })
}

/// Returns the first change that a watch passed over.
fn missed(watch: &Watch, changes: &Changes<'_>) -> Option<Violation> {
    let delivered: std::collections::BTreeSet<u64> = watch
        .events
        .iter()
        .filter(|event| event.change != Change::Bookmark)
        .map(|event| event.revision)
        .collect();
    let reached = reached(watch);
    if reached <= watch.from {
        return None;
    }
    let mut expected = changes.by_revision.range(watch.from + 1..=reached).map(|(revision, _)| *revision);
    let revision = expected.find(|revision| !delivered.contains(revision))?;
    Some(Violation::MissedEvent { watch: described(watch), revision })
}

/// Returns the reflectors that did not reach the end.
fn check_goal(history: &History, goal: &Goal) -> Vec<Violation> {
    let unfinished = |reflector: &usize| {
        let watches = history.watches.iter().filter(|watch| watch.reflector == *reflector);
        let reached = watches.map(reached).max().unwrap_or_default();
        let watch = format!("reflector {reflector} of {}", goal.scope);
        (reached < goal.revision).then_some(Violation::UnfinishedWatch {
            watch,
            goal: goal.revision,
            reached,
        })
    };
    goal.reflectors.iter().filter_map(unfinished).collect()
}
