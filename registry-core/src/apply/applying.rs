//! Merging an applied configuration.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::api::{Object, StatusError, split_api_version};

use super::check::Mismatches;
use super::conflict::{self, Conflict, Refusal, plain_failure};
use super::conversions::Unconverted;
use super::fields_v1::WrittenSet;
use super::managers::{Entry, ManagedFieldsOperation, Manager, Managers};
use super::set::FieldSet;
use super::{FieldManager, MANAGED_FIELDS, Reset, STRIPPED, last_applied, merge};

/// Manager of the fields of an object that had no managers before it was first applied.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// An applied configuration, and who applies it when.
#[derive(Clone, Copy)]
struct Applying<'a> {
    configuration: &'a Object,
    manager: &'a str,
    /// Whether it takes fields that other managers have.
    force: bool,
    now: &'a str,
}

/// Result of merging an applied configuration.
struct Applied<'a> {
    /// The object's fields; `None` if applying does not change any.
    fields: Option<Map<String, Value>>,
    managers: Managers<'a>,
}

// === impl FieldManager ===

impl FieldManager<'_> {
    /// Applies a configuration to the live object (`None` if it does not exist): sets the fields of the configuration,
    /// and removes fields that the manager applied before but no longer does, unless another manager has them too. The
    /// result is conformed but not defaulted, and its managers are updated.
    ///
    /// # Errors
    /// Fails if a conversion or a schema has to be made first.
    ///
    /// The result is 400 if the configuration has another kind or sets `managedFields`; 409 with a cause for each field
    /// if other managers have fields that it would change and `force` is not set; 500, as in Kubernetes, if it does not
    /// match its type.
    pub fn apply(
        &self,
        live: Option<&Object>,
        applied: &Object,
        manager: &str,
        force: bool,
        now: &str,
    ) -> Result<Result<Object, StatusError>, Unconverted> {
        match self.applied(live, Applying { configuration: applied, manager, force, now }) {
            Ok(object) => Ok(Ok(object)),
            Err(Refusal::Conflicts(conflicts)) => Ok(Err(conflict::refuse(&conflicts))),
            Err(Refusal::Status(status)) => Ok(Err(status)),
            Err(Refusal::Unconverted(missing)) => Err(missing),
        }
    }

    fn applied(&self, live: Option<&Object>, applying: Applying<'_>) -> Result<Object, Refusal> {
        let Applying { configuration, manager, .. } = applying;
        self.check(configuration)?;
        let live = live.unwrap_or(self.blank);
        self.check_prepared(live)?;
        let merged = match self.merged(live, applying) {
            Err(Refusal::Conflicts(conflicts)) if manager == last_applied::KUBECTL => {
                match self.beyond_last_applied(live, conflicts) {
                    remaining if remaining.is_empty() => {
                        self.merged(live, Applying { force: true, ..applying })
                    }
                    remaining => Err(Refusal::Conflicts(remaining)),
                }
            }
            result => result,
        };
        let Applied { fields, managers } = merged?;
        let mut object = match fields {
            Some(fields) => self.conform(fields, configuration)?,
            None => live.clone(),
        };
        object.remove(MANAGED_FIELDS);
        if let Some(written) = managers.write() {
            object.metadata_mut().insert("managedFields".to_owned(), written);
        }
        if manager == last_applied::KUBECTL {
            last_applied::refresh(&mut object, configuration);
        }
        Ok(object)
    }

    fn check(&self, applied: &Object) -> Result<(), StatusError> {
        let (group, version) = split_api_version(applied.api_version());
        let kind = self.kind;
        if applied.kind() != kind.kind || group != kind.group || version != kind.version {
            return Err(StatusError::bad_request(format!("invalid object type: {}", kind_text(applied))));
        }
        if applied.get(MANAGED_FIELDS).is_some_and(Value::is_array) {
            return Err(StatusError::bad_request("metadata.managedFields must be nil"));
        }
        let mismatches = Mismatches::find(self.schema.root(), &applied.0);
        if mismatches.is_empty() {
            return Ok(());
        }
        Err(plain_failure(format!(
            "failed to create typed patch object ({}): {mismatches}",
            object_text(applied)
        )))
    }

    fn merged<'m>(
        &'m self,
        live: &'m Object,
        Applying { configuration, manager, force, now }: Applying<'m>,
    ) -> Result<Applied<'m>, Refusal> {
        let mut managers = Managers::stored(live.get(MANAGED_FIELDS).map(Cow::Borrowed)).map_err(|why| {
            Refusal::Status(plain_failure(format!("failed to decode managed fields: {why}")))
        })?;
        if managers.is_empty() {
            managers = self.updated(self.blank, live, managers, BEFORE_FIRST_APPLY, now)?;
        }
        self.reconcile(&mut managers);
        let mut fields = live.0.clone();
        merge::merge_maps(self.shape(), &mut fields, &configuration.0);

        let own = self.manager(manager, ManagedFieldsOperation::Apply);
        let last = managers.take(&own);
        let set = FieldSet::from_fields(&configuration.0, self.shape());
        let set = match &self.reset {
            Reset::Fields(fields) => set.recursive_difference(fields),
            Reset::AllBut(paths) => set.only(paths),
        };
        let time = last.as_ref().and_then(|last| last.time.clone());
        managers.0.push(Entry { manager: own.clone(), time, fields: WrittenSet::from_set(&set) });
        if let Some(last) = last {
            self.prune(&mut fields, &managers, &last)?;
        }
        self.settle(&mut managers, &own, live, &fields, force)?;

        let is_changed = fields != live.0;
        if let Some(mut entry) = managers.take(&own) {
            entry.fields.subtract(&STRIPPED);
            if is_changed {
                entry.time = Some(Cow::Borrowed(now));
            }
            managers.0.push(entry);
        }
        managers.drop_empty();
        Ok(Applied { fields: is_changed.then_some(fields), managers })
    }

    /// Takes the changed fields from the other managers, which is a conflict without `force`, and the removed fields.
    fn settle(
        &self,
        managers: &mut Managers<'_>,
        own: &Manager<'_>,
        live: &Object,
        fields: &Map<String, Value>,
        force: bool,
    ) -> Result<(), Refusal> {
        let comparison = self.compare(managers, &live.0, fields)?;
        let others = || |entry: &&mut Entry<'_>| !entry.manager.is(own);
        if !force {
            let mut conflicts: Vec<Conflict> = Vec::new();
            managers.0.sort_by(|a, b| a.manager.compare(&b.manager));
            for entry in managers.0.iter_mut().filter(others()) {
                let changed = &comparison.seen_by(&entry.manager).changed;
                entry.fields.intersection(changed).for_each(&mut |path| {
                    conflicts.push(Conflict::new(&entry.manager, path));
                });
            }
            if !conflicts.is_empty() {
                return Err(Refusal::Conflicts(conflicts));
            }
        }
        for entry in managers.0.iter_mut().filter(others()) {
            entry.lose(comparison.seen_by(&entry.manager));
        }
        Ok(())
    }

    fn conform(&self, fields: Map<String, Value>, applied: &Object) -> Result<Object, StatusError> {
        let mut value = Value::Object(fields);
        let conformed = match self.budget {
            Some(budget) => self.schema.conform_within(budget, &mut value, &mut Vec::new()),
            None => self.schema.conform(&mut value, &mut Vec::new()),
        };
        conformed.map_err(|fault| {
            plain_failure(format!(
                "failed to convert new typed object ({}) to object: {fault}",
                object_text(applied)
            ))
        })?;
        Ok(Object::from_value(value).unwrap_or_default())
    }
}

/// Formats an object for error messages: `namespace/name; group/version, Kind=Kind`.
fn object_text(object: &Object) -> String {
    format!("{}/{}; {}", object.namespace(), object.name(), kind_text(object))
}

fn kind_text(object: &Object) -> String {
    let (group, version) = split_api_version(object.api_version());
    format!("{group}/{version}, Kind={}", object.kind())
}
