//! Managers whose fields are in another version of the kind than the request's: their fields are compared with the
//! object converted to that version.
//!
//! Kubernetes concept: `merge.Converter` of `structured-merge-diff`, which `Updater` uses to convert to every version.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::resource::ResourceType;
use crate::resource::conversion::ConversionError;
use crate::schema::Schema;

use super::compare::Changes;
use super::conversions::{NotConverted, Unconverted, typed};
use super::managers::{Entry, Manager, Managers};
use super::merge;
use super::set::FieldSet;
use super::shape::ValueShape;
use super::{FieldManager, STRIPPED, reset_fields};

/// A version of the kind; `None` is the request's.
type Version<'v> = Option<&'v Arc<ResourceType>>;

/// The differences between two objects in each version that has managers.
pub(super) struct Comparison<'a> {
    /// In the request's version.
    pub(super) own: Changes<'a>,
    /// In other versions, by `apiVersion`.
    others: Vec<(String, Changes<'static>)>,
}

// === impl Comparison ===

impl<'a> Comparison<'a> {
    /// Returns the differences in the version of a manager's fields.
    pub(super) fn seen_by(&self, manager: &Manager<'_>) -> &Changes<'a> {
        let other = self.others.iter().find(|(version, _)| *version == manager.api_version);
        other.map_or(&self.own, |(_, changes)| changes)
    }
}

// === impl FieldManager ===

impl FieldManager<'_> {
    /// Compares two objects in every version in which a manager has fields. Drops managers of versions that are no
    /// longer served, because their fields cannot be interpreted.
    ///
    /// # Errors
    /// Fails if a conversion has to be made first.
    pub(super) fn compare<'m>(
        &'m self,
        managers: &mut Managers<'_>,
        old: &'m Map<String, Value>,
        new: &'m Map<String, Value>,
    ) -> Result<Comparison<'m>, Unconverted> {
        managers.0.retain(|entry| self.version_of(&entry.manager).is_some());
        let mut others: Vec<(String, Changes<'static>)> = Vec::new();
        for Entry { manager, .. } in &managers.0 {
            let is_known = others.iter().any(|(version, _)| *version == manager.api_version);
            if let (Some(version), false) = (self.version_of(manager).flatten(), is_known) {
                // Both objects have been converted before. If the conversion fails now, they are treated as equal.
                let changes = match self.changes_in(version, old, new) {
                    Ok(changes) => changes,
                    Err(NotConverted::Unknown(missing)) => return Err(missing),
                    Err(NotConverted::Failed(error)) => {
                        let version = &manager.api_version;
                        tracing::warn!(%version, %error, "the fields of a manager are not compared in its version");
                        Changes::default()
                    }
                };
                others.push((manager.api_version.clone().into_owned(), changes));
            }
        }
        Ok(Comparison { own: self.changes(old, new), others })
    }

    fn changes_in(
        &self,
        version: &Arc<ResourceType>,
        old: &Map<String, Value>,
        new: &Map<String, Value>,
    ) -> Result<Changes<'static>, NotConverted> {
        let old = self.converted(old, None, Some(version))?;
        let new = self.converted(new, None, Some(version))?;
        let schema = version.schema();
        let shape = ValueShape::Struct(schema.root());
        let changes = Changes::between(shape, &old, &new, &reset_fields(version, self.subresource));
        Ok(Changes {
            changed: changes.changed.difference(&STRIPPED).into_owned(),
            removed: changes.removed.difference(&STRIPPED).into_owned(),
        })
    }

    /// Removes the fields that the manager applied last and that no manager, including itself, has now.
    ///
    /// # Errors
    /// Fails if the result cannot be converted to one of the versions, or not yet.
    pub(super) fn prune(
        &self,
        fields: &mut Map<String, Value>,
        managers: &Managers<'_>,
        last: &Entry<'_>,
    ) -> Result<(), NotConverted> {
        let Some(of_last) = self.version_of(&last.manager).filter(|_| !last.fields.is_empty()) else {
            return Ok(());
        };
        let mut others =
            managers.0.iter().filter(|entry| entry.manager.api_version == last.manager.api_version);
        if others.any(|entry| entry.fields.covers(&last.fields)) {
            return Ok(());
        }
        // Removes what was applied last and everything below it.
        let applied = self.named(last.fields.to_set(), of_last);
        let merged = self.converted(fields, None, of_last)?;
        let mut left = self.without(&merged, &applied, of_last);
        let mut version = of_last;
        // Restores fields that are owned, with their parents.
        for (next, owned) in self.owned(managers, of_last) {
            let merged = self.converted(fields, None, next)?;
            let before = self.converted(&left, version, next)?;
            let kept = self.set_of(&before, next).union(owned);
            left = self.without(&merged, &self.set_of(&merged, next).difference(&kept), next);
            version = next;
        }
        // Restores fields that were removed only because a parent was, and were never applied.
        let left = self.converted(&left, version, of_last)?;
        let kept = self.set_of(&left, of_last);
        let gone = self.set_of(&merged, of_last).difference(&kept).intersection(&applied).into_owned();
        if of_last.is_none() {
            merge::remove_from_map(self.shape(), fields, &gone);
        } else {
            *fields = self.converted(&self.without(&merged, &gone, of_last), of_last, None)?.into_owned();
        }
        Ok(())
    }

    /// Returns the fields that any manager has, for each version; the given version comes first and is always included.
    fn owned<'m>(
        &'m self,
        managers: &'m Managers<'_>,
        first: Version<'m>,
    ) -> Vec<(Version<'m>, FieldSet<'m>)> {
        let mut owned: Vec<(Version<'m>, Vec<FieldSet<'m>>)> = vec![(first, Vec::new())];
        for entry in &managers.0 {
            let Some(version) = self.version_of(&entry.manager) else { continue };
            let fields = self.named(entry.fields.to_set(), version);
            match owned.iter_mut().find(|(other, _)| is_same(*other, version)) {
                Some((_, all)) => all.push(fields),
                None => owned.push((version, vec![fields])),
            }
        }
        owned.into_iter().map(|(version, all)| (version, FieldSet::union_of(all))).collect()
    }

    fn set_of<'f>(&self, fields: &'f Map<String, Value>, version: Version<'_>) -> FieldSet<'f>
    where
        Self: 'f,
    {
        // Only names are borrowed from the schema; the set owns them afterwards.
        let set =
            FieldSet::from_fields(fields, ValueShape::Struct(self.schema_of(version).root())).into_owned();
        self.named(set, version)
    }

    fn named<'f>(&self, set: FieldSet<'f>, version: Version<'_>) -> FieldSet<'f> {
        set.with_named_fields(self.schema_of(version).root())
    }

    fn without(
        &self,
        fields: &Map<String, Value>,
        set: &FieldSet<'_>,
        version: Version<'_>,
    ) -> Map<String, Value> {
        let mut rest = fields.clone();
        merge::remove_from_map(ValueShape::Struct(self.schema_of(version).root()), &mut rest, set);
        rest
    }

    pub(super) fn schema_of(&self, version: Version<'_>) -> Schema {
        version.map_or_else(|| self.schema.clone(), |version| version.schema())
    }

    /// Returns the version of a manager's fields; `None` if it is no longer served. Without known versions, all fields
    /// are in the request's version.
    pub(super) fn version_of(&self, manager: &Manager<'_>) -> Option<Version<'_>> {
        match self.versions {
            Some(versions) if manager.api_version != self.api_version => {
                versions.find(&manager.api_version).map(Some)
            }
            _ => Some(None),
        }
    }

    /// Returns an object's fields converted to another version.
    fn converted<'f>(
        &'f self,
        fields: &'f Map<String, Value>,
        from: Version<'_>,
        to: Version<'_>,
    ) -> Result<Cow<'f, Map<String, Value>>, NotConverted> {
        let Some(versions) = self.versions.filter(|_| !is_same(from, to)) else {
            return Ok(Cow::Borrowed(fields));
        };
        let own = versions.find(self.api_version);
        let (Some(from), Some(to)) = (from.or(own), to.or(own)) else {
            return Err(ConversionError::NotServed(self.api_version.to_owned()).into());
        };
        if from.is_converted_remotely() || to.is_converted_remotely() {
            return self.conversions.find(fields, from, to).map(Cow::Borrowed);
        }
        let stored = from.to_stored_here(typed(fields, from))?;
        Ok(Cow::Owned(to.convert_stored_here(stored)?.0))
    }
}

fn is_same(left: Version<'_>, right: Version<'_>) -> bool {
    match (left, right) {
        (None, None) => true,
        (Some(left), Some(right)) => left.is(right),
        _ => false,
    }
}
