//! The history of a round: each operation with the time of its start and its end, each watch with its events.
//!
//! Times are nanoseconds since the start of the run, by the monotonic clock of this process. A history is stored as JSON
//! lines.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::Failure;

/// The entry of an object that names the write that made this version of it: the write's number.
pub(crate) const WRITER: &str = "writer";

/// The entries of an object that clients write: `data` of ConfigMaps, and what corresponds to it in other kinds.
pub(crate) type Entries = BTreeMap<String, String>;

/// The objects of a list, by name.
pub(crate) type Items = BTreeMap<String, Version>;

/// An object at a revision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Version {
    /// Its `resourceVersion`.
    pub(crate) revision: u64,
    /// The entries that clients wrote.
    pub(crate) entries: Entries,
    /// Values that the server assigned and that no other object may have: addresses and node ports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) assigned: Vec<String>,
}

/// A collection: a kind in a namespace.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Scope {
    /// Its name: `configmaps/NAMESPACE`.
    pub(crate) name: String,
    /// Maximum number of objects, by a quota.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) quota: Option<usize>,
    /// A revision at which it was empty.
    pub(crate) from: u64,
    /// The time after which the server deletes objects, in nanoseconds. Clients delete none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) time_to_live: Option<u64>,
    /// The writes that every server refuses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) refused: Vec<Refused>,
}

/// Writes that every server refuses: by an admission policy, or because the client's rights were revoked.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Refused {
    /// The entry that such writes set to their number.
    pub(crate) entry: String,
    /// The time from which on none may succeed: each server had refused one.
    pub(crate) since: u64,
}

/// A change that a client asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "verb")]
pub(crate) enum Action {
    /// Creates an object with these entries.
    Create { entries: Entries },
    /// Replaces the version that was read before, or also creates an object that does not exist, as for Services.
    Replace {
        expected: Version,
        entries: Entries,
        #[serde(default)]
        creates: bool,
    },
    /// Sets these entries of an object, and keeps the others.
    Patch { form: PatchForm, entries: Entries },
    /// Sets these entries by server-side apply, which creates an object that does not exist.
    Apply { entries: Entries },
    /// Deletes the object, or only a version that was read before.
    Delete { expected: Option<Version> },
}

/// The form of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum PatchForm {
    /// RFC 6902.
    Json,
    /// RFC 7386.
    Merge,
    /// Kubernetes' own.
    Strategic,
}

/// The answer to a write.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "outcome")]
pub(crate) enum Answer {
    /// It took effect; the version is the one that it made, unless it is a deletion.
    Done { version: Option<Version> },
    /// It took no effect, because of the object's state.
    Refused { refusal: Refusal },
    /// It took no effect, for another reason.
    Rejected { reason: String },
    /// It took effect or not, or does so later.
    Unknown { reason: String },
}

/// A reason that shows a state of the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Refusal {
    /// The object exists.
    AlreadyExists,
    /// The object has another version than the expected one.
    Conflict,
    /// The object does not exist.
    NotFound,
}

/// A write of a client.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Write {
    /// Its number, unique in the run.
    pub(crate) id: u64,
    pub(crate) client: usize,
    pub(crate) server: usize,
    pub(crate) scope: String,
    pub(crate) object: String,
    pub(crate) start: u64,
    pub(crate) end: u64,
    #[serde(flatten)]
    pub(crate) action: Action,
    #[serde(flatten)]
    pub(crate) answer: Answer,
}

/// A consistent read of an object.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Read {
    pub(crate) client: usize,
    pub(crate) server: usize,
    pub(crate) scope: String,
    pub(crate) object: String,
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// The version, or none if there is no such object.
    pub(crate) version: Option<Version>,
}

/// The state that a list asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "state")]
pub(crate) enum Asked {
    /// The newest one.
    Consistent,
    /// The newest one, in pages.
    Paged,
    /// Any, which servers answer from what they have.
    Any,
    /// The state at a revision.
    Exact { at: u64 },
    /// The state at a revision or a later one.
    NotOlderThan { at: u64 },
}

/// A list of a collection.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct List {
    pub(crate) client: usize,
    pub(crate) server: usize,
    pub(crate) scope: String,
    pub(crate) start: u64,
    /// The end of the first page: later pages show the same state.
    pub(crate) end: u64,
    pub(crate) asked: Asked,
    /// The `resourceVersion` of the list; that of all pages.
    pub(crate) revision: u64,
    pub(crate) items: Items,
}

/// An event of a watch.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Event {
    /// The time when it arrived.
    pub(crate) at: u64,
    pub(crate) change: Change,
    pub(crate) revision: u64,
    /// Nothing for bookmarks.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) object: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) entries: Entries,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) assigned: Vec<String>,
}

/// The type of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Change {
    Added,
    Modified,
    Deleted,
    Bookmark,
}

/// A watch, from its start to its end. A reflector has many, each of which continues where the one before ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Watch {
    pub(crate) reflector: usize,
    pub(crate) server: usize,
    pub(crate) scope: String,
    /// The revision after which it starts.
    pub(crate) from: u64,
    /// The number of events that follow, each in a line of its own.
    pub(crate) events: Vec<Event>,
    /// The reason of its end.
    pub(crate) ended: String,
}

/// A line of a history.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "line")]
enum Line {
    Scope(Scope),
    Write(Write),
    Read(Read),
    List(List),
    Watch(Watch),
    /// A fault, for readers.
    Fault(FaultRecord),
    /// The revision that each reflector had to reach.
    Goal(Goal),
    /// A broken promise that a client noticed by itself.
    Finding {
        text: String,
    },
}

/// A fault that was injected.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct FaultRecord {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) fault: String,
    pub(crate) target: String,
}

/// The revision of a scope at the end of a round. Each reflector of the scope has to reach it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Goal {
    pub(crate) scope: String,
    pub(crate) revision: u64,
    pub(crate) reflectors: Vec<usize>,
}

/// All that happened in a round.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    pub(crate) scopes: Vec<Scope>,
    pub(crate) writes: Vec<Write>,
    pub(crate) reads: Vec<Read>,
    pub(crate) lists: Vec<List>,
    /// In the order in which each reflector made them.
    pub(crate) watches: Vec<Watch>,
    pub(crate) faults: Vec<FaultRecord>,
    pub(crate) goals: Vec<Goal>,
    /// Broken promises that clients noticed by themselves.
    pub(crate) findings: Vec<String>,
}

// === impl Action ===

impl Action {
    /// Returns the entries that it writes.
    pub(crate) fn entries(&self) -> Option<&Entries> {
        match self {
            Self::Create { entries }
            | Self::Replace { entries, .. }
            | Self::Patch { entries, .. }
            | Self::Apply { entries } => Some(entries),
            Self::Delete { .. } => None,
        }
    }

    /// Returns the entries that it writes.
    pub(crate) fn entries_mut(&mut self) -> Option<&mut Entries> {
        match self {
            Self::Create { entries }
            | Self::Replace { entries, .. }
            | Self::Patch { entries, .. }
            | Self::Apply { entries } => Some(entries),
            Self::Delete { .. } => None,
        }
    }
}

// === impl Write ===

impl Write {
    /// Returns the revision of the version that it made, as far as it was answered.
    pub(crate) fn revision(&self) -> Option<u64> {
        match &self.answer {
            Answer::Done { version: Some(version) } => Some(version.revision),
            _ => None,
        }
    }

    /// Returns the version that it made, as far as it was answered.
    pub(crate) fn made(&self) -> Option<&Version> {
        match &self.answer {
            Answer::Done { version } => version.as_ref(),
            _ => None,
        }
    }

    /// Whether it may have taken effect.
    pub(crate) fn may_have_effect(&self) -> bool {
        matches!(self.answer, Answer::Done { .. } | Answer::Unknown { .. })
    }
}

// === impl History ===

impl History {
    /// Returns the number of operations that show something about the state.
    pub(crate) fn operations(&self) -> usize {
        let is_rejected = |write: &&Write| matches!(write.answer, Answer::Rejected { .. });
        let rejected = self.writes.iter().filter(is_rejected).count();
        self.writes.len() - rejected + self.reads.len() + self.lists.len()
    }

    /// Stores the history in a file.
    pub(crate) fn write(&self, path: &Path) -> Result<(), Failure> {
        let file = std::fs::File::create(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut file = BufWriter::new(file);
        let mut write = |line: Line| -> Result<(), Failure> {
            serde_json::to_writer(&mut file, &line)?;
            Ok(file.write_all(b"\n")?)
        };
        self.scopes.iter().try_for_each(|line| write(Line::Scope(line.clone())))?;
        self.writes.iter().try_for_each(|line| write(Line::Write(line.clone())))?;
        self.reads.iter().try_for_each(|line| write(Line::Read(line.clone())))?;
        self.lists.iter().try_for_each(|line| write(Line::List(line.clone())))?;
        self.watches.iter().try_for_each(|line| write(Line::Watch(line.clone())))?;
        self.faults.iter().try_for_each(|line| write(Line::Fault(line.clone())))?;
        self.goals.iter().try_for_each(|line| write(Line::Goal(line.clone())))?;
        self.findings.iter().try_for_each(|text| write(Line::Finding { text: text.clone() }))?;
        Ok(file.flush()?)
    }

    /// Reads a stored history.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let file = std::fs::File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut history = Self::default();
        for (number, line) in BufReader::new(file).lines().enumerate() {
            let line = serde_json::from_str(&line?)
                .map_err(|error| format!("{}:{}: {error}", path.display(), number + 1))?;
            match line {
                Line::Scope(scope) => history.scopes.push(scope),
                Line::Write(write) => history.writes.push(write),
                Line::Read(read) => history.reads.push(read),
                Line::List(list) => history.lists.push(list),
                Line::Watch(watch) => history.watches.push(watch),
                Line::Fault(fault) => history.faults.push(fault),
                Line::Goal(goal) => history.goals.push(goal),
                Line::Finding { text } => history.findings.push(text),
            }
        }
        Ok(history)
    }
}
