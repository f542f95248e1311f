//! Regular expressions of Go's syntax (RE2), which patterns of schemas and of the expression language have.
//!
//! The syntax of the `regex` crate is almost the same; what differs is translated. A [`Pattern`] is checked when it is
//! written, which takes time proportional to its length: repetitions are counted, not written out. It is compiled when it
//! is matched first.

use std::ops::Range;
use std::sync::OnceLock;

use regex::Regex;

use engine::Engine;
use registry_meta::budget::{Budget, Exhausted};
use syntax::Translated;

mod alphabet;
mod engine;
mod syntax;

pub use syntax::SyntaxError;

/// Maximum number of Unicode properties in a pattern that is matched. Each has some KiB of ranges.
const MAX_PROPERTIES: u64 = 2_000;
/// Number of ranges that a property is counted as.
const RANGES_PER_PROPERTY: u64 = 50;
/// Number of steps that compiling any pattern costs.
const STEPS_PER_PATTERN: u64 = 300;
/// Number of steps that a property costs when a pattern is compiled.
const STEPS_PER_PROPERTY: u64 = 6_000;
/// The same if the pattern ignores case, so that both cases are added to the ranges.
const STEPS_PER_FOLDED_PROPERTY: u64 = 20_000;
/// Number of steps that an instruction costs when a pattern is compiled.
const STEPS_PER_INSTRUCTION: u64 = 4;
/// The same if the pattern ignores case.
const STEPS_PER_FOLDED_INSTRUCTION: u64 = 12;
/// Number of steps that a range of a class costs.
const STEPS_PER_RANGE: u64 = 20;
/// Number of pairs of a class and a range that are compared in a step: every class is translated to the letters of all ranges.
const PAIRS_PER_STEP: u64 = 4;

/// A regular expression of Go's syntax.
#[derive(Debug)]
pub struct Pattern {
    text: Box<str>,
    /// It in the syntax of the `regex` crate.
    translated: Box<str>,
    /// The number of steps that compiling it takes.
    compile_steps: u64,
    /// The number of instructions, and of ranges of properties.
    size: u64,
    has_too_many_properties: bool,
    /// The compiled expression, or the reason for which it cannot be compiled. A schema has many expressions, of which few
    /// are ever matched, and a compiled one is large: it is behind a pointer.
    engine: OnceLock<Result<Box<Engine>, &'static str>>,
}

/// The reason for which a pattern was not matched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MatchError {
    /// The pattern is larger than this server compiles. Not retryable.
    #[error("error parsing regexp: {reason}: `{pattern}`")]
    TooLarge {
        /// The limit that it exceeds.
        reason: &'static str,
        /// The pattern.
        pattern: Box<str>,
    },
    /// The request may cause no further work.
    #[error(transparent)]
    Exhausted(#[from] Exhausted),
}

// === impl Pattern ===

impl Pattern {
    /// Checks a regular expression of Go's syntax, such as the `pattern` of a schema, in time proportional to its length.
    ///
    /// # Errors
    /// Fails if the expression is malformed, uses what Go does not have, or is too large for Go.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        let translated = syntax::translate(text)?;
        let properties = translated.classes.properties;
        Ok(Self {
            text: text.into(),
            size: translated.size.saturating_add(properties.saturating_mul(RANGES_PER_PROPERTY)),
            compile_steps: compile_steps(&translated),
            has_too_many_properties: properties > MAX_PROPERTIES,
            translated: translated.text.into(),
            engine: OnceLock::new(),
        })
    }

    /// Checks an expression as [`parse`](Self::parse) does, without keeping it.
    ///
    /// # Errors
    /// Fails as [`parse`](Self::parse) does.
    pub fn check(text: &str) -> Result<(), SyntaxError> {
        syntax::translate(text).map(drop)
    }

    /// Returns the size of the expression when it is compiled: the number of its characters with repetitions written out, and
    /// more for Unicode properties.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the expression as it is written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether the expression matches anywhere in a text. Takes time proportional to the length of the text.
    ///
    /// # Errors
    /// Fails if the expression is too large to be compiled, or if the budget is exhausted.
    pub fn is_match(&self, text: &str, budget: &Budget) -> Result<bool, MatchError> {
        self.engine(budget)?.is_match(text, budget)
    }

    /// Returns the places of at most `limit` matches that do not overlap, the leftmost first.
    ///
    /// # Errors
    /// Fails as [`is_match`](Self::is_match) does.
    pub fn find_all(
        &self,
        text: &str,
        limit: usize,
        budget: &Budget,
    ) -> Result<Vec<Range<usize>>, MatchError> {
        self.engine(budget)?.find_all(text, limit, budget)
    }

    fn engine(&self, budget: &Budget) -> Result<&Engine, MatchError> {
        let engine = if let Some(engine) = self.engine.get() {
            engine
        } else {
            budget.take_steps(self.compile_steps)?;
            self.engine.get_or_init(|| self.compile())
        };
        engine.as_deref().map_err(|reason| MatchError::TooLarge { reason, pattern: self.text.clone() })
    }

    fn compile(&self) -> Result<Box<Engine>, &'static str> {
        if self.has_too_many_properties {
            return Err("expression too large");
        }
        Engine::compile(&self.translated).map(Box::new)
    }
}

/// Compiles a regular expression of Go's syntax that is part of this program; `None` if it is malformed.
pub(super) fn compile(pattern: &str) -> Option<Regex> {
    let translated = syntax::translate(pattern).ok()?;
    Regex::new(&translated.text).ok()
}

/// Returns the number of steps that compiling an expression takes: what it is written out to, and what its classes contain.
fn compile_steps(translated: &Translated) -> u64 {
    let classes = &translated.classes;
    let (per_property, per_instruction, folded) = if translated.ignores_case {
        // The other case of every character of a class is looked up.
        (STEPS_PER_FOLDED_PROPERTY, STEPS_PER_FOLDED_INSTRUCTION, classes.characters)
    } else {
        (STEPS_PER_PROPERTY, STEPS_PER_INSTRUCTION, 0)
    };
    let ranges = classes.ranges.saturating_add(classes.properties.saturating_mul(RANGES_PER_PROPERTY));
    let pairs = ranges.saturating_mul(classes.number) / PAIRS_PER_STEP;
    [
        translated.size.saturating_mul(per_instruction),
        classes.properties.saturating_mul(per_property),
        classes.ranges.saturating_mul(STEPS_PER_RANGE),
        pairs,
        folded,
    ]
    .into_iter()
    .fold(STEPS_PER_PATTERN, u64::saturating_add)
}

#[cfg(test)]
mod tests;
