//! Real time and revisions, for all objects together: an operation that began after a revision was known has a later one, and
//! consistent reads show a state that existed while they ran.

use std::collections::BTreeMap;

use super::Violation;
use super::timeline::{Content, Timeline};
use crate::history::{History, List, Read};

/// The revisions that were known at each time.
struct Clock {
    /// The highest revision that anything showed up to a time.
    shown: Vec<(u64, u64)>,
    /// The lowest revision of the writes that began at a time or later.
    begun: Vec<(u64, u64)>,
}

/// Returns the operations whose revision contradicts real time.
pub(super) fn check(history: &History, timeline: &Timeline<'_>) -> Vec<Violation> {
    let clock = Clock::new(history);
    let mut violations = Vec::new();
    for write in &history.writes {
        if let Some(revision) = write.revision() {
            let known = clock.shown_before(write.start);
            if revision <= known {
                let operation = format!("write {} of {}/{}", write.id, write.scope, write.object);
                violations.push(Violation::RevisionOrder { operation, revision, known });
            }
        }
    }
    violations.extend(history.lists.iter().filter_map(|list| clock.check_list(list)));
    violations.extend(history.reads.iter().filter_map(|read| clock.check_read(read, timeline)));
    for watch in &history.watches {
        for event in &watch.events {
            let later = clock.begun_after(event.at);
            if event.revision >= later {
                let operation = format!("an event of {} at revision {}", watch.scope, event.revision);
                let known = event.revision;
                violations.push(Violation::StaleRead { operation, known, later });
            }
        }
    }
    violations
}

// === impl Clock ===

impl Clock {
    fn new(history: &History) -> Self {
        let writes = history.writes.iter().filter_map(|write| Some((write.end, write.revision()?)));
        let reads = history.reads.iter().filter_map(|read| Some((read.end, read.version.as_ref()?.revision)));
        let lists = history.lists.iter().map(|list| (list.end, list.revision));
        let events = history
            .watches
            .iter()
            .flat_map(|watch| watch.events.iter().map(|event| (event.at, event.revision)));
        let mut shown: Vec<(u64, u64)> = writes.chain(reads).chain(lists).chain(events).collect();
        shown.sort_unstable();
        let mut highest = 0;
        for (_, revision) in &mut shown {
            highest = highest.max(*revision);
            *revision = highest;
        }
        let begun = history.writes.iter().filter_map(|write| Some((write.start, write.revision()?)));
        let mut begun: Vec<(u64, u64)> = begun.collect();
        begun.sort_unstable();
        let mut lowest = u64::MAX;
        for (_, revision) in begun.iter_mut().rev() {
            lowest = lowest.min(*revision);
            *revision = lowest;
        }
        Self { shown, begun }
    }

    /// Returns the highest revision that was known before a time.
    fn shown_before(&self, time: u64) -> u64 {
        let count = self.shown.partition_point(|(at, _)| *at < time);
        count.checked_sub(1).and_then(|last| self.shown.get(last)).map_or(0, |(_, revision)| *revision)
    }

    /// Returns the lowest revision of the writes that began after a time.
    fn begun_after(&self, time: u64) -> u64 {
        let first = self.begun.partition_point(|(at, _)| *at <= time);
        self.begun.get(first).map_or(u64::MAX, |(_, revision)| *revision)
    }

    fn check_list(&self, list: &List) -> Option<Violation> {
        let operation = || format!("list {:?} of {} by server {}", list.asked, list.scope, list.server);
        let known = self.shown_before(list.start);
        if list.asked.is_consistent() && list.revision < known {
            return Some(Violation::RevisionOrder { operation: operation(), revision: list.revision, known });
        }
        let later = self.begun_after(list.end);
        let is_early = list.revision >= later;
        is_early.then(|| Violation::StaleRead { operation: operation(), known: list.revision, later })
    }

    /// Whether the state that was read existed between the revisions known before and the first one made later.
    fn check_read(&self, read: &Read, timeline: &Timeline<'_>) -> Option<Violation> {
        let known = self.shown_before(read.start);
        let later = self.begun_after(read.end);
        let none = BTreeMap::new();
        let changes = timeline.scope(&read.scope).filter(|changes| changes.is_complete)?;
        let states = changes.by_object.get(&*read.object).unwrap_or(&none);
        let wanted = read.version.as_ref().map(|version| (version.revision, Content::from(version)));
        let absent_first = std::iter::once((0, None));
        let begins: Vec<_> =
            absent_first.chain(states.iter().map(|(since, state)| (*since, *state))).collect();
        let ends = begins.iter().skip(1).map(|(since, _)| *since).chain([u64::MAX]);
        let found = begins.iter().zip(ends).any(|((since, state), until)| {
            let is_state = match wanted {
                None => state.is_none(),
                Some((revision, content)) => revision == *since && *state == Some(content),
            };
            is_state && *since < later && until > known
        });
        (!found).then(|| {
            let seen = read.version.as_ref().map(|version| version.revision);
            let operation =
                format!("read of {}/{} by server {}: {seen:?}", read.scope, read.object, read.server);
            Violation::StaleRead { operation, known, later }
        })
    }
}
