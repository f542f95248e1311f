//! Several versions of one kind over one stored version: the hub is what is stored, spokes are converted to it and
//! from it.
//!
//! An author writes `hub = Enclosure` on the spoke's struct, and `impl TryFrom` (or `From`) both ways; for a foreign
//! type, which has no `impl` of the author's, [`Spoke`] on the unit struct that stands for it.
//!
//! Kubernetes concept: [versions of one API](https://kubernetes.io/docs/reference/using-api/deprecation-policy/) and
//! the internal version they are converted through; storage versions.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::api::Object;

use super::{Resource, ResourceDescription, ResourceType};

pub mod testing;

/// A version of a kind that is stored as another one. The derive implements it for the author's own struct that
/// says `hub = …`; for a unit struct that stands for a foreign type, its author does.
///
/// Both ways must lose nothing: what one version cannot say in fields it keeps in annotations, as Kubernetes' own
/// kinds do. [`testing`] checks it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` says `hub = …`, but nobody says how it is converted",
    label = "needs `impl registry_core::resource::conversion::Spoke`",
    note = "a foreign type is converted by `impl Spoke for {Self}`, its own struct by `impl TryFrom` both ways"
)]
pub trait Spoke: Resource {
    /// What is stored.
    type Hub: Resource;

    /// The hub's object that says the same. `apiVersion`, `kind` and the schema's form are seen to afterwards.
    ///
    /// # Errors
    /// The object says something that the hub has no words for: 400 for a client.
    fn to_hub(object: Object) -> Result<Object, ConversionError>;

    /// This version's object that says the same as the hub's.
    ///
    /// # Errors
    /// What is stored cannot be said in this version: 500 for a client.
    fn from_hub(object: Object) -> Result<Object, ConversionError>;
}

/// How a spoke is converted, as the derive writes it down.
#[derive(Clone, Copy, Debug)]
pub struct ConversionDescription {
    /// What is stored.
    pub hub: &'static ResourceDescription,
    /// [`Spoke::to_hub`].
    pub to_hub: fn(Object) -> Result<Object, ConversionError>,
    /// [`Spoke::from_hub`].
    pub from_hub: fn(Object) -> Result<Object, ConversionError>,
    /// What the spoke's selectable fields are called in the hub, in the order of `selectable`.
    pub hub_fields: &'static [&'static str],
}

/// How the objects of a spoke are converted to those of its hub and back.
pub struct Conversion {
    /// The resource whose objects are stored.
    pub hub: Arc<ResourceType>,
    /// Converts an object of the spoke, as [`Spoke::to_hub`] does.
    pub to_hub: ConvertObject,
    /// Converts an object of the hub, as [`Spoke::from_hub`] does.
    pub from_hub: ConvertObject,
    /// The names that the spoke's selectable fields have in the hub, in the order of `selectable`.
    pub hub_fields: Box<[&'static str]>,
}

/// Converts one object.
pub type ConvertObject = Box<dyn Fn(Object) -> Result<Object, ConversionError> + Send + Sync>;

/// An object cannot be said in the other version. Not retryable: the same object fails again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConversionError(pub String);

// === impl Conversion ===

impl Conversion {
    /// The conversion that a declaration describes, to a hub that is already made.
    pub(super) fn described(description: &ConversionDescription, hub: Arc<ResourceType>) -> Self {
        Self {
            hub,
            to_hub: Box::new(description.to_hub),
            from_hub: Box::new(description.from_hub),
            hub_fields: description.hub_fields.into(),
        }
    }

    /// The hub's object: converted, in the form of the hub's schema, with the hub's defaults, ready to be stored.
    ///
    /// # Errors
    /// As [`Spoke::to_hub`].
    pub fn stored(&self, object: Object) -> Result<Object, ConversionError> {
        let hub = &self.hub;
        let mut value = conformed(hub, (self.to_hub)(object)?)?.into_value();
        hub.schema().apply_defaults(&mut value);
        let mut object = Object::from_value(value).unwrap_or_default();
        hub.strategy.apply_defaults(&mut object);
        Ok(object)
    }

    /// What the hub calls a selectable field of the spoke.
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
    /// The resource whose objects are stored: the hub, or this one when it has none.
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

    /// This version's object of a stored one, in the form of this version's schema.
    ///
    /// # Errors
    /// As [`Spoke::from_hub`].
    pub fn of_stored(&self, stored: Object) -> Result<Object, ConversionError> {
        match &self.hub {
            Some(conversion) => conformed(self, (conversion.from_hub)(stored)?),
            None => Ok(stored),
        }
    }

    /// The object as it is stored, of this version's one.
    ///
    /// # Errors
    /// As [`Spoke::to_hub`].
    pub fn to_stored(&self, object: Object) -> Result<Object, ConversionError> {
        match &self.hub {
            Some(conversion) => conversion.stored(object),
            None => Ok(object),
        }
    }
}

/// An object of this resource's type, brought into its schema's form.
fn conformed(resource: &ResourceType, mut object: Object) -> Result<Object, ConversionError> {
    object.set_type(&resource.group_version().api_version(), resource.kind.kind);
    let mut value: Value = object.into_value();
    resource.schema().conform(&mut value, &mut Vec::new()).map_err(|fault| ConversionError(fault.text))?;
    Ok(Object::from_value(value).unwrap_or_default())
}

// === at compile time ===

/// Refuses a spoke that does not fit its hub.
///
/// # Panics
/// It does; at compile time, the message is the compiler's error.
#[track_caller]
pub const fn check(spoke: &ResourceDescription) {
    let Some(conversion) = spoke.hub else { return };
    let hub = conversion.hub;
    assert!(hub.hub.is_none(), "a hub is what is stored: it cannot have a `hub = …` itself");
    assert!(
        hub.is_namespaced() == spoke.is_namespaced(),
        "a spoke and its hub are one kind: both are namespaced, or both are cluster-scoped"
    );
    assert!(hub.has_status || !spoke.has_status, "the spoke has a status, its hub has none to store it in");
    assert!(hub.scale.is_some() || spoke.scale.is_none(), "the spoke has a scale, its hub has none");
}

/// The name of the hub's selectable field at a path.
///
/// # Panics
/// The hub has none there; at compile time, the message is the compiler's error.
#[track_caller]
pub const fn hub_field(hub: &ResourceDescription, path: &[&str]) -> &'static str {
    let mut place = 0;
    while let Some((field, _)) = hub.selectable.split_at(place).1.split_first() {
        if same_path(field.path, path) {
            return field.name;
        }
        place += 1;
        if place == hub.selectable.len() {
            break;
        }
    }
    panic!(
        "a selectable field of a spoke must be selectable in its hub: say where it is there with \
         `selectable(spec.field => spec.field_of_hub)`, and add it to the hub's `selectable(…)`"
    )
}

const fn same_path(mut a: &[&str], mut b: &[&str]) -> bool {
    while let (Some((first, rest)), Some((other, others))) = (a.split_first(), b.split_first()) {
        if !same_bytes(first.as_bytes(), other.as_bytes()) {
            return false;
        }
        (a, b) = (rest, others);
    }
    a.is_empty() && b.is_empty()
}

const fn same_bytes(mut a: &[u8], mut b: &[u8]) -> bool {
    while let (Some((first, rest)), Some((other, others))) = (a.split_first(), b.split_first()) {
        if *first != *other {
            return false;
        }
        (a, b) = (rest, others);
    }
    a.is_empty() && b.is_empty()
}
