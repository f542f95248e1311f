//! The faults of paths, in Kubernetes' words.

use super::compare::CompareError;

/// A fault of a path, or of the values along it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Fault {
    #[error("the path nests too deeply")]
    TooDeep,
    #[error("unclosed action")]
    UnclosedAction,
    #[error("unrecognized character in action: {0}")]
    UnknownCharacter(String),
    #[error("invalid multiple recursive descent")]
    RepeatedDescent,
    #[error("cannot parse number {0}")]
    InvalidNumber(String),
    #[error("unterminated quoted string")]
    UnterminatedText,
    #[error("unquote string {0} error invalid syntax")]
    InvalidText(String),
    #[error("unterminated array")]
    UnterminatedArray,
    #[error("unterminated filter")]
    UnterminatedFilter,
    #[error("unclosed array expect ]")]
    UnclosedFilter,
    #[error("invalid array index {0}")]
    InvalidIndex(String),
    #[error("array index {0} is not a number")]
    IndexOutOfRange(String),
    #[error("not in range, nothing to end")]
    EndWithoutRange,
    #[error("range is not supported")]
    Range,
    #[error("unrecognized identifier {0}")]
    UnknownIdentifier(String),
    #[error("{0} is not array or slice")]
    NoList(&'static str),
    #[error("{0} is not array or slice and cannot be filtered")]
    NotFiltered(String),
    #[error("step must be > 0")]
    InvalidStep,
    #[error("array index out of bounds: index {index}, length {length}")]
    OutOfBounds { index: i64, length: usize },
    #[error("starting index {start} is greater than ending index {end}")]
    EndBeforeStart { start: i64, end: i64 },
    #[error("can only compare one element at a time")]
    SeveralCompared,
    #[error(transparent)]
    Comparison(#[from] CompareError),
    #[error("the path visits more than {0} values")]
    TooManyVisits(usize),
}
