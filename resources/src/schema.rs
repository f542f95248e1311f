//! Schemas of Kubernetes' own types, from the facts that code generation took out of upstream's specifications.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
use registry_core::api::GroupVersionKind;
use registry_core::schema::openapi::Descriptions;
use registry_core::schema::{Schema, TypeTable};

/// All types of the built-in resources; read on first use.
static TYPES: LazyLock<Arc<TypeTable>> = LazyLock::new(|| {
    let table = TypeTable::parse(include_str!("generated/types.facts"));
    Arc::new(table.unwrap_or_else(|damage| unreachable!("the generated table of types is damaged: {damage}")))
});

/// The descriptions of fields returned so far, by type and field, which document columns.
static FIELDS: LazyLock<Mutex<HashMap<FieldName, &'static str>>> = LazyLock::new(Mutex::default);

/// A type's OpenAPI name and a field of it.
type FieldName = (String, String);

/// The schemas returned so far: one each, for the lifetime of the process.
static GIVEN: LazyLock<Mutex<HashMap<GroupVersionKind, Schema>>> = LazyLock::new(Mutex::default);

/// Returns the schema of a built-in kind.
///
/// # Panics
/// If the generated table has no such kind: a resource was declared for a type that upstream does not have.
pub fn built_in(group: &'static str, version: &'static str, kind: &'static str) -> Schema {
    let wanted = GroupVersionKind { group, version, kind };
    let mut given = GIVEN.lock();
    let schema = given.entry(wanted).or_insert_with(|| match TYPES.schema(wanted) {
        Some(schema) => schema,
        None => unreachable!("the generated table of types has no {group}/{version} {kind}"),
    });
    schema.clone()
}

/// Returns the schema of a built-in kind, like [`built_in`].
///
/// # Panics
/// If the generated table has no such kind.
pub fn built_in_kind(kind: GroupVersionKind) -> Schema {
    built_in(kind.group, kind.version, kind.kind)
}

/// Returns the descriptions of the fields at these paths of a kind, in order; empty if there is none. The texts are
/// large and few are requested: those are cached for the lifetime of the process.
pub fn field_descriptions(
    schema: &Schema,
    paths: impl Iterator<Item = &'static [&'static str]>,
) -> Vec<&'static str> {
    let names: Vec<Option<FieldName>> = paths.map(|path| field_name(schema, path)).collect();
    let mut known = FIELDS.lock();
    if names.iter().flatten().any(|name| !known.contains_key(name)) {
        let descriptions = descriptions().unwrap_or_default();
        for name @ (ty, field) in names.iter().flatten() {
            let text = descriptions.field(ty, field).unwrap_or_default();
            known.entry(name.clone()).or_insert_with(|| Box::leak(text.into()));
        }
    }
    let text = |name: &Option<FieldName>| name.as_ref().and_then(|name| known.get(name).copied());
    names.iter().map(|name| text(name).unwrap_or_default()).collect()
}

/// Returns the type that contains the field at a path, and the field.
fn field_name(schema: &Schema, path: &[&str]) -> Option<FieldName> {
    let (last, parents) = path.split_last()?;
    let mut ty = schema.root();
    for step in parents {
        ty = ty.field(step)?.ty();
    }
    Some((ty.name()?.to_owned(), ty.field(last)?.name().to_owned()))
}

/// Returns the descriptions of types and fields, for documentation; unpacked at each call.
pub fn descriptions() -> Option<Descriptions> {
    Descriptions::unpack(include_bytes!("generated/descriptions.zlib")).ok()
}

/// Returns [`descriptions`] with the values of enumerated fields, which belong to the feature `OpenAPIEnums`.
pub fn descriptions_with_enums() -> Option<Descriptions> {
    let mut descriptions = descriptions()?;
    descriptions.add_enums(include_bytes!("generated/enums.zlib")).ok()?;
    Some(descriptions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_that_is_documented_by_a_field_has_its_text() {
        let versions = crate::STORAGE_MAP.versions.iter();
        for entry in versions.flat_map(|version| version.entries).filter(|entry| entry.subresource.is_none())
        {
            let columns = entry.resource.columns.iter().filter(|column| !column.documented_by.is_empty());
            for column in columns {
                let texts =
                    field_descriptions(&(entry.resource.schema)(), std::iter::once(column.documented_by));
                assert!(
                    !texts[0].is_empty(),
                    "{:?} {}: {:?}",
                    entry.resource,
                    column.name,
                    column.documented_by
                );
            }
        }
    }
}
