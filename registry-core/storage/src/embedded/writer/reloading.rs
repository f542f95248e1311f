//! Changes that others made in the backend of a store, as ordinary changes under new revisions.

use std::time::Instant;

use bytes::Bytes;
use serde_json::Value;

use super::super::MvccError;
use super::super::log::Content;
use super::super::state::SharedEngine;
use super::batch::Batch;
use super::{Action, Writer};

// === impl Writer ===

impl Writer {
    /// Returns the content of the backend if it is time to load it again. Writes are refused if it cannot be loaded.
    pub(super) fn reload_if_due(&mut self) -> Option<Content> {
        let is_due = self.next_reload.is_some_and(|reload| reload <= Instant::now());
        if !is_due || self.next_probe.is_some() {
            return None;
        }
        self.next_reload = self.shared.log.reload_interval().map(|interval| Instant::now() + interval);
        match self.shared.log.reload() {
            Ok(content) => content,
            Err(error) => {
                tracing::error!(%error, "the backend cannot be read: writes are refused until it can");
                self.refuse_writes(&error);
                None
            }
        }
    }
}

// === impl Batch ===

impl Batch {
    /// Changes every key that differs from the content: removes those that it does not have, and writes the others. An object with
    /// another uid is deleted before it is created.
    pub(super) fn adopt(&mut self, shared: &SharedEngine, content: Content) -> Result<(), MvccError> {
        for (key, _) in self.present_keys(shared)? {
            if !content.contains_key(&key) {
                let present = self.present(shared, &key)?;
                self.change(present, key, Action::Delete);
            }
        }
        let mut content: Vec<_> = content.into_iter().collect();
        content.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
        for (key, value) in content {
            let mut present = self.present(shared, &key)?;
            if let Some(other) = &present {
                if other.value == value {
                    continue;
                }
                if uid(&other.value) != uid(&value) {
                    self.change(present, key.clone(), Action::Delete);
                    present = None;
                }
            }
            self.change(present, key, Action::Put { value, expires_at_seconds: 0 });
        }
        Ok(())
    }
}

/// Returns the uid of an object; `None` if it has none.
fn uid(object: &Bytes) -> Option<String> {
    let object: Value = serde_json::from_slice(object).ok()?;
    object.pointer("/metadata/uid")?.as_str().map(str::to_owned)
}
