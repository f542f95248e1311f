//! Lists of errors of limited size.

use registry_meta::{ErrorList, FieldError};

/// Maximum total length of the errors of a value, in bytes: hostile objects have many below long keys.
const MAX_BYTES: usize = 1 << 20;

/// Adds errors to a list until they become too long. The first is always added.
pub(super) struct Limited<'a> {
    errors: &'a mut ErrorList,
    bytes_left: usize,
}

// === impl Limited ===

impl<'a> Limited<'a> {
    pub(super) fn new(errors: &'a mut ErrorList) -> Self {
        Self { errors, bytes_left: MAX_BYTES }
    }

    /// Whether further errors are not added.
    pub(super) fn is_full(&self) -> bool {
        self.bytes_left == 0
    }

    pub(super) fn push(&mut self, error: FieldError) {
        let length = error.to_string().len();
        self.push_of_length(error, length);
    }

    /// Like [`push`](Self::push), if the length of the error's text is known.
    pub(super) fn push_of_length(&mut self, error: FieldError, length: usize) {
        if !self.is_full() {
            self.errors.push(error);
            self.count(length);
        }
    }

    /// Counts an error that is not added, because it took as long to format.
    pub(super) fn count(&mut self, length: usize) {
        self.bytes_left = self.bytes_left.saturating_sub(length);
    }
}
