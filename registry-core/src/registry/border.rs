//! Borders: within, objects are as they are stored; beyond, as a path shows them (another version, a scale). What
//! changes and what admits objects beyond a border is made to do so within.

use async_trait::async_trait;

use crate::api::{Object, Preconditions, StatusError};
use crate::context::RequestContext;
use crate::rest::{UpdatedObject, ValidatingAdmission};

/// How objects cross a border.
pub(super) trait Border: Send + Sync {
    /// The object beyond of one within.
    fn outward(&self, object: &Object) -> Result<Object, StatusError>;

    /// The same of the present object, for whoever changes it.
    fn to_change(&self, current: &Object) -> Result<Object, StatusError> {
        self.outward(current)
    }

    /// The object within of what is wanted beyond, where now this one is.
    fn inward(&self, wanted: Object, current: Option<&Object>) -> Result<Object, StatusError>;

    /// What the border itself says of an object that is about to be written; both are as they are beyond.
    fn check(&self, _: &RequestContext, _new: &Object, _old: Option<&Object>) -> Result<(), StatusError> {
        Ok(())
    }
}

/// An update of what is beyond a border, as one of what is within.
pub(super) struct UpdateWithin<'a> {
    pub(super) border: &'a dyn Border,
    pub(super) beyond: &'a mut dyn UpdatedObject,
}

/// Admission of what is beyond a border, as one of what is within: the border's own word, then the other's.
pub(super) struct AdmissionWithin<'a> {
    pub(super) border: &'a dyn Border,
    pub(super) beyond: &'a dyn ValidatingAdmission,
}

#[async_trait]
impl UpdatedObject for UpdateWithin<'_> {
    /// What is beyond has the uid and the revision of what is within.
    fn preconditions(&self) -> Preconditions {
        self.beyond.preconditions()
    }

    async fn updated_object(
        &mut self,
        context: &RequestContext,
        current: Option<&Object>,
    ) -> Result<Object, StatusError> {
        let present = current.map(|current| self.border.to_change(current)).transpose()?;
        let wanted = self.beyond.updated_object(context, present.as_ref()).await?;
        self.border.inward(wanted, current)
    }

    fn forces_create(&self) -> bool {
        self.beyond.forces_create()
    }
}

#[async_trait]
impl ValidatingAdmission for AdmissionWithin<'_> {
    async fn validate(
        &self,
        context: &RequestContext,
        new: Option<&Object>,
        old: Option<&Object>,
    ) -> Result<(), StatusError> {
        let outward = |object: Option<&Object>| object.map(|object| self.border.outward(object)).transpose();
        let (new, old) = (outward(new)?, outward(old)?);
        if let Some(new) = &new {
            self.border.check(context, new, old.as_ref())?;
        }
        self.beyond.validate(context, new.as_ref(), old.as_ref()).await
    }
}
