//! Errors with a position in the source, printed as cel-go prints them.

use std::fmt;

/// Maximum number of errors that are printed for one expression.
const MAX_ERRORS_REPORTED: usize = 100;
/// Maximum length in bytes of a source line that is printed under an error.
const MAX_SNIPPET_BYTES: usize = 16_384;

/// A position in an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    /// The line, from 1; -1 when the error has no position.
    pub line: i32,
    /// The column in characters, from 0; -1 when the error has no position.
    pub column: i32,
}

/// One error in an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileError {
    /// The location of the error.
    pub location: Location,
    /// The description of the error, without the position.
    pub message: String,
}

/// All errors that were found in an expression, at least one.
///
/// The `Display` form is cel-go's: every error as `ERROR: <input>:LINE:COLUMN: message`, followed by the source line
/// and a caret line. Not retryable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileErrors {
    source: String,
    errors: Vec<CompileError>,
    truncated: usize,
}

impl std::error::Error for CompileErrors {}

// === impl Location ===

impl Location {
    /// The position of errors that concern the expression as a whole.
    pub const NONE: Self = Self { line: -1, column: -1 };

    /// Returns the position of a byte offset in a source text.
    pub(crate) fn from_offset(source: &str, offset: usize) -> Self {
        if source.is_empty() {
            // The end of an empty text is before its first column.
            return Self { line: 1, column: -1 };
        }
        let mut end = offset.min(source.len());
        while !source.is_char_boundary(end) {
            end -= 1;
        }
        let before = source.get(..end).unwrap_or(source);
        let line = before.bytes().filter(|byte| *byte == b'\n').count();
        let last_line = before.rsplit('\n').next().unwrap_or(before);
        Self { line: to_i32(line + 1), column: to_i32(last_line.chars().count()) }
    }
}

fn to_i32(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

// === impl CompileErrors ===

impl CompileErrors {
    /// Takes the errors of one source text, and sorts them by position.
    pub(crate) fn new(source: &str, mut errors: Vec<CompileError>) -> Self {
        errors.sort_by_key(|error| error.location);
        Self { source: source.to_owned(), errors, truncated: 0 }
    }

    /// Sets how many errors there were beyond those that are kept.
    pub(crate) fn with_truncated(self, truncated: usize) -> Self {
        Self { truncated, ..self }
    }

    /// Returns the errors by position.
    pub fn errors(&self) -> &[CompileError] {
        &self.errors
    }
}

impl fmt::Display for CompileErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.errors.iter().take(MAX_ERRORS_REPORTED).enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            error.write(&self.source, f)?;
        }
        match self.errors.len().saturating_sub(MAX_ERRORS_REPORTED) + self.truncated {
            0 => Ok(()),
            rest => write!(
                f,
                "
{rest} more errors were truncated"
            ),
        }
    }
}

// === impl CompileError ===

impl CompileError {
    fn write(&self, source: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Location { line, column } = self.location;
        write!(f, "ERROR: <input>:{line}:{}: {}", column + 1, self.message)?;
        let Some(snippet) = snippet(source, line) else {
            return Ok(());
        };
        let snippet = snippet.replace('\t', " ");
        write!(f, "\n | {snippet}\n | ")?;
        let mut rest = snippet.chars();
        for _ in 0..column {
            match rest.next() {
                None => break,
                Some(character) if character.len_utf8() > 1 => f.write_str("\u{ff0e}")?,
                Some(_) => f.write_str(".")?,
            }
        }
        match rest.next() {
            Some(character) if character.len_utf8() > 1 => f.write_str("\u{ff3e}"),
            _ => f.write_str("^"),
        }
    }
}

fn snippet(source: &str, line: i32) -> Option<&str> {
    if source.is_empty() {
        return None;
    }
    let index = usize::try_from(line).ok()?.checked_sub(1)?;
    source.split('\n').nth(index).filter(|text| text.len() <= MAX_SNIPPET_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_get_wide_dots_and_carets() {
        let source = "a\n 😁 && in.😁";
        let offset = source.rfind('😁').unwrap();
        let location = Location::from_offset(source, offset);
        let errors = CompileErrors::new(source, vec![CompileError { location, message: "no".to_owned() }]);
        assert_eq!(
            errors.to_string(),
            "ERROR: <input>:2:10: no\n |  😁 && in.😁\n | .\u{ff0e}.......\u{ff3e}"
        );
    }

    #[test]
    fn more_than_a_hundred_errors_are_cut() {
        let error = CompileError { location: Location::NONE, message: "x".to_owned() };
        let text = CompileErrors::new("", vec![error; 103]).to_string();
        assert!(text.starts_with("ERROR: <input>:-1:0: x\n"));
        assert!(text.ends_with("\n3 more errors were truncated"));
    }
}
