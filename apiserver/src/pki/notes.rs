//! Notes for operators on the files of keys and certificates.

use std::path::Path;

/// Notes on the files of keys and certificates, for operators.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    warnings: Vec<String>,
    /// The names of the files that were made.
    made: Vec<String>,
}

// === impl Notes ===

impl Notes {
    /// Adds a warning.
    pub(super) fn warn(&mut self, text: String) {
        self.warnings.push(text);
    }

    /// Notes that a certificate was made.
    pub(super) fn made(&mut self, name: &str) {
        self.made.push(name.to_owned());
    }

    /// Returns the warnings.
    pub(crate) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Logs which certificates were made, in one line.
    pub(super) fn log_made(&self, directory: &Path) {
        if !self.made.is_empty() {
            tracing::info!(directory = %directory.display(), "made certificates: {}", self.made.join(", "));
        }
    }
}
