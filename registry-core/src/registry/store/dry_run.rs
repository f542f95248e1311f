//! Dry runs: every stage runs against the current state, but nothing is stored.
//!
//! Kubernetes concept: `registry.DryRunnableStorage`.

use crate::api::{Object, Preconditions};
use crate::storage::{PreconditionField, StorageError, StoredObject};

use super::Store;

impl Store {
    /// Returns the object as its creation would return it, except for the resource version, which stays as it was sent.
    pub(super) async fn dry_run_create(&self, key: &str, object: Object) -> Result<Object, StorageError> {
        if self.storage.get(key, None).await?.is_some() {
            return Err(StorageError::Exists { key: key.to_owned() });
        }
        Ok(object)
    }

    /// Returns the current state if it fulfils the preconditions.
    pub(super) async fn dry_run_current(
        &self,
        key: &str,
        preconditions: &Preconditions,
        accepts_absent: bool,
    ) -> Result<Option<StoredObject>, StorageError> {
        let current = self.storage.get(key, None).await?;
        if current.is_none() && !accepts_absent {
            return Err(StorageError::NotFound { key: key.to_owned() });
        }
        if preconditions.is_empty() {
            return Ok(current);
        }
        let object = current.as_ref().map(|entry| self.read(entry)).transpose()?;
        let (uid, revision) =
            object.as_ref().map_or(("", ""), |object| (object.uid(), object.resource_version()));
        check(preconditions.uid.as_deref(), PreconditionField::Uid, uid)?;
        check(preconditions.resource_version.as_deref(), PreconditionField::ResourceVersion, revision)?;
        Ok(current)
    }
}

fn check(wanted: Option<&str>, field: PreconditionField, found: &str) -> Result<(), StorageError> {
    match wanted {
        Some(wanted) if wanted != found => {
            Err(StorageError::Precondition { field, wanted: wanted.to_owned(), found: found.to_owned() })
        }
        _ => Ok(()),
    }
}
