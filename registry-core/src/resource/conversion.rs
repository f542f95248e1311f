//! Several versions of one kind with one stored version: the hub is stored, spokes are converted to it and from it.
//!
//! An author writes `hub = Enclosure` on the spoke's struct, and `impl TryFrom` (or `From`) in both directions; for a
//! foreign type, for which the author cannot implement these, [`Spoke`] on the unit struct that represents it.
//!
//! Kubernetes concept: [versions of one API](https://kubernetes.io/docs/reference/using-api/deprecation-policy/) and
//! the internal version through which they are converted; storage versions.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use crate::api::object::ViewError;
use crate::api::{GroupVersion, Object};
use crate::budget::{Budget, Exhausted};
use crate::codec::DecodeError;
use crate::schema::ConformError;

use super::{Resource, ResourceType};

/// A version of a kind that is stored as another version. The derive implements it for a struct with `hub = …`; for a
/// unit struct that represents a foreign type, the author implements it.
///
/// Both directions must be lossless: what one version cannot represent in fields it keeps in annotations, as
/// Kubernetes' own kinds do. Use [`testing`](super::testing) to check it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has a `hub = …`, but no conversion",
    label = "needs `impl registry_core::resource::conversion::Spoke`",
    note = "convert a foreign type by `impl Spoke for {Self}`, an own struct by `impl TryFrom` both ways"
)]
pub trait Spoke: Resource {
    /// The stored version.
    type Hub: Resource;

    /// Converts to the hub. The caller sets `apiVersion` and `kind` and conforms the object to the schema.
    ///
    /// # Errors
    /// Fails if the hub cannot represent the object: 400 for a client.
    fn to_hub(object: Object) -> Result<Object, ConversionError>;

    /// Converts from the hub.
    ///
    /// # Errors
    /// Fails if this version cannot represent the stored object: 500 for a client.
    fn from_hub(object: Object) -> Result<Object, ConversionError>;
}

/// The conversion between a spoke and its hub.
pub struct Conversion {
    /// The resource whose objects are stored.
    pub hub: Arc<ResourceType>,
    /// The converter of the objects.
    pub converter: Converter,
    /// The hub's names of the spoke's selectable fields, in the order of `selectable`.
    pub hub_fields: Box<[&'static str]>,
}

/// A converter of objects.
pub enum Converter {
    /// By functions of this process.
    Functions {
        /// Converts an object of the spoke, as [`Spoke::to_hub`] does.
        to_hub: ConvertObject,
        /// Converts an object of the hub, as [`Spoke::from_hub`] does.
        from_hub: ConvertObject,
    },
    /// By a service outside of this process.
    Remote(Arc<dyn RemoteConverter>),
}

/// Converts an object.
pub type ConvertObject = Box<dyn Fn(Object) -> Result<Object, ConversionError> + Send + Sync>;

/// Converts objects outside of this process.
///
/// Kubernetes concept: [webhook conversion](https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#webhook-conversion).
#[async_trait]
pub trait RemoteConverter: Send + Sync + 'static {
    /// Converts objects to the version `api_version`. Returns as many objects in the same order.
    ///
    /// # Errors
    /// Fails if the service cannot be reached, refuses, or returns something else than the objects in that version.
    async fn convert(&self, objects: Vec<Object>, api_version: &str) -> Result<Vec<Object>, ConversionError>;
}

/// Error of a conversion: the other version cannot represent the object. Not retryable, but for what takes place outside of
/// this process. Clients see the text.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ConversionError {
    /// A value does not match the schema.
    #[error(transparent)]
    Nonconforming(#[from] ConformError),
    /// The defaults, or the request that needs the conversion, take too much.
    #[error(transparent)]
    Exhausted(#[from] Exhausted),
    /// The object does not match its Rust type.
    #[error(transparent)]
    Type(Arc<ViewError>),
    /// A part of the object does not match its Rust type.
    #[error(transparent)]
    Part(Arc<serde_json::Error>),
    /// The stored object cannot be decoded.
    #[error(transparent)]
    Undecodable(Arc<DecodeError>),
    /// In the words of the author's `TryFrom`.
    #[error("{0}")]
    Unrepresentable(String),
    /// The version is not served.
    #[error("{0} is not served")]
    NotServed(String),
    /// It cannot be converted here and now.
    #[error("{0} is converted outside of this process")]
    Remote(GroupVersion),
    /// The conversion outside of this process failed.
    #[error("{0}")]
    Outside(#[source] Arc<dyn std::error::Error + Send + Sync>),
    /// One object was to be converted.
    #[error("the conversion did not return one object for one")]
    NotOne,
    /// Some objects were to be converted.
    #[error("the conversion returned another number of objects")]
    OtherNumber,
    /// The result is not an object.
    #[error("the converted value is not an object")]
    NoObject,
}

// === impl ConversionError ===

impl ConversionError {
    /// Returns the error of a conversion outside of this process.
    pub fn outside(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Outside(Arc::new(error))
    }
}

impl From<ViewError> for ConversionError {
    fn from(error: ViewError) -> Self {
        Self::Type(Arc::new(error))
    }
}

impl From<DecodeError> for ConversionError {
    fn from(error: DecodeError) -> Self {
        Self::Undecodable(Arc::new(error))
    }
}

impl From<serde_json::Error> for ConversionError {
    fn from(error: serde_json::Error) -> Self {
        Self::Part(Arc::new(error))
    }
}

// === impl Conversion ===

impl Conversion {
    /// Returns the hub's name of a selectable field of the spoke.
    pub fn hub_field(&self, spoke: &ResourceType, name: &str) -> Option<&'static str> {
        let place = spoke.selectable.iter().position(|field| field.name == name)?;
        self.hub_fields.get(place).copied()
    }
}

impl fmt::Debug for Conversion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversion").field("hub", &self.hub).finish_non_exhaustive()
    }
}

// === impl ResourceType ===

impl ResourceType {
    /// Returns the resource whose objects are stored: the hub, or this one if it has none.
    pub fn stored(&self) -> &Self {
        match &self.hub {
            Some(conversion) => &conversion.hub,
            None => self,
        }
    }

    /// Whether this is the same resource in the same version.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.resource() == other.resource()
    }

    /// Conforms an object of this version to the schema, and sets the defaults, whose memory it takes from a budget.
    ///
    /// # Errors
    /// Fails if a value has the wrong type, or if the budget is exhausted.
    pub(super) fn in_current_form(&self, object: Object, budget: &Budget) -> Result<Object, ConversionError> {
        let mut value = conformed(self, object)?.into_value();
        self.schema().apply_defaults(&mut value, budget)?;
        let mut object = into_object(value)?;
        self.strategy.apply_defaults(&mut object);
        Ok(object)
    }

    /// Returns a converted object of this version as it is stored.
    fn in_stored_form(&self, object: Object) -> Result<Object, ConversionError> {
        if self.schema().structural().is_some() {
            return conformed(self, object);
        }
        self.in_current_form(object, &Budget::default())
    }

    /// Converts stored objects to this version, conformed to this version's schema.
    ///
    /// # Errors
    /// Fails as [`Spoke::from_hub`] does, or as the remote converter does.
    pub async fn convert_stored(&self, stored: Vec<Object>) -> Result<Vec<Object>, ConversionError> {
        match self.remote() {
            Some((_, remote)) => {
                let converted = remote.convert(stored, &self.group_version().api_version()).await?;
                converted.into_iter().map(|object| conformed(self, object)).collect()
            }
            None => stored.into_iter().map(|object| self.convert_stored_here(object)).collect(),
        }
    }

    /// Converts objects of this version to the stored version, ready to be stored. A custom resource gets no defaults of
    /// the stored version: they are not stored, but set whenever it is read.
    ///
    /// # Errors
    /// Fails as [`Spoke::to_hub`] does, or as the remote converter does.
    pub async fn to_stored(&self, objects: Vec<Object>) -> Result<Vec<Object>, ConversionError> {
        match self.remote() {
            Some((conversion, remote)) => {
                let api_version = conversion.hub.group_version().api_version();
                let converted = remote.convert(objects, &api_version).await?;
                converted.into_iter().map(|object| conversion.hub.in_stored_form(object)).collect()
            }
            None => objects.into_iter().map(|object| self.to_stored_here(object)).collect(),
        }
    }

    /// Converts one stored object to this version by functions of this process, without waiting.
    ///
    /// # Errors
    /// Fails as [`convert_stored`](Self::convert_stored) does, and if objects are [converted
    /// remotely](Self::is_converted_remotely).
    pub fn convert_stored_here(&self, stored: Object) -> Result<Object, ConversionError> {
        match self.hub.as_ref().map(|conversion| &conversion.converter) {
            None => Ok(stored),
            Some(Converter::Functions { from_hub, .. }) => conformed(self, from_hub(stored)?),
            Some(Converter::Remote(_)) => Err(self.not_here()),
        }
    }

    /// Converts one object to the stored version by functions of this process, without waiting.
    ///
    /// # Errors
    /// Fails as [`to_stored`](Self::to_stored) does, and if objects are [converted remotely](Self::is_converted_remotely).
    pub fn to_stored_here(&self, object: Object) -> Result<Object, ConversionError> {
        let Some(conversion) = &self.hub else { return Ok(object) };
        match &conversion.converter {
            Converter::Functions { to_hub, .. } => conversion.hub.in_stored_form(to_hub(object)?),
            Converter::Remote(_) => Err(self.not_here()),
        }
    }

    fn not_here(&self) -> ConversionError {
        ConversionError::Remote(self.group_version())
    }

    /// Whether objects are converted to the stored version outside of this process.
    pub fn is_converted_remotely(&self) -> bool {
        self.remote().is_some()
    }

    fn remote(&self) -> Option<(&Conversion, &dyn RemoteConverter)> {
        let conversion = self.hub.as_deref()?;
        match &conversion.converter {
            Converter::Functions { .. } => None,
            Converter::Remote(remote) => Some((conversion, remote.as_ref())),
        }
    }
}

/// Returns the only object of a conversion of one.
pub(crate) fn only(mut converted: Vec<Object>) -> Result<Object, ConversionError> {
    match (converted.pop(), converted.is_empty()) {
        (Some(object), true) => Ok(object),
        _ => Err(ConversionError::NotOne),
    }
}

/// Sets the object's type to this resource's and conforms it to the schema.
pub(super) fn conformed(resource: &ResourceType, mut object: Object) -> Result<Object, ConversionError> {
    object.set_type(&resource.group_version().api_version(), resource.kind.kind);
    let mut value: Value = object.into_value();
    resource.schema().conform_within(&Budget::default(), &mut value, &mut Vec::new())?;
    into_object(value)
}

fn into_object(value: Value) -> Result<Object, ConversionError> {
    Object::from_value(value).map_err(|_| ConversionError::NoObject)
}
