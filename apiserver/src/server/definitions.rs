//! The check of the schemas of authors' structs, before anything is served.

use std::collections::BTreeSet;

use registry_core::api::FieldError;
use registry_core::resource::ResourceDescription;
use resources::api::apiextensions::customresourcedefinitions::check_schema;

use crate::server::error::{ServerError, WrongSchema};

/// Checks the schema of every kind that is not Kubernetes' own as that of a CustomResourceDefinition: rules and patterns
/// compile and do not cost too much, lists have the keys that they name, and defaults are valid.
///
/// # Errors
/// Fails with the kind, the Rust type and the field of everything that is wrong.
pub(super) fn check(resources: &[&'static ResourceDescription]) -> Result<(), ServerError> {
    let mut seen = BTreeSet::new();
    let authored = resources.iter().filter(|resource| !resource.is_builtin);
    let distinct = authored.filter(|resource| seen.insert(resource.resource()));
    let wrong: Vec<WrongSchema> = distinct.filter_map(|resource| WrongSchema::find(resource)).collect();
    if wrong.is_empty() { Ok(()) } else { Err(ServerError::Definitions(wrong)) }
}

// === impl WrongSchema ===

impl WrongSchema {
    /// Returns what is wrong with the schema of a kind; `None` if nothing is.
    fn find(resource: &ResourceDescription) -> Option<Self> {
        let schema = (resource.schema)();
        let definition = schema.definition()?;
        let mut errors = definition.faults().clone();
        errors.append(check_schema(definition.schema(), resource.has_status));
        let explain = |error: &FieldError| format!("{}: {}", definition.explain(&error.field), error.body());
        let faults: BTreeSet<String> = errors.0.iter().map(explain).collect();
        let (kind, version) = (resource.kind.kind, resource.group_version());
        let faults = faults.into_iter().collect();
        (!errors.is_empty()).then_some(Self { kind, version, declared_at: resource.declared_at, faults })
    }
}
