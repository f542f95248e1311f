//! Linearizability of the operations of each object, by the method of Wing and Gong with Lowe's memory of visited
//! configurations, which porcupine uses too.
//!
//! The model knows no revisions: the state is the entries of the object, which are unique because every write sets the
//! entry [`WRITER`] to a number of its own. A write whose outcome is unknown may be placed anywhere after its start, or nowhere; if
//! something showed its version, before the end of that. Where watches delivered all changes, such a write is left out if none of
//! them is its.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::rc::Rc;

use super::Violation;
use super::timeline::Timeline;
use crate::history::{Action, Answer, Entries, History, Refusal, Version, WRITER, Write};

/// Maximum number of configurations that are visited for an object.
const MAX_CONFIGURATIONS: usize = 100_000;

/// The state of an object: its entries, if it exists.
type State = Option<Rc<Entries>>;

/// An operation of an object.
#[derive(Debug)]
struct Operation<'h> {
    start: u64,
    /// Nothing if it is not known when it took effect, or whether.
    end: Option<u64>,
    call: Call<'h>,
}

#[derive(Debug)]
enum Call<'h> {
    Write(&'h Action, &'h Answer),
    Read(Option<&'h Version>),
}

/// The result of a search.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Linearizable,
    /// The operation that ends first among those that no order explains.
    Unexplained(usize),
    Undecided,
}

/// Operations that are placed already, as bits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Placed(Vec<u64>);

/// A configuration of the search, with the operations that can be placed next.
struct Configuration {
    placed: Placed,
    /// All operations before this one are placed.
    first: usize,
    /// Number of placed operations whose end is known.
    depth: usize,
    state: State,
    candidates: Vec<usize>,
}

/// Returns the objects whose operations are not linearizable.
pub(super) fn check(history: &History, timeline: &Timeline<'_>) -> Vec<Violation> {
    let mut violations = Vec::new();
    let expire =
        |scope: &str| history.scopes.iter().any(|found| found.name == scope && found.time_to_live.is_some());
    // The server's deletions are operations of nobody.
    for ((scope, object), operations) in
        operations(history, timeline).into_iter().filter(|((scope, _), _)| !expire(scope))
    {
        let object = format!("{scope}/{object}");
        match search(&operations) {
            Outcome::Linearizable => {}
            Outcome::Undecided => violations.push(Violation::Undecided { object }),
            Outcome::Unexplained(index) => {
                let operation = operations.get(index).map(|found| format!("{found:?}")).unwrap_or_default();
                violations.push(Violation::NotLinearizable { object, operation });
            }
        }
    }
    violations
}

/// Returns the operations of each object, ordered by their start.
fn operations<'h>(
    history: &'h History,
    timeline: &Timeline<'_>,
) -> BTreeMap<(&'h str, &'h str), Vec<Operation<'h>>> {
    let seen = first_seen(history);
    let mut objects: BTreeMap<(&str, &str), Vec<Operation<'_>>> = BTreeMap::new();
    for write in history.writes.iter().filter(|write| is_informative(write)) {
        let end = match write.answer {
            Answer::Unknown { .. } => seen.get(&*write.id.to_string()).copied(),
            _ => Some(write.end),
        };
        if end.is_none() && !may_be_unseen(history, timeline, write) {
            continue;
        }
        let call = Call::Write(&write.action, &write.answer);
        let operation = Operation { start: write.start, end, call };
        objects.entry((&write.scope, &write.object)).or_default().push(operation);
    }
    for read in &history.reads {
        let call = Call::Read(read.version.as_ref());
        let operation = Operation { start: read.start, end: Some(read.end), call };
        objects.entry((&read.scope, &read.object)).or_default().push(operation);
    }
    let names: BTreeSet<(&str, &str)> = objects.keys().copied().collect();
    for list in history.lists.iter().filter(|list| list.asked.is_consistent()) {
        for name in names.iter().filter(|(scope, _)| *scope == list.scope) {
            let call = Call::Read(list.items.get(name.1));
            let operation = Operation { start: list.start, end: Some(list.end), call };
            objects.entry(*name).or_default().push(operation);
        }
    }
    for operations in objects.values_mut() {
        operations.sort_by_key(|operation| operation.start);
    }
    objects
}

/// Whether a write shows something about the state.
fn is_informative(write: &Write) -> bool {
    let is_retried = matches!(write.action, Action::Patch { .. } | Action::Apply { .. });
    match write.answer {
        Answer::Rejected { .. } => false,
        // A patch is tried again when the object changes meanwhile, a limited number of times.
        Answer::Refused { refusal: Refusal::Conflict | Refusal::AlreadyExists } => !is_retried,
        _ => true,
    }
}

/// Whether a write that nothing showed may have taken effect: where not all changes are known, and as a deletion if there were more of
/// them than were acknowledged.
fn may_be_unseen(history: &History, timeline: &Timeline<'_>, write: &Write) -> bool {
    let Some(changes) = timeline.scope(&write.scope).filter(|changes| changes.is_complete) else {
        return true;
    };
    if !matches!(write.action, Action::Delete { .. }) {
        return false;
    }
    let states = changes.by_object.get(&*write.object).into_iter().flatten();
    let deletions = states.filter(|(_, content)| content.is_none()).count();
    let is_acknowledged = |other: &&Write| {
        other.scope == write.scope
            && other.object == write.object
            && matches!((&other.action, &other.answer), (Action::Delete { .. }, Answer::Done { .. }))
    };
    deletions > history.writes.iter().filter(is_acknowledged).count()
}

/// Returns the time at which the version of each writer was first shown by something.
fn first_seen(history: &History) -> BTreeMap<&str, u64> {
    let mut seen: BTreeMap<&str, u64> = BTreeMap::new();
    let reads = history.reads.iter().filter_map(|read| Some((read.version.as_ref()?, read.end)));
    let lists = history.lists.iter().flat_map(|list| list.items.values().map(|version| (version, list.end)));
    let versions = reads.chain(lists).map(|(version, at)| (&version.entries, at));
    let events =
        history.watches.iter().flat_map(|watch| watch.events.iter().map(|event| (&event.entries, event.at)));
    for (entries, at) in versions.chain(events) {
        if let Some(writer) = entries.get(WRITER) {
            let first = seen.entry(writer).or_insert(at);
            *first = at.min(*first);
        }
    }
    seen
}

/// Searches an order that explains all operations whose end is known.
fn search(operations: &[Operation<'_>]) -> Outcome {
    let needed = operations.iter().filter(|operation| operation.end.is_some()).count();
    let mut visited: HashSet<(Placed, State)> = HashSet::new();
    let start = Configuration {
        placed: Placed(vec![0; operations.len().div_ceil(64)]),
        first: 0,
        depth: 0,
        state: None,
        candidates: Vec::new(),
    };
    let mut stack = vec![start.advanced(operations)];
    let mut deepest = (0, None);
    while let Some(top) = stack.last_mut() {
        if top.depth == needed {
            return Outcome::Linearizable;
        }
        if deepest.1.is_none() || top.depth > deepest.0 {
            deepest = (top.depth, top.placed.first_end(operations));
        }
        let Some(index) = top.candidates.pop() else {
            stack.pop();
            continue;
        };
        let Some(next) = top.after(operations, index) else { continue };
        if visited.len() >= MAX_CONFIGURATIONS {
            return Outcome::Undecided;
        }
        let next = next.advanced(operations);
        if visited.insert((next.placed.clone(), next.state.clone())) {
            stack.push(next);
        }
    }
    Outcome::Unexplained(deepest.1.unwrap_or_default())
}

// === impl Configuration ===

impl Configuration {
    /// Returns the configuration after an operation, or nothing if it cannot happen in the state.
    fn after(&self, operations: &[Operation<'_>], index: usize) -> Option<Self> {
        let operation = operations.get(index)?;
        let state = operation.apply(&self.state)?;
        let placed = self.placed.with(index);
        let depth = self.depth + usize::from(operation.end.is_some());
        Some(Self { placed, first: self.first, depth, state, candidates: Vec::new() })
    }

    /// Places operations that change nothing as long as there are some that are right in the state: no order is better with
    /// them later. Then finds the candidates.
    fn advanced(mut self, operations: &[Operation<'_>]) -> Self {
        loop {
            self.find_candidates(operations);
            let is_right = |index: &&usize| {
                let operation = operations.get(**index);
                operation
                    .is_some_and(|operation| operation.is_neutral() && operation.apply(&self.state).is_some())
            };
            let Some(index) = self.candidates.iter().find(is_right).copied() else { return self };
            let Some(next) = self.after(operations, index) else { return self };
            self = next;
        }
    }

    /// Finds the operations that can be next: those that started before the first end of all that are not placed. The last one
    /// is tried first: that with the first end, and those without an end after all others.
    fn find_candidates(&mut self, operations: &[Operation<'_>]) {
        while self.placed.has(self.first) {
            self.first += 1;
        }
        let mut first_end = u64::MAX;
        self.candidates.clear();
        for (index, operation) in operations.iter().enumerate().skip(self.first) {
            if operation.start > first_end {
                break;
            }
            if !self.placed.has(index) {
                first_end = first_end.min(operation.end.unwrap_or(u64::MAX));
                self.candidates.push(index);
            }
        }
        let end =
            |index: &usize| operations.get(*index).and_then(|operation| operation.end).unwrap_or(u64::MAX);
        self.candidates.sort_by_key(|index| std::cmp::Reverse(end(index)));
    }
}

// === impl Placed ===

impl Placed {
    fn has(&self, index: usize) -> bool {
        self.0.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    fn with(&self, index: usize) -> Self {
        let mut words = self.0.clone();
        if let Some(word) = words.get_mut(index / 64) {
            *word |= 1 << (index % 64);
        }
        Self(words)
    }

    /// Returns the operation that ends first among those that are not placed.
    fn first_end(&self, operations: &[Operation<'_>]) -> Option<usize> {
        let open = operations.iter().enumerate().filter(|(index, _)| !self.has(*index));
        let ends = open.filter_map(|(index, operation)| Some((operation.end?, index)));
        ends.min().map(|(_, index)| index)
    }
}

// === impl Operation ===

impl Operation<'_> {
    /// Whether it changes nothing.
    fn is_neutral(&self) -> bool {
        matches!(self.call, Call::Read(_) | Call::Write(_, Answer::Refused { .. }))
    }

    /// Returns the state after it, or nothing if it cannot happen in this state.
    fn apply(&self, state: &State) -> Option<State> {
        let entries = state.as_deref();
        match &self.call {
            Call::Read(version) => {
                (version.map(|version| &version.entries) == entries).then(|| state.clone())
            }
            Call::Write(action, Answer::Refused { refusal }) => {
                is_refused(action, *refusal, entries).then(|| state.clone())
            }
            Call::Write(action, answer) => {
                let after = changed(action, entries).ok()?;
                let made = match answer {
                    Answer::Done { version } => version.as_ref(),
                    _ => None,
                };
                let agrees = made.is_none_or(|made| after.as_ref() == Some(&made.entries));
                agrees.then(|| after.map(Rc::new))
            }
        }
    }
}

/// Whether a write is refused in a state for this reason.
fn is_refused(action: &Action, refusal: Refusal, state: Option<&Entries>) -> bool {
    match (refusal, action) {
        (Refusal::AlreadyExists, _) => state.is_some(),
        (Refusal::NotFound, _) => state.is_none(),
        (
            Refusal::Conflict,
            Action::Replace { expected, .. } | Action::Delete { expected: Some(expected) },
        ) => state.is_some_and(|state| *state != expected.entries),
        (Refusal::Conflict, _) => false,
    }
}

/// A write takes no effect in a state.
#[derive(Clone, Copy, Debug)]
pub(super) struct NoEffect;

/// Returns the entries after a write that takes effect in a state.
pub(super) fn changed(action: &Action, state: Option<&Entries>) -> Result<Option<Entries>, NoEffect> {
    match (action, state) {
        (Action::Create { entries } | Action::Apply { entries }, None) => Ok(Some(entries.clone())),
        (Action::Replace { entries, creates: true, .. }, None) => Ok(Some(entries.clone())),
        (Action::Replace { expected, entries, .. }, Some(state)) if *state == expected.entries => {
            Ok(Some(entries.clone()))
        }
        (Action::Patch { entries, .. } | Action::Apply { entries }, Some(state)) => {
            let mut after = state.clone();
            after.extend(entries.clone());
            Ok(Some(after))
        }
        (Action::Delete { expected: None }, Some(_)) => Ok(None),
        (Action::Delete { expected: Some(expected) }, Some(state)) if *state == expected.entries => Ok(None),
        _ => Err(NoEffect),
    }
}
