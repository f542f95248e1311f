//! The parts of a stored definition that a server needs, typed and owned.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use registry_core::api::{Object, Scope};
use registry_core::rest::webhook::{WebhookClientConfig, WebhookTarget};
use resource_views::apiextensions::v1::{
    CustomResourceColumnDefinition, CustomResourceConversion, CustomResourceDefinition,
    CustomResourceDefinitionNames, CustomResourceDefinitionVersion, CustomResourceSubresourceScale,
    ServiceReference,
};
use resource_views::{List, Text};

use super::conditions::{TERMINATING, is_established};
use super::view::has_condition;

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
    /// The names of the versions in which custom resources may be stored, whatever the present storage version is.
    pub stored_versions: Vec<String>,
    /// The conversion of custom resources between versions.
    pub conversion: Conversion,
    /// Whether unknown fields of custom resources are kept.
    pub preserve_unknown_fields: bool,
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
        let spec = CustomResourceDefinition(object).spec();
        let status = CustomResourceDefinition(object).status();
        let versions: Vec<_> =
            spec.versions().elements().map(|version| DefinitionVersion::parse(&version)).collect();
        if versions.iter().filter(|version| version.is_storage).count() != 1 {
            return Err(DefinitionFault::StorageVersions);
        }
        let scope = match spec.scope().text() {
            "Cluster" => Scope::Cluster,
            "Namespaced" => Scope::Namespaced,
            other => return Err(DefinitionFault::Scope(other.to_owned())),
        };
        let names = Names::parse(&spec.names());
        if names.plural.is_empty() || names.kind.is_empty() || spec.group().text().is_empty() {
            return Err(DefinitionFault::NoNames);
        }
        let conversion = Conversion::parse(&spec.conversion())?;
        Ok(Self {
            name: object.name().to_owned(),
            uid: object.uid().to_owned(),
            generation: object.generation(),
            group: spec.group().text().to_owned(),
            names,
            accepted_names: Names::parse(&status.accepted_names()),
            scope,
            versions,
            stored_versions: status.stored_versions().texts().map(str::to_owned).collect(),
            conversion,
            preserve_unknown_fields: spec.preserve_unknown_fields().is_true(),
            is_established: is_established(object),
            is_terminating: has_condition(object, TERMINATING, "True"),
        })
    }
}

impl Names {
    fn parse(names: &CustomResourceDefinitionNames<'_, '_>) -> Self {
        Self {
            plural: names.plural().text().to_owned(),
            singular: names.singular().text().to_owned(),
            kind: names.kind().text().to_owned(),
            list_kind: names.list_kind().text().to_owned(),
            short_names: owned(&names.short_names()),
            categories: owned(&names.categories()),
        }
    }
}

impl DefinitionVersion {
    fn parse(version: &CustomResourceDefinitionVersion<'_, '_>) -> Self {
        let subresources = version.subresources();
        let scale = subresources.scale();
        let columns = version.additional_printer_columns();
        let selectable = version.selectable_fields();
        Self {
            name: version.name().text().to_owned(),
            is_served: version.served().is_true(),
            is_storage: version.storage().is_true(),
            is_deprecated: version.deprecated().is_true(),
            deprecation_warning: version.deprecation_warning().optional_text().map(str::to_owned),
            has_status: subresources.status().exists(),
            scale: scale.exists().then(|| Scale::parse(&scale)),
            columns: columns.elements().map(|column| ColumnDefinition::parse(&column)).collect(),
            selectable_fields: selectable
                .elements()
                .map(|field| field.json_path().text().to_owned())
                .collect(),
        }
    }
}

impl Scale {
    fn parse(scale: &CustomResourceSubresourceScale<'_, '_>) -> Self {
        let selector = scale.label_selector_path().optional_text();
        Self {
            spec_replicas_path: scale.spec_replicas_path().text().to_owned(),
            status_replicas_path: scale.status_replicas_path().text().to_owned(),
            label_selector_path: selector.filter(|path| !path.is_empty()).map(str::to_owned),
        }
    }
}

impl ColumnDefinition {
    fn parse(column: &CustomResourceColumnDefinition<'_, '_>) -> Self {
        Self {
            name: column.name().text().to_owned(),
            kind: column.r#type().text().to_owned(),
            format: column.format().text().to_owned(),
            description: column.description().text().to_owned(),
            priority: i32::try_from(column.priority().number()).unwrap_or(i32::MAX),
            json_path: column.json_path().text().to_owned(),
        }
    }
}

impl Conversion {
    fn parse(conversion: &CustomResourceConversion<'_, '_>) -> Result<Self, DefinitionFault> {
        match conversion.strategy().text() {
            "" | "None" => return Ok(Self::None),
            "Webhook" => {}
            other => return Err(DefinitionFault::Strategy(other.to_owned())),
        }
        let webhook = conversion.webhook();
        let client = webhook.client_config();
        let service = client.service();
        let target = match client.url().optional_text() {
            Some(url) if !service.exists() => WebhookTarget::Url(url.to_owned()),
            None if service.exists() => service_target(&service)?,
            _ => return Err(DefinitionFault::NoTarget),
        };
        let ca_bundle = STANDARD.decode(client.ca_bundle().text())?;
        Ok(Self::Webhook(ConversionWebhook {
            client: WebhookClientConfig { target, ca_bundle },
            review_versions: owned(&webhook.conversion_review_versions()),
        }))
    }
}

fn service_target(service: &ServiceReference<'_, '_>) -> Result<WebhookTarget, DefinitionFault> {
    let port = service.port().integer().unwrap_or(443);
    Ok(WebhookTarget::Service {
        namespace: service.namespace().text().to_owned(),
        name: service.name().text().to_owned(),
        path: service.path().text().to_owned(),
        port: u16::try_from(port).map_err(|_| DefinitionFault::Port(port))?,
    })
}

fn owned(texts: &List<Text<'_, '_>>) -> Vec<String> {
    texts.texts().map(str::to_owned).collect()
}
