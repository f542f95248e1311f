//! A view of a definition's spec in which what all versions share is stated once.
//!
//! Kubernetes validates that form, and its errors name the fields of it: `spec.validation` rather than
//! `spec.versions[0].schema` if all versions have the same schema.

use registry_core::api::Object;
use resource_views::apiextensions::v1::{
    CustomResourceColumnDefinition, CustomResourceDefinition, CustomResourceDefinitionCondition,
    CustomResourceDefinitionSpec, CustomResourceDefinitionVersion, CustomResourceSubresources,
    CustomResourceValidation, SelectableField,
};
use resource_views::{Typed, View};
use serde_json::Value;

use super::schema::Schema;

/// The spec of a definition.
pub(super) struct Spec<'a> {
    /// The fields as they are written.
    pub(super) written: CustomResourceDefinitionSpec<'a, 'a>,
    /// The parts that all versions share.
    pub(super) shared: Parts<'a>,
    /// The versions, without the shared parts.
    pub(super) versions: Vec<Version<'a>>,
}

/// One version.
pub(super) struct Version<'a> {
    written: CustomResourceDefinitionVersion<'a, 'a>,
    pub(super) name: &'a str,
    pub(super) served: bool,
    pub(super) storage: bool,
    pub(super) deprecated: bool,
    /// Its own parts: unset if all versions share them.
    pub(super) parts: Parts<'a>,
}

/// The parts that a definition states for each version, or for all versions at once, which are compared as a whole.
#[derive(Clone, Copy, Default)]
pub(super) struct Parts<'a> {
    /// The object around `openAPIV3Schema`.
    pub(super) validation: Option<&'a Value>,
    pub(super) subresources: Option<&'a Value>,
    pub(super) columns: &'a [Value],
    pub(super) selectable: &'a [Value],
}

/// Returns a condition of a definition, if it has one of the type.
pub(super) fn condition<'a>(
    object: &'a Object,
    kind: &str,
) -> Option<CustomResourceDefinitionCondition<'a, 'a>> {
    let status = CustomResourceDefinition(object).status();
    let conditions = status.conditions();
    let found = conditions.elements().find(|condition| condition.r#type().text() == kind)?;
    Some(Typed::typed(found.detached()))
}

/// Whether a condition of a definition has a status.
pub(super) fn has_condition(object: &Object, kind: &str, status: &str) -> bool {
    condition(object, kind).is_some_and(|condition| condition.status().text() == status)
}

/// Returns the view of a part.
fn typed<'a, T: Typed<'a, 'a>>(part: Option<&'a Value>) -> T {
    static NONE: Value = Value::Null;
    T::typed(View::root(part.unwrap_or(&NONE)))
}

/// Takes a part from all versions if it is the same in all of them.
fn share<'a, T: Copy + Default + PartialEq>(
    versions: &mut [Version<'a>],
    part: impl for<'p> Fn(&'p mut Parts<'a>) -> &'p mut T,
) -> T {
    let mut parts = versions.iter_mut().map(|version| *part(&mut version.parts));
    let Some(first) = parts.next() else { return T::default() };
    if !parts.all(|other| other == first) {
        return T::default();
    }
    for version in versions {
        *part(&mut version.parts) = T::default();
    }
    first
}

// === impl Spec ===

impl<'a> Spec<'a> {
    /// Views the spec of a definition.
    pub(super) fn from_object(object: &'a Object) -> Self {
        let written = CustomResourceDefinition(object).spec();
        let mut versions: Vec<Version<'a>> =
            written.versions().elements().map(|version| Version::new(&version)).collect();
        let shared = Parts {
            validation: share(&mut versions, |parts| &mut parts.validation),
            subresources: share(&mut versions, |parts| &mut parts.subresources),
            columns: share(&mut versions, |parts| &mut parts.columns),
            selectable: share(&mut versions, |parts| &mut parts.selectable),
        };
        Self { written, shared, versions }
    }

    /// Returns the versions without the parts that all share; none if unset.
    pub(super) fn own_parts_of_versions(&self) -> Option<Value> {
        let is_set = self.written.versions().exists();
        is_set.then(|| self.versions.iter().map(Version::own_parts).collect())
    }

    /// Whether unknown fields of custom resources are kept.
    pub(super) fn preserves_unknown_fields(&self) -> bool {
        self.written.preserve_unknown_fields().is_true()
    }

    /// Returns the schemas.
    pub(super) fn schemas(&self) -> impl Iterator<Item = Schema<'a>> {
        let parts = std::iter::once(self.shared).chain(self.versions.iter().map(|version| version.parts));
        parts.filter_map(Parts::schema)
    }

    /// Whether a condition holds for any schema or one below it.
    pub(super) fn any_schema(&self, condition: &dyn Fn(Schema<'_>) -> bool) -> bool {
        self.schemas().any(|schema| schema.any(condition))
    }

    /// Whether any version states its own schema.
    pub(super) fn has_own_schemas(&self) -> bool {
        self.versions.iter().any(|version| version.parts.validation.is_some())
    }

    /// Whether any version has the `status` subresource.
    pub(super) fn has_any_status(&self) -> bool {
        self.shared.has_status() || self.versions.iter().any(|version| version.parts.has_status())
    }

    /// Whether any version states its own subresources.
    pub(super) fn has_own_subresources(&self) -> bool {
        self.versions.iter().any(|version| version.parts.subresources.is_some())
    }
}

impl<'a> Version<'a> {
    fn new(version: &CustomResourceDefinitionVersion<'a, '_>) -> Self {
        Self {
            written: Typed::typed(version.detached()),
            name: version.name().text(),
            served: version.served().is_true(),
            storage: version.storage().is_true(),
            deprecated: version.deprecated().is_true(),
            parts: Parts {
                validation: version.schema().value(),
                subresources: version.subresources().value(),
                columns: version.additional_printer_columns().values(),
                selectable: version.selectable_fields().values(),
            },
        }
    }

    fn own_parts(&self) -> Value {
        let fields = self.written.value().and_then(Value::as_object).into_iter().flatten();
        let own = fields.filter(|(name, _)| match name.as_str() {
            "schema" => self.parts.validation.is_some(),
            "subresources" => self.parts.subresources.is_some(),
            "additionalPrinterColumns" => !self.parts.columns.is_empty(),
            "selectableFields" => !self.parts.selectable.is_empty(),
            _ => true,
        });
        own.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// Returns the warning about its deprecation, if it has its own.
    pub(super) fn deprecation_warning(&self) -> Option<&'a str> {
        self.written.deprecation_warning().optional_text()
    }
}

impl<'a> Parts<'a> {
    /// Returns the schema as JSON.
    pub(super) fn schema_value(self) -> Option<&'a Value> {
        typed::<CustomResourceValidation<'_, '_>>(self.validation).open_apiv3_schema().value()
    }

    /// Returns the schema.
    pub(super) fn schema(self) -> Option<Schema<'a>> {
        Schema::from_value(self.schema_value())
    }

    /// Returns the subresources.
    pub(super) fn subresources(self) -> CustomResourceSubresources<'a, 'a> {
        typed(self.subresources)
    }

    /// Whether there is a `status` subresource.
    pub(super) fn has_status(self) -> bool {
        self.subresources().status().exists()
    }

    /// Returns the columns of tables.
    pub(super) fn columns(self) -> impl Iterator<Item = CustomResourceColumnDefinition<'a, 'a>> {
        self.columns.iter().map(|column| typed(Some(column)))
    }

    /// Returns the fields that field selectors may name.
    pub(super) fn selectable(self) -> impl Iterator<Item = SelectableField<'a, 'a>> {
        self.selectable.iter().map(|field| typed(Some(field)))
    }
}

/// Returns the name of the first version that is the storage version.
pub(super) fn storage_version(object: &Object) -> Option<&str> {
    let spec = CustomResourceDefinition(object).spec();
    let versions = spec.versions();
    let stored = versions.elements().find(|version| version.storage().is_true());
    stored.map(|version| version.name().text())
}
