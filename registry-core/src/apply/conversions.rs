//! Conversions outside of this process, for merging, which is a function of its arguments.
//!
//! Merging ends with [`Unconverted`] where it needs such a conversion. [`FieldManager::with_conversions`] has it made and
//! merges again, from the beginning; the conversions made before are found by what was converted. Most applies need
//! none: only managers whose fields are in another version do.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::api::Object;
use crate::resource::ResourceType;
use crate::resource::conversion::{ConversionError, only};

use super::FieldManager;

/// A conversion that merging needs and that takes place outside of this process.
#[derive(Clone, Debug)]
pub struct Unconverted {
    fields: Map<String, Value>,
    from: Arc<ResourceType>,
    to: Arc<ResourceType>,
}

/// The conversions that were made outside of this process.
#[derive(Clone, Debug, Default)]
pub struct Conversions(Vec<(Unconverted, Converted)>);

type Converted = Result<Map<String, Value>, ConversionError>;

/// Reason why an object is not available in another version.
pub(super) enum NotConverted {
    /// The conversion has to be made first.
    Unknown(Unconverted),
    Failed(ConversionError),
}

// === impl FieldManager ===

impl FieldManager<'_> {
    /// Calls a function of this field manager, again with each conversion that it lacks, until it lacks none. It asks for a
    /// limited number, and a conversion is made once.
    pub async fn with_conversions<T>(
        mut self,
        mut function: impl FnMut(&Self) -> Result<T, Unconverted>,
    ) -> T {
        loop {
            match function(&self) {
                Ok(result) => return result,
                Err(missing) => {
                    let converted = missing.convert().await;
                    self.conversions.0.push((missing, converted));
                }
            }
        }
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
        let is_wanted = |made: &Unconverted| made.from.is(from) && made.to.is(to) && made.fields == *fields;
        match self.0.iter().find(|(made, _)| is_wanted(made)) {
            Some((_, Ok(converted))) => Ok(converted),
            Some((_, Err(error))) => Err(NotConverted::Failed(error.clone())),
            None => {
                let missing = Unconverted { fields: fields.clone(), from: from.clone(), to: to.clone() };
                Err(NotConverted::Unknown(missing))
            }
        }
    }
}

// === impl Unconverted ===

impl Unconverted {
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
