//! The state of all objects at every revision, put together from everything that showed a version.

use std::collections::BTreeMap;

use super::Violation;
use crate::history::{Change, Entries, History, Scope, Version};

/// The changes of each scope.
#[derive(Debug, Default)]
pub(super) struct Timeline<'h> {
    scopes: BTreeMap<&'h str, Changes<'h>>,
}

/// The changes of a scope.
#[derive(Debug, Default)]
pub(super) struct Changes<'h> {
    /// Whether watches delivered all revisions from the first to the last one. Otherwise deletions are unknown, which nothing but
    /// a watch shows.
    pub(super) is_complete: bool,
    /// The revision up to which objects that expire are known.
    pub(super) expiring_until: u64,
    /// The changed object of each revision.
    pub(super) by_revision: BTreeMap<u64, &'h str>,
    /// The states of each object, by the revision at which they began.
    pub(super) by_object: BTreeMap<&'h str, BTreeMap<u64, Option<Content<'h>>>>,
}

/// The content of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Content<'h> {
    pub(super) entries: &'h Entries,
    pub(super) assigned: &'h [String],
}

// === impl Content ===

impl<'h> From<&'h Version> for Content<'h> {
    fn from(version: &'h Version) -> Self {
        Self { entries: &version.entries, assigned: &version.assigned }
    }
}

// === impl Timeline ===

impl<'h> Timeline<'h> {
    /// Returns the timeline of a history, and the revisions at which it is not a single change.
    pub(super) fn new(history: &'h History) -> (Self, Vec<Violation>) {
        let mut timeline = Self::default();
        let mut violations = Vec::new();
        let mut known: BTreeMap<u64, (&str, &str, Option<Content<'_>>)> = BTreeMap::new();
        for (scope, object, revision, content) in shown(history) {
            match known.get(&revision) {
                None => {
                    known.insert(revision, (scope, object, content));
                    let changes = timeline.scopes.entry(scope).or_default();
                    changes.by_revision.insert(revision, object);
                    changes.by_object.entry(object).or_default().insert(revision, content);
                }
                Some(before) if *before == (scope, object, content) => {}
                Some((scope_before, object_before, content_before)) => {
                    violations.push(Violation::TwoChanges {
                        revision,
                        first: format!("{scope_before}/{object_before} {content_before:?}"),
                        second: format!("{scope}/{object} {content:?}"),
                    });
                }
            }
        }
        for scope in &history.scopes {
            let changes = timeline.scopes.entry(&scope.name).or_default();
            let delivered = delivered(history, scope);
            let goals = history.goals.iter().filter(|goal| goal.scope == scope.name);
            changes.is_complete = goals.map(|goal| goal.revision).max().is_some_and(|goal| delivered >= goal);
            changes.expiring_until = if scope.time_to_live.is_some() { delivered } else { u64::MAX };
        }
        (timeline, violations)
    }

    /// Returns the changes of a scope, if there are any.
    pub(super) fn scope(&self, name: &str) -> Option<&Changes<'h>> {
        self.scopes.get(name)
    }

    /// Returns all scopes with their changes.
    pub(super) fn scopes(&self) -> impl Iterator<Item = (&'h str, &Changes<'h>)> {
        self.scopes.iter().map(|(name, changes)| (*name, changes))
    }
}

/// Returns the revision up to which the watches of a scope together delivered all changes.
fn delivered(history: &History, scope: &Scope) -> u64 {
    let watches = history.watches.iter().filter(|watch| watch.scope == scope.name);
    let mut delivered: Vec<(u64, u64)> = watches
        .map(|watch| (watch.from, watch.events.last().map_or(watch.from, |last| last.revision)))
        .collect();
    delivered.sort_unstable();
    delivered
        .into_iter()
        .fold(scope.from, |end, (from, reached)| if from <= end { end.max(reached) } else { end })
}

/// Returns the scope, the object, the revision and the content of every version that anything shows. A deletion has no content.
fn shown(history: &History) -> impl Iterator<Item = (&str, &str, u64, Option<Content<'_>>)> {
    let writes = history.writes.iter().filter_map(|write| {
        let made = write.made()?;
        Some((&*write.scope, &*write.object, made.revision, Some(Content::from(made))))
    });
    let reads = history.reads.iter().filter_map(|read| {
        let version = read.version.as_ref()?;
        Some((&*read.scope, &*read.object, version.revision, Some(Content::from(version))))
    });
    let lists = history.lists.iter().flat_map(|list| {
        list.items
            .iter()
            .map(|(name, version)| (&*list.scope, &**name, version.revision, Some(Content::from(version))))
    });
    let events = history.watches.iter().flat_map(|watch| {
        let events = watch.events.iter().filter(|event| event.change != Change::Bookmark);
        events.map(|event| {
            let content = Content { entries: &event.entries, assigned: &event.assigned };
            let content = (event.change != Change::Deleted).then_some(content);
            (&*watch.scope, &*event.object, event.revision, content)
        })
    });
    writes.chain(reads).chain(lists).chain(events)
}

// === impl Changes ===

impl<'h> Changes<'h> {
    /// Returns the state of an object at a revision, with the revision at which it began.
    pub(super) fn at(&self, object: &str, revision: u64) -> Option<(u64, Content<'h>)> {
        let (since, content) = self.by_object.get(object)?.range(..=revision).next_back()?;
        content.map(|content| (*since, content))
    }

    /// Returns the state of an object before a revision, with the revision at which it began.
    pub(super) fn before(&self, object: &str, revision: u64) -> Option<(u64, Content<'h>)> {
        self.at(object, revision.checked_sub(1)?)
    }

    /// Returns the state of all objects at a revision.
    pub(super) fn all_at(&self, revision: u64) -> BTreeMap<&'h str, (u64, Content<'h>)> {
        let names = self.by_object.keys();
        names.filter_map(|name| Some((*name, self.at(name, revision)?))).collect()
    }
}
