//! Paths of fields that came more than once.
//!
//! A path is written from its end: the object that saw a field twice notes the field's name, and every value
//! around it adds its own part in front as it is left. So a body without duplicates pays nothing.

/// Kubernetes tells at most so many.
const MAX_PATHS: usize = 100;

/// More text than this is no longer told: a hostile body repeats deep, long names.
const MAX_TEXT_BYTES: usize = 256 * 1024;

/// The duplicates found so far. The first is always kept; each path once.
#[derive(Debug, Default)]
pub(super) struct Duplicates {
    paths: Vec<String>,
}

impl Duplicates {
    pub(super) fn len(&self) -> usize {
        self.paths.len()
    }

    /// Notes a field of the object that is being read, which began when there were `begin` paths.
    pub(super) fn note(&mut self, begin: usize, field: &str) {
        let known = self.paths.iter().skip(begin).any(|path| path == field);
        if !known && self.paths.len() < MAX_PATHS {
            self.paths.push(field.to_owned());
            self.shrink();
        }
    }

    /// Puts everything noted since there were `noted` below a field.
    pub(super) fn below_field(&mut self, noted: usize, field: &str) {
        self.prefix(noted, |path| {
            let dot = if path.starts_with('[') { "" } else { "." };
            format!("{field}{dot}{path}")
        });
    }

    /// Puts everything noted since there were `noted` below an element of a list.
    pub(super) fn below_index(&mut self, noted: usize, index: usize) {
        self.prefix(noted, |path| {
            let dot = if path.starts_with('[') { "" } else { "." };
            format!("[{index}]{dot}{path}")
        });
    }

    pub(super) fn into_texts(self) -> Vec<String> {
        self.paths.iter().map(|path| format!("duplicate field {path:?}")).collect()
    }

    fn prefix(&mut self, noted: usize, longer: impl Fn(&str) -> String) {
        if noted >= self.paths.len() {
            return;
        }
        for path in self.paths.iter_mut().skip(noted) {
            *path = longer(path);
        }
        self.shrink();
        // A field that itself came twice may have told the same before.
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
