//! The parts of a stored definition that a server needs, typed and owned.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use registry_core::api::Object;
use registry_core::rest::webhook::{WebhookClientConfig, WebhookTarget};
use serde_json::Value;

use super::conditions::{ESTABLISHED, NAMES_ACCEPTED, TERMINATING};
use super::view::{self, get, has_condition, is_true, list, text};

/// A definition of a custom resource.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// The name of the definition: `widgets.example.com`.
    pub name: String,
    /// The uid of the definition.
    pub uid: String,
    /// The generation of the definition's spec.
    pub generation: i64,
    /// The API group.
    pub group: String,
    /// The requested names.
    pub names: Names,
    /// The accepted names, under which the resource is served.
    pub accepted_names: Names,
    /// Whether custom resources are in namespaces.
    pub scope: Scope,
    /// The versions, in the order of the definition.
    pub versions: Vec<DefinitionVersion>,
    /// The versions in which custom resources may be stored.
    pub stored_versions: Vec<String>,
    /// The conversion of custom resources between versions.
    pub conversion: Conversion,
    /// Whether unknown fields of custom resources are kept.
    pub preserve_unknown_fields: bool,
    /// Whether the names are accepted.
    pub is_accepted: bool,
    /// Whether the resource is served.
    pub is_established: bool,
    /// Whether the definition is being deleted.
    pub is_terminating: bool,
}

/// The names of a custom resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// The name in paths.
    pub plural: String,
    /// The name of one object.
    pub singular: String,
    /// The kind.
    pub kind: String,
    /// The kind of lists.
    pub list_kind: String,
    /// Abbreviations of the name.
    pub short_names: Vec<String>,
    /// The categories that the resource is in.
    pub categories: Vec<String>,
}

/// The scope of custom resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// In no namespace.
    Cluster,
    /// In namespaces.
    Namespaced,
}

/// A version of a custom resource.
#[derive(Clone, Debug, PartialEq)]
pub struct DefinitionVersion {
    /// The name.
    pub name: String,
    /// Whether it is served.
    pub is_served: bool,
    /// Whether custom resources are stored in it.
    pub is_storage: bool,
    /// Whether clients are warned.
    pub is_deprecated: bool,
    /// The warning, if not the usual one.
    pub deprecation_warning: Option<String>,
    /// The OpenAPI schema (`JSONSchemaProps`).
    pub schema: Option<Value>,
    /// Whether there is a `status` subresource.
    pub has_status: bool,
    /// The `scale` subresource, if there is one.
    pub scale: Option<Scale>,
    /// The columns of tables beside the name.
    pub columns: Vec<ColumnDefinition>,
    /// The paths of fields that field selectors may name.
    pub selectable_fields: Vec<String>,
}

/// The paths of the fields of the `scale` subresource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scale {
    /// The path of the wanted number.
    pub spec_replicas_path: String,
    /// The path of the actual number.
    pub status_replicas_path: String,
    /// The path of the selector, if there is one.
    pub label_selector_path: Option<String>,
}

/// A column of tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnDefinition {
    /// The title.
    pub name: String,
    /// The OpenAPI type, or `date`.
    pub kind: String,
    /// The OpenAPI format.
    pub format: String,
    /// The description.
    pub description: String,
    /// 0 for columns that are always shown.
    pub priority: i32,
    /// The path of the cell.
    pub json_path: String,
}

/// The conversion of custom resources between versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conversion {
    /// Only `apiVersion` changes.
    None,
    /// A webhook converts.
    Webhook(ConversionWebhook),
}

/// A webhook that converts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversionWebhook {
    /// The target of the webhook, and the authorities that its certificate is checked against.
    pub client: WebhookClientConfig,
    /// The versions of reviews that it understands, in its order of preference.
    pub review_versions: Vec<String>,
}

/// Error of a definition whose kinds cannot be served. Not retryable.
#[derive(Debug, thiserror::Error)]
#[error("{definition}: {source}")]
pub struct DefinitionError {
    definition: String,
    source: DefinitionFault,
}

/// The fault of a definition.
#[derive(Debug, thiserror::Error)]
pub(in crate::api::apiextensions) enum DefinitionFault {
    #[error("one version must be the storage version")]
    StorageVersions,
    #[error("unknown scope {0:?}")]
    Scope(String),
    #[error("the group, the plural or the kind is missing")]
    NoNames,
    #[error("unknown conversion strategy {0:?}")]
    Strategy(String),
    #[error("the conversion's webhook must have a URL or a service")]
    NoTarget,
    #[error("the conversion's caBundle: {0}")]
    Bundle(#[from] base64::DecodeError),
    #[error("the conversion's port {0} is out of range")]
    Port(i64),
    #[error("status.acceptedNames.{0} is empty")]
    NotAccepted(&'static str),
    #[error("there is no storage version")]
    NoStorageVersion,
    #[error("there is no version {0}")]
    NoVersion(usize),
}

// === impl Definition ===

impl Definition {
    /// Reads a stored definition.
    ///
    /// # Errors
    /// Fails with a reason if the object is not a valid definition.
    pub fn parse(object: &Object) -> Result<Self, DefinitionError> {
        Self::read(object).map_err(|source| DefinitionError { definition: object.name().to_owned(), source })
    }

    /// Returns the error of a fault of this definition.
    pub(in crate::api::apiextensions) fn fault(&self, source: DefinitionFault) -> DefinitionError {
        DefinitionError { definition: self.name.clone(), source }
    }

    fn read(object: &Object) -> Result<Self, DefinitionFault> {
        let spec = object.0.get("spec");
        let status = object.0.get("status");
        let versions: Vec<_> = list(spec, "versions").iter().map(DefinitionVersion::parse).collect();
        if versions.iter().filter(|version| version.is_storage).count() != 1 {
            return Err(DefinitionFault::StorageVersions);
        }
        let scope = match text(spec, "scope") {
            "Cluster" => Scope::Cluster,
            "Namespaced" => Scope::Namespaced,
            other => return Err(DefinitionFault::Scope(other.to_owned())),
        };
        let names = Names::parse(get(spec, "names"));
        if names.plural.is_empty() || names.kind.is_empty() || text(spec, "group").is_empty() {
            return Err(DefinitionFault::NoNames);
        }
        let conversion = Conversion::parse(get(spec, "conversion"))?;
        Ok(Self {
            name: object.name().to_owned(),
            uid: object.uid().to_owned(),
            generation: object.generation(),
            group: text(spec, "group").to_owned(),
            names,
            accepted_names: Names::parse(get(status, "acceptedNames")),
            scope,
            versions,
            stored_versions: texts(status, "storedVersions"),
            conversion,
            preserve_unknown_fields: is_true(spec, "preserveUnknownFields"),
            is_accepted: has_condition(object, NAMES_ACCEPTED, "True"),
            is_established: has_condition(object, ESTABLISHED, "True"),
            is_terminating: has_condition(object, TERMINATING, "True"),
        })
    }

    /// Returns a version.
    pub fn version(&self, name: &str) -> Option<&DefinitionVersion> {
        self.versions.iter().find(|version| version.name == name)
    }

    /// Returns the version in which custom resources are stored.
    pub fn storage_version(&self) -> Option<&DefinitionVersion> {
        self.versions.iter().find(|version| version.is_storage)
    }
}

impl Names {
    fn parse(names: Option<&Value>) -> Self {
        Self {
            plural: text(names, "plural").to_owned(),
            singular: text(names, "singular").to_owned(),
            kind: text(names, "kind").to_owned(),
            list_kind: text(names, "listKind").to_owned(),
            short_names: texts(names, "shortNames"),
            categories: texts(names, "categories"),
        }
    }
}

impl DefinitionVersion {
    fn parse(version: &Value) -> Self {
        let version = Some(version);
        let subresources = get(version, "subresources");
        let selectable = list(version, "selectableFields").iter();
        Self {
            name: text(version, "name").to_owned(),
            is_served: is_true(version, "served"),
            is_storage: is_true(version, "storage"),
            is_deprecated: is_true(version, "deprecated"),
            deprecation_warning: optional(version, "deprecationWarning"),
            schema: get(get(version, "schema"), "openAPIV3Schema").cloned(),
            has_status: get(subresources, "status").is_some(),
            scale: get(subresources, "scale").map(Scale::parse),
            columns: list(version, "additionalPrinterColumns").iter().map(ColumnDefinition::parse).collect(),
            selectable_fields: selectable.map(|field| text(Some(field), "jsonPath").to_owned()).collect(),
        }
    }
}

impl Scale {
    fn parse(scale: &Value) -> Self {
        let scale = Some(scale);
        Self {
            spec_replicas_path: text(scale, "specReplicasPath").to_owned(),
            status_replicas_path: text(scale, "statusReplicasPath").to_owned(),
            label_selector_path: optional(scale, "labelSelectorPath").filter(|path| !path.is_empty()),
        }
    }
}

impl ColumnDefinition {
    fn parse(column: &Value) -> Self {
        let column = Some(column);
        let priority = get(column, "priority").and_then(Value::as_i64).unwrap_or_default();
        Self {
            name: text(column, "name").to_owned(),
            kind: text(column, "type").to_owned(),
            format: text(column, "format").to_owned(),
            description: text(column, "description").to_owned(),
            priority: i32::try_from(priority).unwrap_or(i32::MAX),
            json_path: text(column, "jsonPath").to_owned(),
        }
    }
}

impl Conversion {
    fn parse(conversion: Option<&Value>) -> Result<Self, DefinitionFault> {
        match text(conversion, "strategy") {
            "" | "None" => return Ok(Self::None),
            "Webhook" => {}
            other => return Err(DefinitionFault::Strategy(other.to_owned())),
        }
        let webhook = view::get(conversion, "webhook");
        let client = get(webhook, "clientConfig");
        let target = match (optional(client, "url"), get(client, "service")) {
            (Some(url), None) => WebhookTarget::Url(url),
            (None, Some(service)) => service_target(service)?,
            _ => return Err(DefinitionFault::NoTarget),
        };
        let ca_bundle = STANDARD.decode(text(client, "caBundle"))?;
        Ok(Self::Webhook(ConversionWebhook {
            client: WebhookClientConfig { target, ca_bundle },
            review_versions: texts(webhook, "conversionReviewVersions"),
        }))
    }
}

fn service_target(service: &Value) -> Result<WebhookTarget, DefinitionFault> {
    let service = Some(service);
    let port = get(service, "port").and_then(Value::as_i64).unwrap_or(443);
    Ok(WebhookTarget::Service {
        namespace: text(service, "namespace").to_owned(),
        name: text(service, "name").to_owned(),
        path: text(service, "path").to_owned(),
        port: u16::try_from(port).map_err(|_| DefinitionFault::Port(port))?,
    })
}

fn optional(value: Option<&Value>, name: &str) -> Option<String> {
    get(value, name).and_then(Value::as_str).map(str::to_owned)
}

fn texts(value: Option<&Value>, name: &str) -> Vec<String> {
    list(value, name).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}
