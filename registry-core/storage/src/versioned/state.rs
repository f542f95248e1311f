//! Converts a value at rest into an entry: transforms it, checks it and inserts its revision.

use std::sync::Arc;

use bytes::Bytes;

use crate::Revision;
use crate::entry::{Attributes, CanonicalForm, Entry, InvalidValue, StoredObject};
use crate::error::{CorruptObject, StorageError, Unreadable};
use crate::interface::NewValue;
use crate::mvcc::{Got, KeyValue};
use crate::transform::Plain;
use registry_schema::codec::stored::with_resource_version;

use super::{VersionedStore, metadata};

/// The assumed state of a key.
pub(super) struct Seen {
    /// The object; `None`: the key is absent.
    pub(super) object: Option<StoredObject>,
    /// The value as read, before it is brought into its canonical form; `None` for a hint, whose value at rest has not
    /// been read.
    stored: Option<Plain>,
}

// === impl Seen ===

impl Seen {
    /// Creates a state from a caller's hint.
    pub(super) fn hinted(object: StoredObject) -> Self {
        Self { object: Some(object), stored: None }
    }

    /// Whether this was read from the engine. A hint may be stale.
    pub(super) fn is_current(&self) -> bool {
        self.object.is_none() || self.stored.is_some()
    }

    /// Returns the object's revision; 0 if the key is absent.
    pub(super) fn revision(&self) -> Revision {
        self.object.as_ref().map_or(0, |object| object.revision)
    }

    /// Whether exactly this value is at rest, in the form in which it would be written today.
    pub(super) fn holds(&self, store: &VersionedStore, value: &Bytes) -> bool {
        let Some(stored) = self.stored.as_ref().filter(|stored| !stored.stale) else { return false };
        match store.attributes.at_rest(value) {
            Ok(None) => stored.value == *value,
            Ok(Some(written)) => stored.value == written,
            Err(_) => false,
        }
    }

    /// Whether writing these bytes may change nothing, according to [`holds`](Self::holds) or to a hint.
    pub(super) fn may_hold(&self, store: &VersionedStore, value: &NewValue) -> bool {
        if self.is_current() {
            return self.holds(store, &value.bytes);
        }
        self.object.as_ref().is_some_and(|object| {
            with_resource_version(value.shown(), object.revision).is_ok_and(|(line, _)| line == object.line())
        })
    }

    /// Returns the object's last state, with the revision that removed it.
    pub(super) fn removed_at(
        object: &StoredObject,
        revision: Revision,
    ) -> Result<StoredObject, StorageError> {
        let line = metadata::replace_resource_version(object.line(), revision)
            .map_err(|error| corrupt(&object.key, revision, Unreadable::Metadata(Arc::new(error))))?;
        Ok(Arc::new(object.at_revision(revision, line)))
    }
}

// === impl VersionedStore ===

impl VersionedStore {
    /// Converts the engine's result for one key.
    pub(super) async fn seen(&self, key: &str, got: Got) -> Result<Seen, StorageError> {
        let Some(KeyValue { value, mod_revision, .. }) = got.key_value else {
            return Ok(Seen { object: None, stored: None });
        };
        let stored = self.decrypted(key, value, mod_revision).await?;
        let shown = self.canonical(key, &stored.value, mod_revision).await?;
        let object = entry(key.into(), &shown, mod_revision, Attributes::default())?;
        Ok(Seen { object: Some(object), stored: Some(stored) })
    }

    /// Converts a value at rest into its canonical form: decrypted, and as the stored version's JSON even if kube-apiserver
    /// wrote it as protobuf or in another version, and with the current schema's fields.
    pub(super) async fn plain(
        &self,
        key: &str,
        stored: Bytes,
        revision: Revision,
    ) -> Result<Bytes, StorageError> {
        let stored = self.decrypted(key, stored, revision).await?;
        self.canonical(key, &stored.value, revision).await
    }

    async fn decrypted(&self, key: &str, stored: Bytes, revision: Revision) -> Result<Plain, StorageError> {
        let plain = self.transformer.from_storage(stored, key).await;
        plain.map_err(|error| corrupt(key, revision, Unreadable::Encrypted(error)))
    }

    /// Returns the canonical form of a decrypted value. A write that would store another form than the value is not
    /// skipped, even if nothing else changes.
    async fn canonical(&self, key: &str, value: &Bytes, revision: Revision) -> Result<Bytes, StorageError> {
        let unreadable = |error: InvalidValue| corrupt(key, revision, Unreadable::Invalid(Arc::new(error)));
        match self.attributes.canonical(value).map_err(unreadable)? {
            CanonicalForm::Same => Ok(value.clone()),
            CanonicalForm::Other(other) => Ok(other),
            CanonicalForm::Awaited(converting) => converting.await.map_err(unreadable),
        }
    }

    /// Converts a plain value into the form at rest.
    pub(super) async fn at_rest(&self, key: &str, plain: Bytes) -> Result<Bytes, StorageError> {
        let written = self.attributes.at_rest(&plain);
        let written = written.map_err(|error| corrupt(key, 0, Unreadable::Conversion(Arc::new(error))))?;
        let plain = written.unwrap_or(plain);
        let stored = self.transformer.to_storage(plain, key).await;
        stored.map_err(|reason| StorageError::NotEncrypted { key: key.to_owned(), reason })
    }

    /// Creates an entry with its attributes extracted. What this process has just written is known.
    pub(super) async fn entry_with_attributes(
        &self,
        key: Arc<str>,
        stored: Bytes,
        revision: Revision,
    ) -> Result<StoredObject, StorageError> {
        let stored = self.decrypted(&key, stored, revision).await?;
        if let Some(written) = self.recent_writes.take(&stored.value) {
            return entry(key, written.shown(), revision, written.attributes.clone());
        }
        let shown = self.canonical(&key, &stored.value, revision).await?;
        let attributes = self.attributes.attributes_of(&shown);
        let attributes =
            attributes.map_err(|error| corrupt(&key, revision, Unreadable::Invalid(Arc::new(error))))?;
        entry(key, &shown, revision, attributes)
    }
}

/// Creates the entry for a plain value.
pub(super) fn entry(
    key: Arc<str>,
    value: &Bytes,
    revision: Revision,
    attributes: Attributes,
) -> Result<StoredObject, StorageError> {
    let (line, item_offset) = with_resource_version(value, revision)
        .map_err(|error| corrupt(&key, revision, Unreadable::Metadata(Arc::new(error))))?;
    Ok(Arc::new(Entry::new(key, revision, line, item_offset, attributes)))
}

/// Creates the error for an unreadable value.
pub(super) fn corrupt(key: &str, revision: Revision, reason: Unreadable) -> StorageError {
    StorageError::Corrupt(CorruptObject { key: key.to_owned(), revision, reason })
}
