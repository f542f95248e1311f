//! Conflicts between maps. Each map is consistent by itself, as checked by the compiler; the set of maps is known only
//! when the server starts.

use super::message::{Culprit, Message, same};
use super::{names, same_option, stores};
use crate::registry::storage_map::{MapEntry, StorageMap};
use crate::resource::declaration;

/// Error of storage maps that conflict. Not retryable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MapConflict {
    /// A declaration contradicts the kind's schema.
    #[error("`{kind}` (declared at {declared_at}): {}", .problems.join("; "))]
    Declaration {
        /// The declared kind.
        kind: &'static str,
        /// The place of the declaration.
        declared_at: &'static str,
        /// The contradictions, in words.
        problems: Vec<String>,
    },
    /// Two maps claim the same.
    #[error("the storage maps of `{first}` and `{second}` cannot be served together: {conflict}")]
    Together {
        /// The module that declares one of the maps.
        first: &'static str,
        /// The module that declares the other.
        second: &'static str,
        /// The two declarations, and what both claim.
        conflict: String,
    },
}

/// Checks the field declarations of custom kinds against the kinds' schemas. Logs a warning for fields whose JSON names
/// are not in camelCase.
///
/// # Errors
/// Fails if a declaration names a field that the schema does not have, or that has another type.
pub fn check_declarations(maps: &[&StorageMap]) -> Result<(), MapConflict> {
    let mains = maps.iter().flat_map(|map| entries(map)).filter(|entry| entry.subresource.is_none());
    for resource in mains.map(|entry| entry.resource) {
        let (kind, declared_at) = (resource.kind.kind, resource.declared_at);
        let problems = declaration::problems(resource);
        if !problems.is_empty() {
            return Err(MapConflict::Declaration { kind, declared_at, problems });
        }
        let fields = declaration::snake_case_fields(resource);
        if !fields.is_empty() {
            let fields = fields.join(", ");
            tracing::warn!(
                "`{kind}` (declared at {declared_at}): Kubernetes writes field names in camelCase, these are not: {fields}; \
                 add `#[serde(rename_all = \"camelCase\")]` to their structs"
            );
        }
    }
    Ok(())
}

/// Checks that the maps of one server do not claim the same paths, names or keys.
///
/// # Errors
/// Fails if two maps do. The message names both declarations.
pub fn check_together(maps: &[&StorageMap]) -> Result<(), MapConflict> {
    for (index, second) in maps.iter().enumerate() {
        for first in maps.iter().take(index) {
            if let Some(message) = conflict(first, second) {
                return Err(MapConflict::Together {
                    first: first.declared_in,
                    second: second.declared_in,
                    conflict: message.as_str().to_owned(),
                });
            }
        }
    }
    Ok(())
}

/// Returns the first conflict between two maps.
fn conflict(first: &StorageMap, second: &StorageMap) -> Option<Message> {
    entries(second).find_map(|second| entries(first).find_map(|first| between(first, second)))
}

fn entries(map: &StorageMap) -> impl Iterator<Item = &'static MapEntry> {
    map.versions.iter().flat_map(|version| version.entries)
}

fn between(first: &'static MapEntry, second: &'static MapEntry) -> Option<Message> {
    let a = culprit(first);
    let b = culprit(second);
    let left = first.resource;
    let right = second.resource;
    if left.resource() == right.resource() && same_option(first.subresource, second.subresource) {
        let message = Message::new().text("both serve `").path(second).text("` of `");
        let message = message.group_version(right.kind.group, right.kind.version).text("`: ");
        return Some(message.culprit(&a).text(" and ").culprit(&b));
    }
    if first.subresource.is_some() || second.subresource.is_some() {
        return None;
    }
    let versions_differ = left.kind.version != right.kind.version;
    if same(left.kind.group, right.kind.group)
        && let Some(message) = names::between(&a, &b, versions_differ)
    {
        return Some(message);
    }
    stores::share_keys(first, second).then(|| stores::two_stores(&a, &b))
}

/// Names the entry by its kind, since the type names in the map's text are not available.
const fn culprit(entry: &'static MapEntry) -> Culprit<'static> {
    Culprit { entry, storage: entry.resource.properties.kind.kind }
}

#[cfg(test)]
mod tests;
