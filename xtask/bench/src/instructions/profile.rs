//! Callgrind's profiles: the number of instructions of each function.
//!
//! Format: <https://valgrind.org/docs/manual/cl-format.html>

use std::collections::HashMap;

use super::per_operation;
use crate::Failure;

/// Which instructions count for a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// Those of the function alone.
    Own,
    /// Those of the functions that it calls too.
    Inclusive,
}

/// The instructions of one operation.
#[derive(Clone, Debug, Default)]
pub(super) struct Profile {
    total: f64,
    /// By function, without those that it calls.
    own: HashMap<String, f64>,
    /// By function, with those that it calls. A function that calls itself has those calls twice.
    inclusive: HashMap<String, f64>,
}

// === impl Profile ===

impl Profile {
    /// Parses a profile of this number of operations.
    ///
    /// # Errors
    /// Says what the profile does not have.
    pub(super) fn parse(text: &str, operations: u32) -> Result<Self, Failure> {
        let mut names: HashMap<&str, &str> = HashMap::new();
        let mut own: HashMap<&str, u64> = HashMap::new();
        let mut inclusive: HashMap<&str, u64> = HashMap::new();
        let mut function = "";
        let mut is_call = false;
        for line in text.lines() {
            if let Some(named) = line.strip_prefix("fn=").or_else(|| line.strip_prefix("cfn=")) {
                // A name follows its number where the number occurs first.
                let (number, name) = named.split_once(' ').unwrap_or((named, ""));
                if !name.is_empty() {
                    names.insert(number, name);
                }
                if line.starts_with("fn=") {
                    function = number;
                }
            } else if line.starts_with("calls=") {
                is_call = true;
            } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
                // The line after a call has the instructions of what is called.
                let cost = line.split_whitespace().nth(1).and_then(|cost| cost.parse().ok()).unwrap_or(0);
                if !std::mem::take(&mut is_call) {
                    *own.entry(function).or_default() += cost;
                }
                *inclusive.entry(function).or_default() += cost;
            }
        }
        let total: u64 = own.values().sum();
        if total == 0 {
            return Err("it has no instructions".into());
        }
        let by_name = |by_number: HashMap<&str, u64>| {
            let mut by_name: HashMap<String, f64> = HashMap::new();
            for (number, instructions) in by_number {
                let name = names.get(number).copied().unwrap_or(number);
                *by_name.entry(name.to_owned()).or_default() += per_operation(instructions, operations);
            }
            by_name
        };
        let total = per_operation(total, operations);
        Ok(Self { total, own: by_name(own), inclusive: by_name(inclusive) })
    }

    /// Returns the number of instructions.
    pub(super) const fn total(&self) -> f64 {
        self.total
    }

    /// Returns the functions, and the number of instructions of each, without or with those of the functions that it calls.
    pub(super) fn functions(&self, scope: Scope) -> impl Iterator<Item = (&str, f64)> {
        let functions = match scope {
            Scope::Own => &self.own,
            Scope::Inclusive => &self.inclusive,
        };
        functions.iter().map(|(name, instructions)| (name.as_str(), *instructions))
    }

    /// Returns what this operation costs more than another one.
    pub(super) fn without(&self, other: &Self) -> Self {
        let subtract = |from: &HashMap<String, f64>, other: &HashMap<String, f64>| {
            let mut difference = from.clone();
            for (name, instructions) in other {
                *difference.entry(name.clone()).or_default() -= instructions;
            }
            difference
        };
        Self {
            total: self.total - other.total,
            own: subtract(&self.own, &other.own),
            inclusive: subtract(&self.inclusive, &other.inclusive),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "events: Ir\n\nfl=(1) a.rs\nfn=(1) main\n10 40\ncfn=(2) copy\ncalls=2 20\n11 60\n+1 20\n\nfn=(2)\n20 60\n\ntotals: 120\n";

    #[test]
    fn instructions_of_called_functions_count_once() {
        let profile = Profile::parse(TEXT, 2).unwrap();
        assert!((profile.total() - 60.0).abs() < f64::EPSILON);
        let functions = |scope| {
            let mut functions: Vec<_> = profile.functions(scope).collect();
            functions.sort_by(|left, right| left.0.cmp(right.0));
            functions
        };
        assert_eq!(functions(Scope::Own), [("copy", 30.0), ("main", 30.0)]);
        assert_eq!(functions(Scope::Inclusive), [("copy", 30.0), ("main", 60.0)]);
        assert!(profile.without(&profile).total().abs() < f64::EPSILON);
    }

    #[test]
    fn an_empty_profile_is_an_error() {
        assert!(Profile::parse("events: Ir\n", 1).is_err());
    }
}
