//! The preparations of a merge, which is a function of its arguments: conversions outside of this process, and schemas that
//! are not compiled yet.
//!
//! Merging ends with [`Unconverted`] where it needs one. [`FieldManager::with_conversions`] has it made and merges again,
//! from the beginning; the conversions made before are found by what was converted. Most applies need none: only managers
//! whose fields are in another version do.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::api::Object;
use crate::resource::ResourceType;
use crate::resource::conversion::{ConversionError, only};

use super::{FieldManager, MANAGED_FIELDS};

/// The reason why merging has to be repeated.
#[derive(Clone, Debug)]
pub enum Unconverted {
    /// It needs a conversion that takes place outside of this process.
    Remote(RemoteConversion),
    /// It needs the schema of this version, which is not compiled yet.
    Unprepared(Arc<ResourceType>),
}

/// A conversion that takes place outside of this process.
#[derive(Clone, Debug)]
pub struct RemoteConversion {
    fields: Map<String, Value>,
    from: Arc<ResourceType>,
    to: Arc<ResourceType>,
}

/// The conversions that were made outside of this process, and the versions whose schemas were waited for.
#[derive(Clone, Debug, Default)]
pub struct Conversions {
    made: Vec<(RemoteConversion, Converted)>,
    prepared: Vec<Arc<ResourceType>>,
}

type Converted = Result<Map<String, Value>, ConversionError>;

/// Reason why an object is not available in another version.
pub(super) enum NotConverted {
    /// The conversion has to be made first.
    Unknown(Unconverted),
    Failed(ConversionError),
}

// === impl FieldManager ===

impl FieldManager<'_> {
    /// Calls a function of this field manager, again with each conversion or schema that it lacks, until it lacks none. It
    /// asks for a limited number, and each is made once.
    pub async fn with_conversions<T>(
        mut self,
        mut function: impl FnMut(&Self) -> Result<T, Unconverted>,
    ) -> T {
        loop {
            match function(&self) {
                Ok(result) => return result,
                Err(Unconverted::Remote(missing)) => {
                    let converted = missing.convert().await;
                    self.conversions.made.push((missing, converted));
                }
                Err(Unconverted::Unprepared(version)) => {
                    version.schema.prepare().await;
                    self.conversions.prepared.push(version);
                }
            }
        }
    }

    /// Checks that the schemas of all versions are compiled in which fields of an object have managers.
    ///
    /// # Errors
    /// Fails if one has to be waited for first.
    pub(super) fn check_prepared(&self, object: &Object) -> Result<(), Unconverted> {
        let Some(versions) = self.versions else { return Ok(()) };
        let entries = object.get(MANAGED_FIELDS).and_then(Value::as_array);
        for entry in entries.into_iter().flatten() {
            let api_version = entry.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
            let other = versions.find(api_version).filter(|_| api_version != self.api_version);
            if let Some(version) = other.filter(|version| !version.schema.is_prepared())
                && !self.conversions.prepared.iter().any(|prepared| prepared.is(version))
            {
                return Err(Unconverted::Unprepared(version.clone()));
            }
        }
        Ok(())
    }
}

// === impl Conversions ===

impl Conversions {
    /// Returns the fields of an object in another version.
    pub(super) fn find(
        &self,
        fields: &Map<String, Value>,
        from: &Arc<ResourceType>,
        to: &Arc<ResourceType>,
    ) -> Result<&Map<String, Value>, NotConverted> {
        let is_wanted =
            |made: &RemoteConversion| made.from.is(from) && made.to.is(to) && made.fields == *fields;
        match self.made.iter().find(|(made, _)| is_wanted(made)) {
            Some((_, Ok(converted))) => Ok(converted),
            Some((_, Err(error))) => Err(NotConverted::Failed(error.clone())),
            None => {
                let missing = RemoteConversion { fields: fields.clone(), from: from.clone(), to: to.clone() };
                Err(NotConverted::Unknown(Unconverted::Remote(missing)))
            }
        }
    }
}

// === impl RemoteConversion ===

impl RemoteConversion {
    /// Converts by way of the stored version.
    async fn convert(&self) -> Converted {
        let object = typed(&self.fields, &self.from);
        let stored = self.from.to_stored(vec![object]).await.and_then(only)?;
        Ok(self.to.convert_stored(vec![stored]).await.and_then(only)?.0)
    }
}

// === impl NotConverted ===

impl From<ConversionError> for NotConverted {
    fn from(error: ConversionError) -> Self {
        Self::Failed(error)
    }
}

/// Returns the object of a version with these fields.
pub(super) fn typed(fields: &Map<String, Value>, version: &ResourceType) -> Object {
    let mut object = Object(fields.clone());
    object.set_type(&version.group_version().api_version(), version.kind.kind);
    object
}
