//! Tracking which fields a create, update or patch changes.

use std::borrow::Cow;

use serde_json::Value;

use crate::api::Object;
use crate::resource::Versions;

use super::conversions::Unconverted;
use super::managers::{Entry, ManagedFieldsOperation, Managers, asks_for_reset};
use super::{FieldManager, MANAGED_FIELDS};

// === impl FieldManager ===

impl FieldManager<'_> {
    /// Records in `managedFields` of the new object, with the time `now`, that `manager` changed the fields that differ
    /// from the live object (`None` if the object is created). `managedFields` in the new object is treated as the
    /// client's request: entries replace the stored ones, an empty list (preserved by `keep_reset`) resets them.
    ///
    /// An object whose managers are reset has none until it is applied.
    ///
    /// # Errors
    /// Fails if a conversion or a schema has to be made first. The new object is unchanged then.
    pub fn track_update(
        &self,
        live: Option<&Object>,
        new: &mut Object,
        manager: &str,
        now: &str,
    ) -> Result<(), Unconverted> {
        for object in live.into_iter().chain([&*new]) {
            self.check_prepared(object)?;
        }
        let claimed = new.remove(MANAGED_FIELDS);
        let is_remote = self.versions.is_some_and(Versions::are_converted_remotely);
        let sent = claimed.as_ref().filter(|_| is_remote).cloned();
        let live = live.unwrap_or(self.blank);
        let mut managers = self.managers_before(live, claimed);
        if managers.is_empty() && !live.uid().is_empty() {
            return Ok(());
        }
        self.reconcile(&mut managers);
        managers = match self.updated(live, new, managers, manager, now) {
            Ok(managers) => managers,
            Err(missing) => {
                if let Some(sent) = sent {
                    new.set(MANAGED_FIELDS, sent);
                }
                return Err(missing);
            }
        };
        managers.cap();
        if let Some(written) = managers.write() {
            new.metadata_mut().insert("managedFields".to_owned(), written);
        }
        Ok(())
    }

    fn managers_before<'m>(&self, live: &'m Object, claimed: Option<Value>) -> Managers<'m> {
        let stored = live.get(MANAGED_FIELDS);
        let managers = match claimed {
            // Most clients send `managedFields` back unchanged; this copy is not shared, so it is modified in place.
            Some(same) if Some(&same) == stored => Managers::stored(Some(Cow::Owned(same))),
            // A subresource does not change the managers of the main resource.
            Some(claimed) if self.subresource.is_empty() => {
                if asks_for_reset(&claimed) {
                    return Managers::default();
                }
                Managers::claimed(claimed)
            }
            _ => Ok(Managers::default()),
        };
        match managers {
            Ok(managers) if !managers.is_empty() => managers,
            _ => Managers::stored(stored.map(Cow::Borrowed)).unwrap_or_default(),
        }
    }

    /// Returns the managers after `manager` changed `live` to `new`.
    pub(super) fn updated<'m>(
        &'m self,
        live: &'m Object,
        new: &'m Object,
        mut managers: Managers<'m>,
        manager: &'m str,
        now: &'m str,
    ) -> Result<Managers<'m>, Unconverted> {
        let comparison = self.compare(&mut managers, &live.0, &new.0)?;
        let own = self.manager(manager, ManagedFieldsOperation::Update);
        if comparison.own.changed.is_empty() && comparison.own.removed.is_empty() {
            return Ok(managers);
        }
        for entry in &mut managers.0 {
            entry.lose(comparison.seen_by(&entry.manager));
        }
        let changed = &comparison.own.changed;
        if !changed.is_empty() {
            let mut entry = managers.take(&own).unwrap_or_else(|| Entry::new(own));
            entry.fields.add(changed);
            entry.time = Some(Cow::Borrowed(now));
            managers.0.push(entry);
        }
        managers.drop_empty();
        Ok(managers)
    }
}
