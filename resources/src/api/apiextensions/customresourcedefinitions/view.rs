//! A view of a definition's spec in which what all versions share is stated once.
//!
//! Kubernetes validates that form, and its errors name the fields of it: `spec.validation` rather than
//! `spec.versions[0].schema` if all versions have the same schema.

use registry_core::api::Object;
use serde_json::Value;

use super::schema::Schema;

/// The spec of a definition.
pub(super) struct Spec<'a> {
    value: Option<&'a Value>,
    /// The parts that all versions share.
    pub(super) shared: Parts<'a>,
    /// The versions, without the shared parts.
    pub(super) versions: Vec<Version<'a>>,
}

/// One version.
pub(super) struct Version<'a> {
    value: &'a Value,
    pub(super) name: &'a str,
    pub(super) served: bool,
    pub(super) storage: bool,
    pub(super) deprecated: bool,
    /// Its own parts: unset if all versions share them.
    pub(super) parts: Parts<'a>,
}

/// The parts that a definition states for each version, or for all versions at once.
#[derive(Clone, Copy, Default)]
pub(super) struct Parts<'a> {
    /// The object around `openAPIV3Schema`.
    pub(super) validation: Option<&'a Value>,
    pub(super) subresources: Option<&'a Value>,
    pub(super) columns: &'a [Value],
    pub(super) selectable: &'a [Value],
}

/// Returns a field that is set.
pub(super) fn get<'a>(value: Option<&'a Value>, name: &str) -> Option<&'a Value> {
    value?.get(name).filter(|value| !value.is_null())
}

/// Returns a text; empty if unset.
pub(super) fn text<'a>(value: Option<&'a Value>, name: &str) -> &'a str {
    get(value, name).and_then(Value::as_str).unwrap_or_default()
}

/// Returns a list; empty if unset.
pub(super) fn list<'a>(value: Option<&'a Value>, name: &str) -> &'a [Value] {
    get(value, name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Whether a field is true.
pub(super) fn is_true(value: Option<&Value>, name: &str) -> bool {
    get(value, name) == Some(&Value::Bool(true))
}

/// Whether a condition of a definition has a status.
pub(super) fn has_condition(object: &Object, kind: &str, status: &str) -> bool {
    let conditions = list(object.0.get("status"), "conditions");
    let found = conditions.iter().find(|condition| text(Some(condition), "type") == kind);
    found.is_some_and(|condition| text(Some(condition), "status") == status)
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
        let value = object.0.get("spec");
        let mut versions: Vec<Version<'a>> =
            list(value, "versions").iter().map(Version::from_value).collect();
        let shared = Parts {
            validation: share(&mut versions, |parts| &mut parts.validation),
            subresources: share(&mut versions, |parts| &mut parts.subresources),
            columns: share(&mut versions, |parts| &mut parts.columns),
            selectable: share(&mut versions, |parts| &mut parts.selectable),
        };
        Self { value, shared, versions }
    }

    /// Returns a field that is set.
    pub(super) fn get(&self, name: &str) -> Option<&'a Value> {
        get(self.value, name)
    }

    /// Returns the versions without the parts that all share; none if unset.
    pub(super) fn own_parts_of_versions(&self) -> Option<Value> {
        self.get("versions")?;
        Some(self.versions.iter().map(Version::own_parts).collect())
    }

    /// Returns a text; empty if unset.
    pub(super) fn text(&self, name: &str) -> &'a str {
        text(self.value, name)
    }

    /// Returns one of the names; empty if unset.
    pub(super) fn name(&self, which: &str) -> &'a str {
        text(self.get("names"), which)
    }

    /// Whether unknown fields of custom resources are kept.
    pub(super) fn preserves_unknown_fields(&self) -> bool {
        is_true(self.value, "preserveUnknownFields")
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
    fn from_value(value: &'a Value) -> Self {
        let this = Some(value);
        Self {
            value,
            name: text(this, "name"),
            served: is_true(this, "served"),
            storage: is_true(this, "storage"),
            deprecated: is_true(this, "deprecated"),
            parts: Parts {
                validation: get(this, "schema"),
                subresources: get(this, "subresources"),
                columns: list(this, "additionalPrinterColumns"),
                selectable: list(this, "selectableFields"),
            },
        }
    }

    fn own_parts(&self) -> Value {
        let fields = self.value.as_object().into_iter().flatten();
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
        get(Some(self.value), "deprecationWarning").and_then(Value::as_str)
    }
}

impl<'a> Parts<'a> {
    /// Returns the schema.
    pub(super) fn schema(self) -> Option<Schema<'a>> {
        Schema::from_value(get(self.validation, "openAPIV3Schema"))
    }

    /// Whether there is a `status` subresource.
    pub(super) fn has_status(&self) -> bool {
        get(self.subresources, "status").is_some()
    }
}

/// Returns the name of the first version that is the storage version.
pub(super) fn storage_version(object: &Object) -> Option<&str> {
    let versions = list(object.0.get("spec"), "versions").iter().map(Some);
    let mut stored = versions.filter(|version| is_true(*version, "storage"));
    stored.next().map(|version| text(version, "name"))
}
