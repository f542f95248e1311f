//! Checks the regular expressions of a schema within a limit of work.
//!
//! An expression is checked in time proportional to its length. It is compiled when a value is validated first, and kept as
//! long as the definition: `.{1000}` has a thousand states. A definition whose expressions are too large together, in a
//! version or in all of them, is therefore rejected.

use std::collections::HashMap;

use registry_core::schema::go_regexp::Pattern;

use super::super::findings::{Findings, Place};

/// Maximum estimated size of all expressions of a schema, in characters after repetition.
const MAX_SIZE: u64 = 250_000;

/// The size of an expression without characters.
const BASE_SIZE: u64 = 25;

/// The expressions that were checked.
pub(super) struct Patterns<'a> {
    /// The error of each expression; `None` if the expression is right.
    known: HashMap<&'a str, Option<String>>,
    size_left: u64,
}

// === impl Patterns ===

impl<'a> Patterns<'a> {
    /// Creates an empty record.
    pub(super) fn new() -> Self {
        Self { known: HashMap::new(), size_left: MAX_SIZE }
    }

    /// Checks an expression.
    pub(super) fn check(&mut self, pattern: &'a str, place: &Place, findings: &mut Findings<'_>) {
        if !self.known.contains_key(pattern) {
            let fault = self.compile(pattern, findings);
            self.known.insert(pattern, fault);
        }
        if let Some(Some(reason)) = self.known.get(pattern) {
            let detail = format!("must be a valid regular expression, but isn't: {reason}");
            findings.invalid(place, pattern, detail);
        }
    }

    fn compile(&mut self, pattern: &str, findings: &mut Findings<'_>) -> Option<String> {
        let parsed = match Pattern::parse(pattern) {
            Ok(parsed) => parsed,
            Err(error) => return Some(error.to_string()),
        };
        let size = parsed.size().saturating_add(BASE_SIZE);
        match self.size_left.checked_sub(size) {
            Some(left) if findings.take_pattern_size(size) => {
                self.size_left = left;
                None
            }
            _ => Some("error parsing regexp: expression too large".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use registry_core::context::Budget;

    use super::*;

    #[test]
    fn very_many_large_expressions_are_rejected_soon() {
        let texts: Vec<String> = (0..2_000).map(|number| format!("x{number}.{{999}}")).collect();
        let mut patterns = Patterns::new();
        let budget = Budget::default();
        let mut findings = Findings::new(&budget);
        for text in &texts {
            patterns.check(text, &Place::new("pattern"), &mut findings);
        }
        assert!(findings.len() > 1_000);
        assert!(patterns.size_left < MAX_SIZE);
    }
}
