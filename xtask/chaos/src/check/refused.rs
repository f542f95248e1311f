//! Writes that every server refuses: none of them succeeds, whichever server is asked, also right after its start.

use std::collections::BTreeMap;

use super::Violation;
use super::timeline::Timeline;
use crate::history::{Answer, History, Refused, Scope, Write};

/// Returns the writes that took effect although they had to be refused.
pub(super) fn check(history: &History, timeline: &Timeline<'_>) -> Vec<Violation> {
    let scopes = history.scopes.iter();
    let refused = scopes.flat_map(|scope| scope.refused.iter().map(move |refused| (scope, refused)));
    refused.flat_map(|(scope, refused)| let_through(history, timeline, scope, refused)).collect()
}

fn let_through(
    history: &History,
    timeline: &Timeline<'_>,
    scope: &Scope,
    refused: &Refused,
) -> Vec<Violation> {
    let is_refused = |write: &&Write| {
        let entry = write.action.entries().and_then(|entries| entries.get(&refused.entry));
        write.scope == scope.name && write.start > refused.since && entry == Some(&write.id.to_string())
    };
    let writes: BTreeMap<String, &Write> =
        history.writes.iter().filter(is_refused).map(|write| (write.id.to_string(), write)).collect();
    let done = writes.values().filter(|write| matches!(write.answer, Answer::Done { .. })).copied();
    // Also without an answer.
    let objects = timeline.scope(&scope.name).into_iter().flat_map(|changes| changes.by_object.values());
    let contents = objects.flat_map(BTreeMap::values).flatten();
    let shown = contents.filter_map(|content| writes.get(content.entries.get(&refused.entry)?)).copied();
    let let_through: BTreeMap<u64, &Write> = done.chain(shown).map(|write| (write.id, write)).collect();
    let violation = |write: &Write| Violation::LetThrough {
        id: write.id,
        object: format!("{}/{}", write.scope, write.object),
        entry: refused.entry.clone(),
    };
    let_through.into_values().map(violation).collect()
}
