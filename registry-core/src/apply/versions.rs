//! Managers whose fields are of another version of the kind than the request's: each is held against the object as
//! its own version has it.
//!
//! Kubernetes concept: `merge.Converter` of `structured-merge-diff`, with which `Updater` sees every version.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::resource::ResourceType;
use crate::resource::conversion::ConversionError;
use crate::schema::Schema;

use super::compare::Changes;
use super::managers::{Entry, Manager, Managers};
use super::merge;
use super::set::FieldSet;
use super::shape::ValueShape;
use super::{FieldManager, STRIPPED, reset_fields};

/// A version of the kind; `None` is the one of the request.
type Version<'v> = Option<&'v ResourceType>;

/// What differs between two objects, as each version with managers sees it.
pub(super) struct Comparison<'a> {
    /// As the request's version does.
    pub(super) own: Changes<'a>,
    /// As others do, by their `apiVersion`.
    others: Vec<(String, Changes<'static>)>,
}

// === impl Comparison ===

impl<'a> Comparison<'a> {
    /// What differs, as the version of a manager's fields sees it.
    pub(super) fn seen_by(&self, manager: &Manager<'_>) -> &Changes<'a> {
        let other = self.others.iter().find(|(version, _)| *version == manager.api_version);
        other.map_or(&self.own, |(_, changes)| changes)
    }
}

// === impl FieldManager ===

impl FieldManager<'_> {
    /// Compares two objects in every version that one of the managers has fields of. Managers of a version that is
    /// served no longer are dropped: nobody can say what their fields are.
    pub(super) fn compare<'m>(
        &'m self,
        managers: &mut Managers<'_>,
        old: &'m Map<String, Value>,
        new: &'m Map<String, Value>,
    ) -> Comparison<'m> {
        managers.0.retain(|entry| self.version_of(&entry.manager).is_some());
        let mut others: Vec<(String, Changes<'static>)> = Vec::new();
        for Entry { manager, .. } in &managers.0 {
            let is_known = others.iter().any(|(version, _)| *version == manager.api_version);
            if let (Some(version), false) = (self.version_of(manager).flatten(), is_known) {
                // Both were converted a moment ago, by whoever made them. Should it fail now, nothing is known to differ.
                let changes = self.changes_in(version, old, new).unwrap_or_default();
                others.push((manager.api_version.clone().into_owned(), changes));
            }
        }
        Comparison { own: self.changes(old, new), others }
    }

    fn changes_in(
        &self,
        version: &ResourceType,
        old: &Map<String, Value>,
        new: &Map<String, Value>,
    ) -> Result<Changes<'static>, ConversionError> {
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

    /// Removes what the manager applied last, and neither it nor anyone else manages now.
    ///
    /// # Errors
    /// What is left cannot be said in one of the versions.
    pub(super) fn prune(
        &self,
        fields: &mut Map<String, Value>,
        managers: &Managers<'_>,
        last: &Entry<'_>,
    ) -> Result<(), ConversionError> {
        let Some(of_last) = self.version_of(&last.manager).filter(|_| !last.fields.is_empty()) else {
            return Ok(());
        };
        let mut others =
            managers.0.iter().filter(|entry| entry.manager.api_version == last.manager.api_version);
        if others.any(|entry| entry.fields.covers(&last.fields)) {
            return Ok(());
        }
        // What was applied last goes, and all that is below it.
        let applied = self.named(last.fields.to_set(), of_last);
        let merged = self.converted(fields, None, of_last)?;
        let mut left = self.without(&merged, &applied, of_last);
        let mut version = of_last;
        // What is owned comes back, with what it is in.
        for (next, owned) in self.owned(managers, of_last) {
            let merged = self.converted(fields, None, next)?;
            let before = self.converted(&left, version, next)?;
            let kept = self.set_of(&before, next).union(owned);
            left = self.without(&merged, &self.set_of(&merged, next).difference(&kept), next);
            version = next;
        }
        // So does what went only for being below, and was never applied.
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

    /// The fields that anyone manages, version by version: the given one first, whether or not it has any.
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
        // Only names of the schema's are borrowed from it, and they become the set's own.
        let set =
            FieldSet::of_fields(fields, ValueShape::Struct(self.schema_of(version).root())).into_owned();
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

    fn schema_of(&self, version: Version<'_>) -> Schema {
        version.map_or_else(|| self.schema.clone(), ResourceType::schema)
    }

    /// The version of a manager's fields; `None` when it is served no longer. Where nothing is known of versions,
    /// there is one.
    fn version_of(&self, manager: &Manager<'_>) -> Option<Version<'_>> {
        match self.versions {
            Some(versions) if manager.api_version != self.api_version => {
                versions.find(&manager.api_version).map(|version| Some(version.as_ref()))
            }
            _ => Some(None),
        }
    }

    /// An object's fields as another version has them.
    fn converted<'f>(
        &self,
        fields: &'f Map<String, Value>,
        from: Version<'_>,
        to: Version<'_>,
    ) -> Result<Cow<'f, Map<String, Value>>, ConversionError> {
        let Some(versions) = self.versions.filter(|_| !is_same(from, to)) else {
            return Ok(Cow::Borrowed(fields));
        };
        let own = versions.find(self.api_version).map(AsRef::as_ref);
        match (from.or(own), to.or(own)) {
            (Some(from), Some(to)) => Ok(Cow::Owned(versions.convert(fields, from, to)?)),
            _ => Err(ConversionError(format!("{} is not served", self.api_version))),
        }
    }
}

fn is_same(one: Version<'_>, other: Version<'_>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => one.is(other),
        _ => false,
    }
}
