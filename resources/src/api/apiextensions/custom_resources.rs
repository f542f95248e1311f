//! Custom resources: the kinds that a `CustomResourceDefinition` defines, as kinds of the engine.
//!
//! [`CustomKinds::new`] makes a [`ResourceType`] of each version of a definition. The storage version is the hub, all others
//! are spokes, served or not: objects that were stored in a version that is no longer served remain readable.
//!
//! A kind that is not used costs its names and columns. The schema and the rules of a version are compiled for the first
//! request that needs them, from the stored definition, and shared by all requests (`compiled`).
//!
//! | module | contents |
//! |---|---|
//! | `strategy` | the rules for writes |
//! | `scale` | the fields of the `scale` subresource |
//! | `conversion` | the conversion between versions |
//! | `columns` | the columns of tables |
//! | `finalizers`, `deprecation` | warnings |
//! | `compiled` | the compiled schema of a version |
//! | `intern` | names that are only known at run time |
//!
//! Kubernetes concept: [custom resources](https://kubernetes.io/docs/concepts/extend-kubernetes/api-extension/custom-resources/).

use std::sync::Arc;

use registry_core::api::GroupVersionKind;
use registry_core::registry::ServedKind;
use registry_core::release::Lifecycle;
use registry_core::resource::conversion::Conversion;
use registry_core::resource::{ResourceProperties, ResourceType, SchemaSource, Versions, WriteRules};
use registry_core::rest::webhook::WebhookCaller;
use registry_core::storage::StoredObject;

use super::customresourcedefinitions::definition::{
    Definition, DefinitionError, DefinitionFault, DefinitionVersion,
};
pub(super) use compiled::Compiling;
use compiled::{Compiled, Preparation};
use intern::Path;
use scale::ScaleRules;
use strategy::{CustomStrategy, KindRules, VersionRules};

mod columns;
mod compiled;
mod conversion;
mod deprecation;
mod finalizers;
pub(crate) mod intern;
mod scale;
mod strategy;
#[cfg(test)]
mod tests;

/// The names that every resource can be selected by.
const NAMES: [&str; 2] = ["metadata.name", "metadata.namespace"];

/// The kinds of a definition, one for each version.
#[derive(Clone, Debug)]
pub struct CustomKinds {
    /// All versions; the storage version is the hub.
    pub versions: Arc<Versions>,
    /// The served versions, in the order of the definition.
    pub served: Vec<ServedKind>,
}

/// The version that is being made, and what all versions of its kind share.
struct Making<'a> {
    definition: &'a Definition,
    rules: &'a Arc<KindRules>,
    /// The selectable fields of all versions.
    selectable: &'a [&'static str],
    webhooks: &'a Arc<dyn WebhookCaller>,
    compiling: &'a Compiling,
}

// === impl CustomKinds ===

impl CustomKinds {
    /// Makes the kinds of a definition that is stored as `stored`, whose names were accepted.
    ///
    /// `webhooks` calls the webhook that converts between versions, if the definition has one. `compiling` limits the number
    /// of schemas that are compiled at the same time.
    ///
    /// # Errors
    /// Fails with a reason if the definition has no accepted names, or no storage version.
    pub fn new(
        definition: &Definition,
        stored: &StoredObject,
        webhooks: &Arc<dyn WebhookCaller>,
        compiling: &Compiling,
    ) -> Result<Self, DefinitionError> {
        let names = &definition.accepted_names;
        for (field, name) in [
            ("plural", &names.plural),
            ("singular", &names.singular),
            ("kind", &names.kind),
            ("listKind", &names.list_kind),
        ] {
            if name.is_empty() {
                return Err(definition.fault(DefinitionFault::NotAccepted(field)));
            }
        }
        let hub_at = definition.versions.iter().position(|version| version.is_storage);
        let hub_at = hub_at.ok_or_else(|| definition.fault(DefinitionFault::NoStorageVersion))?;
        let rules = Arc::new(kind_rules(definition, stored));
        let selectable = all_selectable(&rules, hub_at);
        let making = Making { definition, rules: &rules, selectable: &selectable, webhooks, compiling };
        let mut made: Vec<Option<Arc<ResourceType>>> = vec![None; definition.versions.len()];
        let hub = making.version(hub_at, None)?;
        for (at, slot) in made.iter_mut().enumerate() {
            *slot = Some(if at == hub_at { hub.clone() } else { making.version(at, Some(&hub))? });
        }
        let spokes = made.iter().flatten().filter(|version| version.hub.is_some()).cloned();
        let versions = Versions::new(hub, spokes);
        let served = definition.versions.iter().zip(made.into_iter().flatten());
        let served = served.filter(|(version, _)| version.is_served).map(|(version, resource)| ServedKind {
            has_scale: resource.scale.is_some(),
            has_status: version.has_status,
            resource,
        });
        Ok(Self { served: served.collect(), versions: Arc::new(versions) })
    }
}

/// Returns the rules of all versions.
fn kind_rules(definition: &Definition, stored: &StoredObject) -> KindRules {
    let group = intern::text(&definition.group);
    let kind = intern::text(&definition.accepted_names.kind);
    let version_rules = |version: &DefinitionVersion| {
        let kind = GroupVersionKind { group, version: intern::text(&version.name), kind };
        let fields = version.selectable_fields.iter().map(|path| field_name(path));
        VersionRules {
            kind,
            has_status: version.has_status,
            scale: version.scale.as_ref().map(ScaleRules::new),
            selectable: intern::texts(fields),
            compiled: Compiled::new(stored.clone(), kind, definition.preserve_unknown_fields),
        }
    };
    KindRules {
        plural: intern::text(&definition.accepted_names.plural),
        all_have_status: definition.versions.iter().all(|version| version.has_status),
        versions: definition.versions.iter().map(version_rules).collect(),
    }
}

/// Returns the selectable fields of all versions, those of the hub first: the storage extracts them from the stored object.
fn all_selectable(rules: &KindRules, hub_at: usize) -> Vec<&'static str> {
    let hub = rules.versions.get(hub_at).into_iter();
    let mut all: Vec<&'static str> = Vec::new();
    for version in hub.chain(&rules.versions) {
        for field in version.selectable {
            if !all.contains(field) {
                all.push(field);
            }
        }
    }
    all
}

/// Returns the source of a version's schema: compiled for requests, and as it is written in the definition for the
/// documents about the API.
fn schema_source(
    definition: &Definition,
    compiled: Arc<Compiled>,
    preparation: Preparation,
    selectable: Path,
) -> SchemaSource {
    let names = &definition.accepted_names;
    let fingerprint = format!("{} {} {names:?}", definition.uid, definition.generation);
    let published = compiled.clone();
    SchemaSource::new(move || compiled.get().schema.clone())
        .with_preparation(Arc::new(preparation))
        .with_published(move || published.published())
        .with_fingerprint(fingerprint)
        .with_published_fields(selectable)
}

/// Returns the name of a selectable field in selectors.
fn field_name(json_path: &str) -> &str {
    json_path.strip_prefix('.').unwrap_or(json_path)
}

// === impl Making ===

impl Making<'_> {
    /// Makes the resource of a version; `hub` is `None` for the hub itself.
    fn version(
        &self,
        at: usize,
        hub: Option<&Arc<ResourceType>>,
    ) -> Result<Arc<ResourceType>, DefinitionError> {
        let Self { definition, rules, .. } = *self;
        let (Some(version), Some(own)) = (definition.versions.get(at), rules.versions.get(at)) else {
            return Err(definition.fault(DefinitionFault::NoVersion(at)));
        };
        let names = &definition.accepted_names;
        let fields: Path =
            if hub.is_none() { intern::texts(self.selectable.iter().copied()) } else { own.selectable };
        let compiled = own.compiled.clone();
        let deprecation = deprecation::warning(definition, version);
        let properties = ResourceProperties {
            kind: own.kind,
            lifecycle: Lifecycle::default(),
            deprecation: deprecation.as_deref().map(intern::text),
            retired: &[],
            list_kind: intern::text(&names.list_kind),
            plural: rules.plural,
            singular: intern::text(&names.singular),
            short_names: intern::texts(names.short_names.iter().map(String::as_str)),
            categories: intern::texts(names.categories.iter().map(String::as_str)),
            scope: definition.scope,
            storage_prefix: intern::text(&format!("{}/{}", definition.group, names.plural)),
            selectable: intern::selectable(fields),
            indexes: &[],
            field_names: intern::texts(NAMES.into_iter().chain(fields.iter().copied())),
            row_conditions: None,
            has_status: if hub.is_none() { rules.all_have_status } else { version.has_status },
            has_generation: true,
            scale: own.scale.as_ref().map(|scale| scale.paths),
            time_to_live_seconds: None,
            returns_deleted_object: false,
            serves_deletecollection: true,
            is_builtin: false,
            write_rules: WriteRules {
                unconditional_update: false,
                repeated_metadata_errors: true,
                reset: if own.has_status { &[&["status"]] } else { &[] },
                reset_by_status: &[&["metadata"], &["spec"]],
                ..WriteRules::OWN
            },
            declared_at: intern::text(&definition.name),
        };
        Ok(Arc::new(ResourceType {
            properties,
            columns: columns::table_columns(&version.columns),
            strategy: Arc::new(CustomStrategy::new(rules.clone(), at)),
            schema: schema_source(definition, compiled, self.preparation(own), own.selectable),
            hub: hub.map(|hub| {
                let hub_fields = fields.into();
                let converter = conversion::between_versions(definition, self.webhooks);
                Arc::new(Conversion { hub: hub.clone(), converter, hub_fields })
            }),
        }))
    }

    /// Returns what compiles the schemas that requests for a version need: its own, and those of the stored versions.
    fn preparation(&self, own: &VersionRules) -> Preparation {
        let Self { definition, rules, compiling, .. } = *self;
        let versions = definition.versions.iter().zip(&rules.versions);
        let is_stored = |version: &DefinitionVersion| {
            version.is_storage || definition.stored_versions.contains(&version.name)
        };
        let needed = versions.filter(|(version, rules)| is_stored(version) || rules.kind == own.kind);
        Preparation {
            needed: needed.map(|(_, rules)| rules.compiled.clone()).collect(),
            compiling: compiling.clone(),
        }
    }
}
