//! The rules for writes of custom resources.

use std::sync::Arc;

use registry_core::RequestContext;
use registry_core::api::{ErrorList, FieldError, FieldPath, GroupVersionKind, Object};
use registry_core::resource::{ObjectStrategy, WrittenValue};

use super::compiled::Compiled;
use super::finalizers;
use super::intern::Path;
use super::scale::ScaleRules;

/// The rules of all versions of a kind.
#[derive(Debug)]
pub(super) struct KindRules {
    pub(super) plural: &'static str,
    /// Whether all versions have a `status` subresource, so that the engine resets the status for every request.
    pub(super) all_have_status: bool,
    /// The versions, in the order of the definition.
    pub(super) versions: Vec<VersionRules>,
}

/// The rules of a version.
#[derive(Debug)]
pub(super) struct VersionRules {
    pub(super) kind: GroupVersionKind,
    pub(super) has_status: bool,
    pub(super) scale: Option<ScaleRules>,
    /// The selectable fields that the version offers.
    pub(super) selectable: Path,
    pub(super) compiled: Arc<Compiled>,
}

/// The strategy of a version.
///
/// A request for a version is validated by that version's schema alone, even if another one is stored.
#[derive(Debug)]
pub(super) struct CustomStrategy {
    rules: Arc<KindRules>,
    own: usize,
}

// === impl CustomStrategy ===

impl CustomStrategy {
    /// Creates the strategy of the version at a place in the rules.
    pub(super) fn new(rules: Arc<KindRules>, own: usize) -> Self {
        Self { rules, own }
    }

    fn own(&self) -> Option<&VersionRules> {
        self.rules.versions.get(self.own)
    }

    /// Returns the version of the requested path; for the server's own requests, this one.
    fn asked(&self, context: &RequestContext) -> Option<&VersionRules> {
        let own = self.own()?;
        let asked = context
            .resource
            .filter(|asked| asked.group == own.kind.group && asked.resource == self.rules.plural);
        let Some(asked) = asked else { return Some(own) };
        let by_name = self.rules.versions.iter().find(|version| version.kind.version == asked.version);
        by_name.or(Some(own))
    }

    /// Returns the version if the status of the requested version is reset, and the engine does not do so.
    fn resets_status(&self, context: &RequestContext) -> bool {
        !self.rules.all_have_status && self.asked(context).is_some_and(|asked| asked.has_status)
    }
}

impl ObjectStrategy for CustomStrategy {
    fn prepare_for_create(&self, context: &RequestContext, object: &mut Object) {
        if self.resets_status(context) {
            object.remove(&["status"]);
        }
    }

    fn prepare_for_update(&self, context: &RequestContext, new: &mut Object, old: &Object) {
        if self.resets_status(context) {
            new.copy_field(old, &["status"]);
        }
    }

    fn validate_update(&self, _: &RequestContext, _: &Object, _: &Object) -> ErrorList {
        ErrorList::default()
    }

    fn warnings_on_create(&self, _: &RequestContext, object: &Object) -> Vec<String> {
        finalizers::warnings(object, None)
    }

    fn warnings_on_update(&self, _: &RequestContext, new: &Object, old: &Object) -> Vec<String> {
        finalizers::warnings(new, Some(old))
    }

    fn validates_values(&self) -> bool {
        true
    }

    fn validate_value(&self, context: &RequestContext, write: WrittenValue<'_>) -> ErrorList {
        let (Some(own), Some(asked)) = (self.own(), self.asked(context)) else { return ErrorList::default() };
        if own.kind != asked.kind {
            // The strategy of the requested version validates the object in that version.
            return ErrorList::default();
        }
        let compiled = own.compiled.get();
        if let Some(failure) = &compiled.failure {
            return internal(failure).into();
        }
        compiled.rules.validate(context, write, |errors| {
            let Some(scale) = &own.scale else { return };
            if !write.is_status {
                scale.validate_spec(write.new, errors);
            }
            scale.validate_status(write.new, errors);
        })
    }

    fn selectable_fields(&self) -> Option<&[&'static str]> {
        self.own().map(|own| own.selectable)
    }
}

fn internal(failure: &str) -> FieldError {
    let text = format!("the schema of the definition cannot be read: {failure}");
    FieldError::internal(FieldPath::root(), text)
}
