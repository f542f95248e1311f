//! Checks the regular expressions of a schema within a limit of work.
//!
//! `.{1000}` is compiled to thousands of states. What an expression will cost is estimated before it is compiled, and a
//! definition whose expressions cost too much together is rejected.

use std::collections::HashMap;

use registry_core::schema::compile_pattern;

use super::super::findings::{Findings, Place};

/// Maximum estimated size of all expressions together, in characters after repetition.
const MAX_SIZE: u64 = 250_000;

/// The size of a class such as `\p{L}`, which has hundreds of ranges.
const CLASS_SIZE: u64 = 100;

/// The size of any character, whose encoding has several forms.
const ANY_SIZE: u64 = 4;

/// The expressions that were checked.
pub(super) struct Patterns<'a> {
    /// Why an expression is wrong; `None` if it is right.
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
    pub(super) fn check(&mut self, pattern: &'a str, place: &Place, findings: &mut Findings) {
        if !self.known.contains_key(pattern) {
            let fault = self.compile(pattern);
            self.known.insert(pattern, fault);
        }
        if let Some(Some(reason)) = self.known.get(pattern) {
            let detail = format!("must be a valid regular expression, but isn't: {reason}");
            findings.invalid(place, pattern, detail);
        }
    }

    fn compile(&mut self, pattern: &str) -> Option<String> {
        match self.size_left.checked_sub(size(pattern)) {
            None => Some("error parsing regexp: expression too large".to_owned()),
            Some(left) => {
                self.size_left = left;
                compile_pattern(pattern).err()
            }
        }
    }
}

/// Estimates the size of an expression with its repetitions written out.
fn size(pattern: &str) -> u64 {
    // The sizes of the groups that are open, and of the last character or group in the innermost one.
    let mut open: Vec<u64> = Vec::new();
    let mut group: u64 = 0;
    let mut last: u64 = 0;
    let mut rest = pattern.chars();
    while let Some(letter) = rest.next() {
        match letter {
            '(' => {
                open.push(group);
                group = 0;
                last = 0;
            }
            ')' => {
                last = group;
                group = group.saturating_add(open.pop().unwrap_or_default());
            }
            '{' => {
                if let Some((times, after)) = repetitions(rest.as_str()) {
                    group = group.saturating_add(last.saturating_mul(times.saturating_sub(1)));
                    rest = after.chars();
                }
            }
            '\\' => {
                last = 1;
                if matches!(rest.next(), Some('p' | 'P')) {
                    last = CLASS_SIZE;
                    // What follows in braces is a name.
                    let text = rest.as_str();
                    let name = text.starts_with('{').then(|| text.split_once('}')).flatten();
                    rest = name.map_or(text, |(_, after)| after).chars();
                }
                group = group.saturating_add(last);
            }
            '.' => {
                last = ANY_SIZE;
                group = group.saturating_add(last);
            }
            _ => {
                last = 1;
                group = group.saturating_add(1);
            }
        }
    }
    open.into_iter().fold(group, u64::saturating_add)
}

/// Returns the larger number of `n}`, `n,}` or `n,m}`, and the text after it.
fn repetitions(text: &str) -> Option<(u64, &str)> {
    let (bounds, after) = text.split_once('}').filter(|(bounds, _)| bounds.len() <= 16)?;
    let (least, most) = bounds.split_once(',').unwrap_or((bounds, bounds));
    let least: u64 = least.parse().ok()?;
    Some((most.parse().unwrap_or(least).max(least), after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_are_written_out() {
        for (pattern, expected) in
            [("", 0), ("abc", 3), ("a{3}", 3), ("a{2,5}b", 6), ("(ab){10}", 20), ("((a{10}){10}){10}", 1_000)]
        {
            assert_eq!(size(pattern), expected, "{pattern}");
        }
        assert!(size(r"\p{L}{1000}") >= 100_000);
        assert!(size(&"(a{1000}".repeat(1000)) < u64::MAX);
    }

    #[test]
    fn very_many_large_expressions_are_rejected_soon() {
        let texts: Vec<String> = (0..2_000).map(|number| format!("x{number}.{{999}}")).collect();
        let mut patterns = Patterns::new();
        let mut findings = Findings::new();
        for text in &texts {
            patterns.check(text, &Place::new("pattern"), &mut findings);
        }
        assert!(findings.len() > 1_000);
        assert!(patterns.size_left < MAX_SIZE);
    }
}
