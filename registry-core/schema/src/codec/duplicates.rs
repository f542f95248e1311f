//! Paths of duplicate fields.
//!
//! A path is built from its end: the object with a duplicate field records the name, and every enclosing value prepends
//! its own element. So bodies without duplicates cost nothing.

use crate::FieldIssue;

/// Maximum number of reported duplicates, as in Kubernetes.
const MAX_PATHS: usize = 100;

/// Maximum total length of the reported paths, in bytes: hostile bodies repeat long, deeply nested names.
const MAX_TEXT_BYTES: usize = 256 * 1024;

/// The duplicates found so far, without repetitions. The first is always kept.
#[derive(Debug, Default)]
pub(super) struct Duplicates {
    paths: Vec<String>,
}

impl Duplicates {
    pub(super) fn len(&self) -> usize {
        self.paths.len()
    }

    /// Records a field of the current object, which started when there were `begin` paths.
    pub(super) fn note(&mut self, begin: usize, field: &str) {
        let known = self.paths.iter().skip(begin).any(|path| path == field);
        if !known && self.paths.len() < MAX_PATHS {
            self.paths.push(field.to_owned());
            self.shrink();
        }
    }

    /// Prepends a field to all paths recorded since there were `noted`.
    pub(super) fn below_field(&mut self, noted: usize, field: &str) {
        self.prefix(noted, |path| {
            let dot = if path.starts_with('[') { "" } else { "." };
            format!("{field}{dot}{path}")
        });
    }

    /// Prepends a list index to all paths recorded since there were `noted`.
    pub(super) fn below_index(&mut self, noted: usize, index: usize) {
        self.prefix(noted, |path| {
            let dot = if path.starts_with('[') { "" } else { "." };
            format!("[{index}]{dot}{path}")
        });
    }

    pub(super) fn into_issues(self) -> Vec<FieldIssue> {
        self.paths.into_iter().map(FieldIssue::Duplicate).collect()
    }

    fn prefix(&mut self, noted: usize, longer: impl Fn(&str) -> String) {
        if noted >= self.paths.len() {
            return;
        }
        for path in self.paths.iter_mut().skip(noted) {
            *path = longer(path);
        }
        self.shrink();
        // If the parent is duplicated too, the same path may have been recorded before.
        let mut at = noted;
        while let Some(path) = self.paths.get(at) {
            if self.paths.iter().take(at).any(|earlier| earlier == path) {
                self.paths.remove(at);
            } else {
                at += 1;
            }
        }
    }

    fn shrink(&mut self) {
        let mut total = 0;
        let fitting = self.paths.iter().take_while(|path| {
            total += path.len();
            total <= MAX_TEXT_BYTES
        });
        let keep = fitting.count().max(1);
        self.paths.truncate(keep);
    }
}
