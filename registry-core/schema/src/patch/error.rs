//! The reasons for which a patch fails. The texts are those of Kubernetes and its libraries, which clients see.

use std::fmt;

use registry_meta::budget::Exhausted;

/// Error of a patch. Not retryable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// The patch is malformed: 400.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// The patch is well-formed but does not apply to this value (a missing path): 422.
    #[error(transparent)]
    Inapplicable(#[from] Inapplicable),
    /// A `test` of the patch fails: 422.
    #[error("testing value {path} failed: test failed")]
    TestFailed {
        /// The path of the value.
        path: String,
    },
    /// A strategic merge patch is inconsistent with itself or with the lists that it changes. Kubernetes returns a 500
    /// without a reason, with this text.
    #[error(transparent)]
    Contradictory(#[from] Contradiction),
    /// The patch has more operations, or enlarges the value more, than allowed: 413.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
}

/// The part of a patch that is not what it has to be. JSON types are named as Go's decoder names them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum Malformed {
    #[error("error decoding patch: json: cannot unmarshal {0} into Go value of type []handlers.jsonPatchOp")]
    Operations(&'static str),
    #[error("error decoding patch: json: cannot unmarshal {0} into Go value of type handlers.jsonPatchOp")]
    Operation(&'static str),
    #[error(
        "error decoding patch: json: cannot unmarshal {found} into Go struct field jsonPatchOp.{member} of type string"
    )]
    Member { member: &'static str, found: &'static str },
    #[error("json: cannot unmarshal {0} into Go value of type map[string]interface {{}}")]
    Object(&'static str),
    #[error("invalid patch format of retainKeys")]
    RetainKeys,
    #[error("invalid patch format of setElementOrder list")]
    ElementOrder,
    #[error("invalid patch format of primitive list")]
    DeletedScalars,
}

/// The reason for which a well-formed patch does not apply to a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Inapplicable {
    /// The operation has another name than those of the RFC.
    #[error("Unexpected kind: {0}")]
    UnknownOperation(String),
    /// An operation lacks a path.
    #[error("{operation} operation failed to decode {member}: missing value")]
    NoMember {
        /// The operation.
        operation: Operation,
        /// `path` or `from`.
        member: &'static str,
    },
    /// The value has nothing at a path of an operation.
    #[error("{operation} operation does not apply: {place}{path}{}: missing value", place.end())]
    Absent {
        /// The operation.
        operation: Operation,
        /// The library's name of the path.
        place: Place,
        /// The path.
        path: String,
    },
    /// An object does not have the key that is removed.
    #[error(
        "error in {operation} for path: '{path}': Unable to remove nonexistent key: {key}: missing value"
    )]
    NoKey {
        /// The operation.
        operation: Operation,
        /// The path, or the key in a move.
        path: String,
        /// The key.
        key: String,
    },
    /// A path has no index of an element where it needs one.
    #[error("error in {operation} for {member}: '{path}': {source}")]
    NoElement {
        /// The operation.
        operation: Operation,
        /// `path` or `from`.
        member: &'static str,
        /// The path, or the index in a move.
        path: String,
        /// The error of the index.
        source: IndexError,
    },
    /// A path has no index at which an element can be inserted.
    #[error("error in {operation} for path: '{path}': {}{source}", source.hint())]
    NoPlace {
        /// The operation.
        operation: Operation,
        /// The path.
        path: String,
        /// The error of the index.
        source: IndexError,
    },
    /// A scalar replaces the whole value. The library formats an error that is nil.
    #[error("replace operation value must be object or array: %!w(<nil>)")]
    ScalarDocument,
    /// Lists of lists cannot be merged.
    #[error("lists of lists are not supported")]
    NestedLists,
}

/// An operation of a JSON patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants are those of RFC 6902")]
pub enum Operation {
    Add,
    Remove,
    Replace,
    Move,
    Copy,
    Test,
}

/// The library's name of a path that a value does not have, with what surrounds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the texts describe the variants")]
pub enum Place {
    /// The path of an addition or a removal, which the library puts in quotes.
    Quoted,
    Path,
    /// The path of a test.
    Tested,
    Key,
    From,
    Destination,
}

/// Error of an index of a list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// The text is not a number.
    #[error("strconv.Atoi: parsing {0:?}: invalid syntax")]
    Malformed(String),
    /// The list is shorter.
    #[error("Unable to access invalid index: {0}: invalid index referenced")]
    OutOfRange(i64),
}

/// A contradiction of a strategic merge patch. Values are printed as Go prints them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum Contradiction {
    #[error("cannot merge lists without merge key for type struct")]
    NoMergeKey,
    #[error("map: {element} does not contain declared merge key: {key}")]
    ElementWithoutKey { element: String, key: String },
    #[error("The order in patch list:\n{patch}\n doesn't match $setElementOrder list:\n{order}\n")]
    Order { patch: String, order: String },
    #[error("merging lists cannot yet be specified in the patch")]
    MergeDirective,
    #[error("unknown patch type: {directive} in map: {map}")]
    UnknownDirective { directive: String, map: String },
    #[error("no elements in any of the given slices")]
    NoElements,
    #[error("list element types are not identical: [{present} {patch}]")]
    ElementTypes { present: String, patch: String },
    #[error("expected a []interface {{}}, but received a {0}")]
    NoList(&'static str),
    #[error("expected a map[string]interface {{}}, but received a {0}")]
    NoMap(&'static str),
}

/// The limit that a patch exceeds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooLarge {
    /// The number of operations.
    #[error("The allowed maximum operations in a JSON patch is {most}, got {count}")]
    Operations {
        /// The number.
        count: usize,
        /// The greatest one.
        most: usize,
    },
    /// The bytes that copies add: more than these.
    #[error("the copies of a JSON patch may add {0} bytes at most")]
    Copies(usize),
    /// The nesting of the value at a path.
    #[error("{path} would nest more than {most} levels")]
    Depth {
        /// The path.
        path: String,
        /// The greatest number of levels.
        most: usize,
    },
    /// The elements and nodes that are moved or visited.
    #[error("the JSON patch takes too many steps")]
    Steps,
    /// The budget of the request.
    #[error(transparent)]
    Budget(#[from] Exhausted),
}

impl From<Exhausted> for PatchError {
    fn from(exhausted: Exhausted) -> Self {
        Self::TooLarge(exhausted.into())
    }
}

// === impl Operation ===

impl Operation {
    /// Returns the operation of a name; `None` if there is no such operation.
    pub(super) fn named(name: &str) -> Option<Self> {
        let all = [Self::Add, Self::Remove, Self::Replace, Self::Move, Self::Copy, Self::Test];
        all.into_iter().find(|operation| operation.name() == name)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Remove => "remove",
            Self::Replace => "replace",
            Self::Move => "move",
            Self::Copy => "copy",
            Self::Test => "test",
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

// === impl Place ===

impl Place {
    /// Returns what follows the path.
    const fn end(self) -> &'static str {
        if matches!(self, Self::Quoted) { "\"" } else { "" }
    }
}

/// Formats what precedes the path.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Quoted => "doc is missing path: \"",
            Self::Path => "doc is missing path: ",
            Self::Tested => "is missing path: ",
            Self::Key => "doc is missing key: ",
            Self::From => "doc is missing from path: ",
            Self::Destination => "doc is missing destination path: ",
        })
    }
}

// === impl IndexError ===

impl IndexError {
    /// Returns what precedes the error of an index at which an element is inserted.
    fn hint(&self) -> String {
        match self {
            Self::Malformed(index) => format!("value was not a proper array index: '{index}': "),
            Self::OutOfRange(_) => String::new(),
        }
    }
}
