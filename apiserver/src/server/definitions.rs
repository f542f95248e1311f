//! The check of the schemas of authors' structs, before anything is served.

use std::collections::BTreeSet;

use registry_core::resource::ResourceDescription;
use resources::api::apiextensions::customresourcedefinitions::check_schema;

use crate::server::error::ServerError;

/// Checks the schema of every kind that is not Kubernetes' own as that of a CustomResourceDefinition: rules and patterns
/// compile and do not cost too much, lists have the keys that they name, and defaults are valid.
///
/// # Errors
/// Fails with the kind, the Rust type and the field of everything that is wrong.
pub(super) fn check(resources: &[&'static ResourceDescription]) -> Result<(), ServerError> {
    let mut seen = BTreeSet::new();
    let mut wrong = Vec::new();
    for resource in resources.iter().filter(|resource| !resource.is_builtin) {
        if seen.insert(resource.resource()) {
            wrong.extend(explain(resource));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(ServerError::Definitions(wrong.join("\n"))) }
}

/// Returns what is wrong with the schema of a kind.
fn explain(resource: &ResourceDescription) -> Option<String> {
    let schema = (resource.schema)();
    let definition = schema.definition()?;
    let mut errors = definition.faults().clone();
    errors.append(check_schema(definition.schema(), resource.has_status));
    if errors.is_empty() {
        return None;
    }
    let lines = errors.0.iter().map(|error| {
        let place = definition.explain(&error.field);
        format!("\n  {place}: {}", error.body())
    });
    let lines: BTreeSet<String> = lines.collect();
    let kind = resource.kind.kind;
    let (version, declared_at) = (resource.group_version(), resource.declared_at);
    let lines: String = lines.into_iter().collect();
    Some(format!("the schema of {kind} ({version}, {declared_at}) is wrong:{lines}"))
}
