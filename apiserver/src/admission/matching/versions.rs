//! Objects in the version that a rule matches.
//!
//! Kubernetes concept: `VersionedAttributes` in `k8s.io/apiserver/pkg/admission`.

use std::ops::Deref;
use std::sync::Arc;

use registry_core::api::{GroupVersionKind, Object, StatusError};
use registry_core::context::Budget;
use registry_core::registry::InstalledPath;
use registry_core::resource::conversion::ConversionError;

use crate::admission::Attributes;

use super::Matched;

/// The objects of one write in other versions, each converted when it is first needed, and once.
pub(crate) struct VersionedObjects<'a> {
    attributes: &'a Attributes<'a>,
    objects: Converted,
    old: Converted,
}

/// The versions of one object.
type Converted = Vec<(GroupVersionKind, Arc<Object>)>;

/// An object in the version that matched: the one of the request, or a converted one.
#[derive(Clone, Debug)]
pub(crate) enum VersionedObject<'o> {
    /// The object as it is in the version of the request.
    Own(&'o Object),
    /// The object in another version.
    Converted(Arc<Object>),
}

/// The objects of a write in the version that matched.
pub(crate) struct MatchedObjects<'o> {
    /// The object; `None` for deletions.
    pub(crate) object: Option<VersionedObject<'o>>,
    /// The old object; `None` for creations.
    pub(crate) old: Option<VersionedObject<'o>>,
}

// === impl VersionedObject ===

impl Deref for VersionedObject<'_> {
    type Target = Object;

    fn deref(&self) -> &Object {
        match self {
            Self::Own(object) => object,
            Self::Converted(object) => object,
        }
    }
}

// === impl VersionedObjects ===

impl<'a> VersionedObjects<'a> {
    /// Creates the versions of a write's objects. Each method is passed the objects of the request, which must be the same
    /// every time, unless [`changed`](Self::changed) is called.
    pub(crate) fn new(attributes: &'a Attributes<'a>) -> Self {
        Self { attributes, objects: Vec::new(), old: Vec::new() }
    }

    /// Returns the objects in the version that matched.
    ///
    /// # Errors
    /// 500 if one cannot be converted.
    pub(crate) async fn in_version<'o>(
        &mut self,
        matched: &Matched,
        object: Option<&'o Object>,
        old: Option<&'o Object>,
    ) -> Result<MatchedObjects<'o>, StatusError> {
        let object = match object {
            Some(own) => Some(in_version(self.attributes, &mut self.objects, matched, own).await?),
            None => None,
        };
        let old = match old {
            Some(own) => Some(in_version(self.attributes, &mut self.old, matched, own).await?),
            None => None,
        };
        Ok(MatchedObjects { object, old })
    }

    /// Forgets the versions of the object, which was changed.
    pub(crate) fn changed(&mut self) {
        self.objects.clear();
    }

    /// Returns an object that a plug-in has changed, in the version that matched, as one of the request's version: in the
    /// form of the schema, without unknown fields, with defaults.
    ///
    /// # Errors
    /// 500 if a value has the wrong type, if the object is of another kind, or if it cannot be converted; 413 if it takes too
    /// much memory.
    pub(crate) async fn restored(
        &self,
        matched: &Matched,
        object: Object,
        budget: &Budget,
    ) -> Result<Object, StatusError> {
        let kind = matched.kind(self.attributes);
        if object.kind() != kind.kind || object.api_version() != kind.group_version().api_version() {
            return Err(foreign(&object, kind));
        }
        let Some(own) = own_path(self.attributes) else {
            return Ok(object);
        };
        let object = in_form(matched.path.as_ref().unwrap_or(&own), object, budget)?;
        match &matched.path {
            Some(path) if kind != self.attributes.kind => {
                convert(path, &own, object).await.map_err(StatusError::internal)
            }
            _ => Ok(object),
        }
    }
}

async fn in_version<'o>(
    attributes: &Attributes<'_>,
    converted: &mut Converted,
    matched: &Matched,
    own: &'o Object,
) -> Result<VersionedObject<'o>, StatusError> {
    let kind = matched.kind(attributes);
    // A scale is of the same kind in all versions of its parent.
    let Some(path) = matched.path.as_ref().filter(|_| kind != attributes.kind) else {
        return Ok(VersionedObject::Own(own));
    };
    if let Some((_, known)) = converted.iter().find(|(known, _)| *known == kind) {
        return Ok(VersionedObject::Converted(known.clone()));
    }
    let Some(from) = own_path(attributes) else {
        return Err(StatusError::internal(format!("unable to convert to {}: unknown kind", kind.kind)));
    };
    let object = convert(&from, path, own.clone()).await.map_err(StatusError::internal)?;
    let object = Arc::new(object);
    converted.push((kind, object.clone()));
    Ok(VersionedObject::Converted(object))
}

/// Returns the path of the request.
pub(crate) fn own_path(attributes: &Attributes<'_>) -> Option<Arc<InstalledPath>> {
    let Attributes { resource, subresource, kinds, .. } = *attributes;
    kinds.path(resource.group, resource.version, resource.resource, subresource)
}

/// Converts an object between two versions, through the stored one.
async fn convert(
    from: &InstalledPath,
    to: &InstalledPath,
    object: Object,
) -> Result<Object, ConversionError> {
    to.resource.schema.prepare().await;
    let stored = from.resource.to_stored(vec![object]).await?;
    let mut converted = to.resource.convert_stored(stored).await?;
    converted.pop().ok_or_else(|| ConversionError::NotOne)
}

/// Returns an object in the form of its schema, with defaults.
fn in_form(path: &InstalledPath, object: Object, budget: &Budget) -> Result<Object, StatusError> {
    let storage = &path.capabilities.storage;
    let schema = storage.schema();
    let mut value = object.into_value();
    schema
        .conform_within(budget, &mut value, &mut Vec::new())
        .map_err(|fault| StatusError::internal(fault.text))?;
    schema.apply_defaults(&mut value, budget)?;
    let mut object = Object::from_value(value).unwrap_or_default();
    storage.apply_defaults(&mut object);
    Ok(object)
}

fn foreign(object: &Object, kind: GroupVersionKind) -> StatusError {
    let GroupVersionKind { kind: expected, .. } = kind;
    let (found, version) = (object.kind(), object.api_version());
    let api_version = kind.group_version().api_version();
    StatusError::internal(format!(
        "converting ({version}.{found}) to ({api_version}.{expected}): unknown conversion"
    ))
}
