//! Validation of a prepared write, the same for creations and updates, and for the form of each version.

use crate::api::validation::names::NameRule;
use crate::api::validation::object_meta::{
    validate_finalizer_names, validate_object_meta, validate_object_meta_update,
};
use crate::api::{ErrorList, FieldPath, Object, StatusError};
use crate::context::RequestContext;
use crate::resource::{ResourceType, WrittenValue};
use crate::schema::EmptyFields;

use super::hooks::{CheckMoment, PreparedWrite};
use super::{Store, UpdateRules};

/// An object that is about to be written.
pub(in crate::registry) struct Write<'a> {
    pub(in crate::registry) resource: &'a ResourceType,
    pub(in crate::registry) context: &'a RequestContext,
    /// The prepared object.
    pub(in crate::registry) new: &'a mut Object,
    /// The object that it replaces; `None` if it is created.
    pub(in crate::registry) old: Option<&'a mut Object>,
    /// The rules of the path for an update.
    pub(in crate::registry) rules: &'a dyn UpdateRules,
}

// === impl Write ===

impl Write<'_> {
    /// Validates the write without the metadata, for a version that is not the stored one.
    pub(in crate::registry) fn validate(mut self) -> Result<(), StatusError> {
        let mut errors = ErrorList::default();
        self.check_definition(&mut errors);
        self.check_rules(None, &mut errors);
        self.refuse(&errors)
    }

    /// Validates a new object that is not stored, for which no hooks are attached. `empty_fields` are the empty lists that it was
    /// written with.
    pub(in crate::registry) fn validate_new(mut self, empty_fields: &EmptyFields) -> Result<(), StatusError> {
        let mut errors = self.metadata_errors();
        self.check_definition(&mut errors);
        let sent = self.as_sent(Some(empty_fields));
        self.check_rules(sent.as_ref(), &mut errors);
        self.refuse(&errors)
    }

    fn metadata_errors(&self) -> ErrorList {
        let (resource, path) = (self.resource, FieldPath::new("metadata"));
        let namespaced = resource.is_namespaced();
        if let Some(old) = &self.old {
            // The name was validated by the kind's rule when the object was created, and cannot have changed.
            let mut errors = validate_object_meta(self.new, namespaced, NameRule::PathSegment, &path);
            errors.append(validate_object_meta_update(self.new, old, &path));
            return errors;
        }
        let names = resource.strategy.name_rule().unwrap_or(resource.write_rules.names);
        let mut errors = validate_object_meta(self.new, namespaced, names, &path);
        if resource.write_rules.qualified_finalizers {
            errors.append(validate_finalizer_names(self.new, &path.child("finalizers")));
        }
        errors
    }

    /// Checks by the definition of the author's struct. Kubernetes' own kinds have code for this instead.
    fn check_definition(&mut self, errors: &mut ErrorList) {
        let (resource, context) = (self.resource, self.context);
        let Some(rules) = resource.schema.own_rules() else { return };
        let found = self.lend(errors, |write| {
            rules.validate(context, write, |errors| {
                // Otherwise a value that violates the schema would be reported twice.
                if errors.is_empty() {
                    errors.append(resource.schema().check_typed(write.new));
                }
            })
        });
        errors.append(found);
    }

    /// Checks by the rules of the kind, and by the schema that the strategy has, if it has one. `sent` is the object
    /// with the empty lists that the client sent, if it sent any.
    fn check_rules(&mut self, sent: Option<&Object>, errors: &mut ErrorList) {
        let (resource, context) = (self.resource, self.context);
        let strategy = resource.strategy.as_ref();
        if errors.is_empty() || strategy.can_read(self.new) {
            let new = sent.unwrap_or(self.new);
            errors.append(match &self.old {
                None => strategy.validate(context, new),
                Some(old) => self.rules.validate(resource, context, new, old),
            });
        }
        if strategy.validates_values() {
            let found = self.lend(errors, |write| strategy.validate_value(context, write));
            errors.append(found);
        }
    }

    /// Adds the warnings of the kind about an accepted write.
    fn warn(&self, sent: Option<&Object>) {
        let (resource, context) = (self.resource, self.context);
        let new = sent.unwrap_or(self.new);
        let warnings = match &self.old {
            None => resource.strategy.warnings_on_create(context, new),
            Some(old) => self.rules.warnings(resource, context, new, old),
        };
        for warning in warnings {
            context.warn(warning);
        }
    }

    fn refuse(&self, errors: &ErrorList) -> Result<(), StatusError> {
        if errors.is_empty() {
            return Ok(());
        }
        Err(StatusError::invalid(self.resource.kind, self.new.name(), errors))
    }

    fn is_status(&self) -> bool {
        self.old.is_some() && self.rules.is_status()
    }

    /// Returns the object with the empty lists that the client sent in what this path writes; `None` if it sent none.
    fn as_sent(&self, empty_fields: Option<&EmptyFields>) -> Option<Object> {
        let empty_fields = empty_fields.filter(|fields| !fields.is_empty())?;
        let mut sent = self.new.clone();
        if self.old.is_none() {
            let keeps_status = !self.resource.has_status || self.resource.strategy.keeps_status_on_create();
            empty_fields.put_back(&mut sent, |root| keeps_status || root != "status");
        } else {
            let is_partial = self.rules.changes_only().is_some();
            empty_fields.put_back(&mut sent, |root| !is_partial && (root == "status") == self.is_status());
        }
        Some(sent)
    }

    /// Lends the objects as JSON values, without copying them.
    fn lend<T>(&mut self, errors: &ErrorList, check: impl FnOnce(WrittenValue<'_>) -> T) -> T {
        let is_status = self.is_status();
        self.new.with_value(|new| match self.old.as_deref_mut() {
            Some(old) => old.with_value(|old| check(WrittenValue { new, old: Some(old), is_status, errors })),
            None => check(WrittenValue { new, old: None, is_status, errors }),
        })
    }
}

// === impl Store ===

impl Store {
    /// Validates a prepared write, adds the warnings about it, and brings it into its canonical form. `empty_fields` are the
    /// empty lists that the client sent.
    pub(super) async fn validate(
        &self,
        mut write: Write<'_>,
        empty_fields: Option<&EmptyFields>,
    ) -> Result<(), StatusError> {
        let context = write.context;
        let mut errors = write.metadata_errors();
        write.check_definition(&mut errors);
        if let (Some(old), true) = (&write.old, self.resource.write_rules.repeated_metadata_errors) {
            errors.append(validate_object_meta_update(write.new, old, &FieldPath::new("metadata")));
        }
        let (old, is_status) = (write.old.as_deref(), write.is_status());
        let prepared = PreparedWrite { new: write.new, old, is_status };
        errors.append(self.check_by_hooks(context, prepared, CheckMoment::WithRules).await?);
        let sent = write.as_sent(empty_fields);
        let before = errors.0.len();
        loop {
            write.check_rules(sent.as_ref(), &mut errors);
            if !context.budget.repeated_elsewhere().await {
                break;
            }
            errors.0.truncate(before);
        }
        context.budget.check_complete()?;
        if errors.0.is_empty() {
            let prepared = PreparedWrite { new: write.new, old: write.old.as_deref(), is_status };
            errors.append(self.check_by_hooks(context, prepared, CheckMoment::AfterRules).await?);
        }
        write.refuse(&errors)?;
        write.warn(sent.as_ref());
        self.strategy().canonicalize(write.new);
        Ok(())
    }
}
