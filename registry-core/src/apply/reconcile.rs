//! Managers whose fields were recorded when the schema was another one: what has become atomic since then is one field.
//!
//! Kubernetes concept: `ReconcileFieldSetWithSchema` of `structured-merge-diff`. What was atomic before keeps its manager
//! until it changes.

use serde_json::{Map, Value};

use crate::schema::{Scalar, TypeRef};

use super::fields_v1::WrittenSet;
use super::managers::Managers;
use super::{FieldManager, fields_v1};

// === impl FieldManager ===

impl FieldManager<'_> {
    /// Replaces the members of atomic fields by the atomic fields.
    pub(super) fn reconcile(&self, managers: &mut Managers<'_>) {
        for entry in &mut managers.0 {
            let Some(version) = self.version_of(&entry.manager) else { continue };
            entry.fields.reconcile(self.schema_of(version).root());
        }
    }
}

// === impl WrittenSet ===

impl WrittenSet<'_> {
    fn reconcile(&mut self, ty: TypeRef<'_>) {
        if is_outdated(self.map(), ty) {
            reconcile(self.map_mut(), ty);
        }
    }
}

fn is_outdated(map: &Map<String, Value>, ty: TypeRef<'_>) -> bool {
    let mut place = 0;
    map.iter().any(|(key, below)| {
        let Some(below) = below.as_object().filter(|below| !below.is_empty()) else { return false };
        type_below(key, ty, &mut place).is_some_and(|ty| is_one_field(ty) || is_outdated(below, ty))
    })
}

fn reconcile(map: &mut Map<String, Value>, ty: TypeRef<'_>) {
    let mut place = 0;
    for (key, below) in map {
        let Some(below) = below.as_object_mut().filter(|below| !below.is_empty()) else { continue };
        match type_below(key, ty, &mut place) {
            Some(ty) if is_one_field(ty) => below.clear(),
            Some(ty) => reconcile(below, ty),
            None => {}
        }
    }
}

/// Returns the type of a field, or of the elements of a keyed list; `None` without a schema. The keys come sorted: `place` is
/// the index of the previous field.
fn type_below<'s>(key: &str, ty: TypeRef<'s>, place: &mut usize) -> Option<TypeRef<'s>> {
    match key.strip_prefix(fields_v1::FIELD) {
        Some(name) => ty.next_field(name, place).map(|field| field.ty()).or_else(|| ty.value()),
        None => ty.element(),
    }
}

/// Whether maps and lists of this type are atomic.
fn is_one_field(ty: TypeRef<'_>) -> bool {
    let is_scalar = ty.scalar().is_some_and(|scalar| !matches!(scalar, Scalar::Any | Scalar::Raw));
    ty.is_atomic() && !ty.is_open() && !is_scalar
}
