//! Schemas of Kubernetes' own types, from the facts that code generation took out of upstream's specifications.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use registry_core::api::GroupVersionKind;
use registry_core::schema::openapi::Descriptions;
use registry_core::schema::{Schema, TypeTable};

/// Every type any built-in resource is made of; read on first use.
static TYPES: LazyLock<Arc<TypeTable>> = LazyLock::new(|| {
    let table = TypeTable::parse(include_str!("generated/types.facts"));
    Arc::new(table.unwrap_or_else(|damage| unreachable!("the generated table of types is damaged: {damage}")))
});

/// Schemas given out so far: one each, for the life of the process.
static GIVEN: LazyLock<Mutex<HashMap<GroupVersionKind, &'static Schema>>> = LazyLock::new(Mutex::default);

/// The schema of a built-in kind.
///
/// # Panics
/// When the generated table has no such kind: a resource was declared for a type upstream does not have.
pub fn of(group: &'static str, version: &'static str, kind: &'static str) -> &'static Schema {
    let wanted = GroupVersionKind { group, version, kind };
    let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    given.entry(wanted).or_insert_with(|| match TYPES.schema(wanted) {
        Some(schema) => Box::leak(Box::new(schema)),
        None => unreachable!("the generated table of types has no {group}/{version} {kind}"),
    })
}

/// What the types and their fields mean, for documentation; unpacked at each call.
pub fn descriptions() -> Option<Descriptions> {
    Descriptions::unpack(include_bytes!("generated/descriptions.zlib")).ok()
}
