//! Read-modify-write: writes only if the object has not changed in between, otherwise retries.

use std::borrow::Cow;
use std::sync::Arc;

use crate::Revision;
use crate::entry::StoredObject;
use crate::error::{PreconditionField, StorageError, Unreadable};
use crate::interface::{NewValue, TryUpdate, UpdateAction, UpdateOutcome, Updated, ValidateDeletion};
use crate::mvcc::Committed;
use registry_meta::Preconditions;

use super::state::{Seen, corrupt, entry};
use super::{VersionedStore, metadata, whole_seconds};

/// Maximum number of attempts of a write before it fails with a conflict. Each failed attempt means that another
/// write succeeded.
const MAX_ATTEMPTS: usize = 512;

/// The result of one attempt.
enum UpdateStep<T> {
    Done(T),
    /// The object changed in between, or may have; contains the current state.
    Again(Seen),
}

/// See [`Interface::guaranteed_update`](crate::Interface::guaranteed_update).
pub(super) async fn guaranteed_update(
    store: &VersionedStore,
    key: &str,
    preconditions: &Preconditions,
    update: &mut dyn TryUpdate,
    hint: Option<StoredObject>,
) -> Result<Updated, StorageError> {
    let mut seen = begin(store, key, hint).await?;
    for _ in 0..MAX_ATTEMPTS {
        if seen.object.is_none() && !update.accepts_absent() {
            return Err(not_found(key));
        }
        let step = match decide(key, preconditions, update, &seen).await {
            Err(refusal) => doubt(store, key, &seen, || Err(refusal)).await?,
            Ok(UpdateAction::Keep) => doubt(store, key, &seen, || unchanged(key, &seen)).await?,
            Ok(UpdateAction::Delete) => remove(store, key, &seen)
                .await?
                .map(|object| Updated { object, outcome: UpdateOutcome::Deleted }),
            Ok(UpdateAction::Write { value, ttl }) => {
                if seen.may_hold(store, &value) {
                    confirm_unchanged(store, key, seen, &value).await?
                } else {
                    write(store, key, &seen, value, ttl).await?
                }
            }
        };
        match step {
            UpdateStep::Done(updated) => return Ok(updated),
            UpdateStep::Again(newer) => seen = newer,
        }
    }
    Err(StorageError::Conflict)
}

/// See [`Interface::delete`](crate::Interface::delete).
pub(super) async fn delete(
    store: &VersionedStore,
    key: &str,
    preconditions: &Preconditions,
    validate: &mut dyn ValidateDeletion,
    hint: Option<StoredObject>,
) -> Result<StoredObject, StorageError> {
    let mut seen = begin(store, key, hint).await?;
    for _ in 0..MAX_ATTEMPTS {
        let Some(object) = &seen.object else { return Err(not_found(key)) };
        let allowed = match check(key, preconditions, Some(object)) {
            Ok(()) => validate.validate_deletion(object).await.map_err(StorageError::from),
            Err(refusal) => Err(refusal),
        };
        let step = match allowed {
            Err(refusal) => doubt(store, key, &seen, || Err(refusal)).await?,
            Ok(()) => remove(store, key, &seen).await?,
        };
        match step {
            UpdateStep::Done(removed) => return Ok(removed),
            UpdateStep::Again(newer) => seen = newer,
        }
    }
    Err(StorageError::Conflict)
}

async fn begin(store: &VersionedStore, key: &str, hint: Option<StoredObject>) -> Result<Seen, StorageError> {
    match hint {
        Some(object) => Ok(Seen::hinted(object)),
        None => store.read(key).await,
    }
}

/// See [`Interface::delete_corrupt`](crate::Interface::delete_corrupt).
pub(super) async fn delete_corrupt(store: &VersionedStore, key: &str) -> Result<Revision, StorageError> {
    let mut got = store.engine.get(key).await?;
    for _ in 0..MAX_ATTEMPTS {
        let Some(present) = &got.key_value else { return Err(not_found(key)) };
        let revision = present.mod_revision;
        match store.seen(key, got).await {
            Ok(_) => return Err(StorageError::NotCorrupt),
            Err(StorageError::Corrupt(object)) => {
                tracing::warn!(%object, "deleting a value that cannot be read");
            }
            Err(error) => return Err(error),
        }
        match store.engine.delete_if(key, revision).await? {
            Committed::At(revision) => return Ok(revision),
            Committed::ConditionFailed(present) => got = present,
        }
    }
    Err(StorageError::Conflict)
}

/// Calls the caller's update with the given state.
async fn decide(
    key: &str,
    preconditions: &Preconditions,
    update: &mut dyn TryUpdate,
    seen: &Seen,
) -> Result<UpdateAction, StorageError> {
    check(key, preconditions, seen.object.as_ref())?;
    Ok(update.try_update(seen.object.as_ref()).await?)
}

/// Returns `outcome` if it was computed from the current state; otherwise retries from the current state.
async fn doubt<T>(
    store: &VersionedStore,
    key: &str,
    seen: &Seen,
    outcome: impl FnOnce() -> Result<T, StorageError>,
) -> Result<UpdateStep<T>, StorageError> {
    if seen.is_current() {
        return outcome().map(UpdateStep::Done);
    }
    let present = store.read(key).await?;
    if present.revision() == seen.revision() {
        outcome().map(UpdateStep::Done)
    } else {
        Ok(UpdateStep::Again(present))
    }
}

fn unchanged(key: &str, seen: &Seen) -> Result<Updated, StorageError> {
    let object = seen.object.clone().ok_or_else(|| not_found(key))?;
    Ok(Updated { object, outcome: UpdateOutcome::Unchanged })
}

/// Equal bytes are not written, but a hint alone does not prove that they are equal.
async fn confirm_unchanged(
    store: &VersionedStore,
    key: &str,
    seen: Seen,
    value: &NewValue,
) -> Result<UpdateStep<Updated>, StorageError> {
    let present = if seen.is_current() { seen } else { store.read(key).await? };
    if present.holds(store, &value.bytes) {
        unchanged(key, &present).map(UpdateStep::Done)
    } else {
        Ok(UpdateStep::Again(present))
    }
}

async fn write(
    store: &VersionedStore,
    key: &str,
    seen: &Seen,
    value: NewValue,
    ttl: Option<std::time::Duration>,
) -> Result<UpdateStep<Updated>, StorageError> {
    let at_rest = store.at_rest(key, value.bytes.clone()).await?;
    store.recent_writes.note(&value);
    match store.engine.put_if(key, seen.revision(), at_rest, whole_seconds(ttl)).await? {
        Committed::At(revision) => {
            let key = seen.object.as_ref().map_or_else(|| key.into(), |object| object.key.clone());
            let object = entry(key, value.shown(), revision, value.attributes.clone())?;
            let outcome = if seen.object.is_some() { UpdateOutcome::Changed } else { UpdateOutcome::Created };
            Ok(UpdateStep::Done(Updated { object, outcome }))
        }
        Committed::ConditionFailed(got) => Ok(UpdateStep::Again(store.seen(key, got).await?)),
    }
}

async fn remove(
    store: &VersionedStore,
    key: &str,
    seen: &Seen,
) -> Result<UpdateStep<StoredObject>, StorageError> {
    let Some(object) = &seen.object else { return Err(not_found(key)) };
    match store.engine.delete_if(key, object.revision).await? {
        Committed::At(revision) => Seen::removed_at(object, revision).map(UpdateStep::Done),
        Committed::ConditionFailed(got) => Ok(UpdateStep::Again(store.seen(key, got).await?)),
    }
}

/// Checks the preconditions against a state; an absent object has neither uid nor resource version.
fn check(
    key: &str,
    preconditions: &Preconditions,
    object: Option<&StoredObject>,
) -> Result<(), StorageError> {
    if let Some(wanted) = &preconditions.uid {
        let found = match object {
            Some(object) => metadata::uid(object.json())
                .map_err(|error| corrupt(key, object.revision, Unreadable::Metadata(Arc::new(error))))?,
            None => Cow::Borrowed(""),
        };
        if *wanted != found {
            return Err(failed(PreconditionField::Uid, wanted, &found));
        }
    }
    if let Some(wanted) = &preconditions.resource_version {
        let found = object.map_or_else(String::new, |object| object.revision.to_string());
        if *wanted != found {
            return Err(failed(PreconditionField::ResourceVersion, wanted, &found));
        }
    }
    Ok(())
}

fn failed(field: PreconditionField, wanted: &str, found: &str) -> StorageError {
    StorageError::Precondition { field, wanted: wanted.to_owned(), found: found.to_owned() }
}

fn not_found(key: &str) -> StorageError {
    StorageError::NotFound { key: key.to_owned() }
}

// === impl UpdateStep ===

impl<T> UpdateStep<T> {
    fn map<U>(self, then: impl FnOnce(T) -> U) -> UpdateStep<U> {
        match self {
            Self::Done(value) => UpdateStep::Done(then(value)),
            Self::Again(seen) => UpdateStep::Again(seen),
        }
    }
}
