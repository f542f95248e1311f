//! Lists: each shows exactly the state at its revision, which is one that the request allows.

use std::collections::BTreeMap;

use super::Violation;
use super::timeline::{Content, Timeline};
use crate::history::{Asked, History, List};

/// Returns the lists that show another state than that at their revision, or a state that was not asked for.
pub(super) fn check(history: &History, timeline: &Timeline<'_>) -> Vec<Violation> {
    let mut violations = Vec::new();
    for list in &history.lists {
        if let Some(difference) = difference(list, timeline) {
            let (operation, revision) = (described(list), list.revision);
            violations.push(Violation::WrongList { operation, revision, difference });
        }
        let known = match list.asked {
            Asked::Exact { at } if list.revision != at => Some(at),
            Asked::NotOlderThan { at } if list.revision < at => Some(at),
            _ => None,
        };
        violations.extend(known.map(|known| old(list, known)));
    }
    violations.extend(check_backwards(history));
    violations
}

fn described(list: &List) -> String {
    format!("list {:?} of {} by server {}, begun at {}", list.asked, list.scope, list.server, list.start)
}

fn old(list: &List, known: u64) -> Violation {
    Violation::OldList { operation: described(list), revision: list.revision, known }
}

/// Returns a difference between a list and the state at its revision.
fn difference(list: &List, timeline: &Timeline<'_>) -> Option<String> {
    let changes = timeline.scope(&list.scope).filter(|changes| changes.is_complete)?;
    if list.revision > changes.expiring_until {
        return None;
    }
    let state = changes.all_at(list.revision);
    let listed: BTreeMap<&str, (u64, Content<'_>)> = list
        .items
        .iter()
        .map(|(name, version)| (&**name, (version.revision, Content::from(version))))
        .collect();
    let missing = state.iter().find(|(name, _)| !listed.contains_key(*name));
    if let Some((name, (since, _))) = missing {
        return Some(format!("{name} of revision {since} is missing"));
    }
    let (name, (since, _)) = listed.iter().find(|(name, content)| state.get(*name) != Some(*content))?;
    let there = state.get(name).map(|(since, _)| since);
    Some(format!("{name} has revision {since}, the state has {there:?}"))
}

/// Returns the lists without a revision that are older than what the same server showed before.
fn check_backwards(history: &History) -> Vec<Violation> {
    let mut shown: BTreeMap<(usize, &str), Vec<(u64, u64)>> = BTreeMap::new();
    for list in history.lists.iter().filter(|list| !matches!(list.asked, Asked::Exact { .. })) {
        shown.entry((list.server, &list.scope)).or_default().push((list.end, list.revision));
    }
    let mut violations = Vec::new();
    for list in history.lists.iter().filter(|list| list.asked == Asked::Any) {
        let before = shown.get(&(list.server, &*list.scope)).into_iter().flatten();
        let known = before.filter(|(end, _)| *end < list.start).map(|(_, revision)| *revision).max();
        violations.extend(known.filter(|known| *known > list.revision).map(|known| old(list, known)));
    }
    violations
}
