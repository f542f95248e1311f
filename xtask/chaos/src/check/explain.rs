//! The reason of each version: the write that its entry [`WRITER`] names made it, once, from the version before it.

use std::collections::{BTreeMap, BTreeSet};

use super::Violation;
use super::linear::changed;
use super::timeline::{Changes, Content, Timeline};
use crate::history::{Action, Answer, History, WRITER, Write};

/// Returns the versions and deletions that no write explains.
pub(super) fn check(history: &History, timeline: &Timeline<'_>) -> Vec<Violation> {
    let writes: BTreeMap<String, &Write> =
        history.writes.iter().map(|write| (write.id.to_string(), write)).collect();
    let mut violations = Vec::new();
    for (scope, changes) in timeline.scopes().filter(|(_, changes)| changes.is_complete) {
        for (object, states) in &changes.by_object {
            let mut used = BTreeSet::new();
            for (revision, content) in states.iter().filter_map(|(at, content)| Some((*at, (*content)?))) {
                let writer = content.entries.get(WRITER).map(String::as_str).unwrap_or_default();
                let before = changes.before(object, revision);
                let problem = match writes.get(writer) {
                    None => Some(format!("no client wrote {:?}", content.entries)),
                    Some(write) if write.scope != scope || write.object != **object => {
                        Some(format!("write {writer} was one of {}/{}", write.scope, write.object))
                    }
                    Some(_) if !used.insert(writer) => Some(format!("write {writer} took effect twice")),
                    Some(write) => problem(write, revision, before, content),
                };
                let object = format!("{scope}/{object}");
                violations.extend(problem.map(|problem| Violation::Unexplained {
                    object,
                    revision,
                    problem,
                }));
            }
            let times = history.scopes.iter().find(|found| found.name == scope);
            match times.and_then(|found| found.time_to_live) {
                None => violations.extend(check_deletions(history, scope, object, changes)),
                Some(time) => violations.extend(check_expiry(history, scope, object, changes, time)),
            }
        }
    }
    violations
}

/// Returns the reason for which a write cannot have made this version.
fn problem(
    write: &Write,
    revision: u64,
    before: Option<(u64, Content<'_>)>,
    content: Content<'_>,
) -> Option<String> {
    if !write.may_have_effect() {
        return Some(format!("write {} took effect, and was answered with {:?}", write.id, write.answer));
    }
    if let Some(answered) = write.revision()
        && answered != revision
    {
        return Some(format!("write {} was answered with revision {answered}", write.id));
    }
    let since = before.map(|(since, _)| since);
    if let Action::Replace { expected, creates, .. } = &write.action
        && since != Some(expected.revision)
        && !(*creates && since.is_none())
    {
        return Some(format!("write {} replaced {since:?}, not {}", write.id, expected.revision));
    }
    let entries = before.map(|(_, content)| content.entries);
    let after = changed(&write.action, entries).ok().flatten();
    (after.as_ref() != Some(content.entries)).then(|| {
        let made = content.entries;
        format!("write {} cannot make {made:?} from {entries:?}", write.id)
    })
}

/// Compares the deletions of an object with the deletions that clients asked for.
fn check_deletions(history: &History, scope: &str, object: &str, changes: &Changes<'_>) -> Option<Violation> {
    let states = changes.by_object.get(object)?;
    let deleted = states.iter().filter(|(_, content)| content.is_none()).map(|(revision, _)| *revision);
    let deleted: Vec<u64> = deleted.collect();
    let of_object = |write: &&Write| {
        write.scope == scope && write.object == object && matches!(write.action, Action::Delete { .. })
    };
    let asked = || history.writes.iter().filter(of_object);
    let done = asked().filter(|write| matches!(write.answer, Answer::Done { .. })).count();
    let possible = asked().filter(|write| write.may_have_effect()).count();
    let revision = deleted.last().copied().unwrap_or_default();
    let unexplained =
        |problem| Some(Violation::Unexplained { object: format!("{scope}/{object}"), revision, problem });
    if deleted.len() < done || deleted.len() > possible {
        let count = deleted.len();
        return unexplained(format!("{count} deletions; {done} were acknowledged, {possible} possible"));
    }
    for write in asked().filter(|write| matches!(write.answer, Answer::Done { .. })) {
        let Action::Delete { expected: Some(expected) } = &write.action else { continue };
        let is_it = |revision: &u64| {
            changes.before(object, *revision).is_some_and(|(since, _)| since == expected.revision)
        };
        if !deleted.iter().any(is_it) {
            return unexplained(format!(
                "write {} deleted another version than {}",
                write.id, expected.revision
            ));
        }
    }
    None
}

/// Compares the time at which a watch showed the deletion of an object with the time of its creation.
fn check_expiry(
    history: &History,
    scope: &str,
    object: &str,
    changes: &Changes<'_>,
    time_to_live: u64,
) -> Option<Violation> {
    let states = changes.by_object.get(object)?;
    let revision = states.iter().find(|(_, content)| content.is_none()).map(|(revision, _)| *revision)?;
    let events = history.watches.iter().filter(|watch| watch.scope == scope).flat_map(|watch| &watch.events);
    let deleted = events.filter(|event| event.revision == revision).map(|event| event.at).min()?;
    let created = history.writes.iter().find(|write| write.scope == scope && write.object == object)?.start;
    let lived = deleted.saturating_sub(created);
    (lived < time_to_live).then(|| Violation::Unexplained {
        object: format!("{scope}/{object}"),
        revision,
        problem: format!("deleted after {lived} ns, its time to live is {time_to_live}"),
    })
}
