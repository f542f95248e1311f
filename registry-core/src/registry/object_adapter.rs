//! Borders: stored, objects are as they are stored; external, as a path shows them (another version, a scale). What
//! changes and what admits objects external a adapter is made to do so stored.

use async_trait::async_trait;

use crate::api::{Object, Preconditions, StatusError};
use crate::context::RequestContext;
use crate::rest::{UpdatedObject, ValidateObject};

/// How objects cross a adapter.
pub(super) trait ObjectAdapter: Send + Sync {
    /// The object external of one stored.
    fn to_external(&self, object: &Object) -> Result<Object, StatusError>;

    /// The same of the present object, for whoever changes it.
    fn to_change(&self, current: &Object) -> Result<Object, StatusError> {
        self.to_external(current)
    }

    /// The object stored of what is wanted external, where now this one is.
    fn to_stored(&self, wanted: Object, current: Option<&Object>) -> Result<Object, StatusError>;

    /// What the adapter itself says of an object that is about to be written; both are as they are external.
    fn check(&self, _: &RequestContext, _new: &Object, _old: Option<&Object>) -> Result<(), StatusError> {
        Ok(())
    }
}

/// An update of what is external a adapter, as one of what is stored.
pub(super) struct AdaptedUpdate<'a> {
    pub(super) adapter: &'a dyn ObjectAdapter,
    pub(super) external: &'a mut dyn UpdatedObject,
}

/// Admission of what is external a adapter, as one of what is stored: the adapter's own word, then the other's.
pub(super) struct AdaptedAdmission<'a> {
    pub(super) adapter: &'a dyn ObjectAdapter,
    pub(super) external: &'a dyn ValidateObject,
}

#[async_trait]
impl UpdatedObject for AdaptedUpdate<'_> {
    /// What is external has the uid and the revision of what is stored.
    fn preconditions(&self) -> Preconditions {
        self.external.preconditions()
    }

    async fn updated_object(
        &mut self,
        context: &RequestContext,
        current: Option<&Object>,
    ) -> Result<Object, StatusError> {
        let present = current.map(|current| self.adapter.to_change(current)).transpose()?;
        let wanted = self.external.updated_object(context, present.as_ref()).await?;
        self.adapter.to_stored(wanted, current)
    }

    fn forces_create(&self) -> bool {
        self.external.forces_create()
    }
}

#[async_trait]
impl ValidateObject for AdaptedAdmission<'_> {
    async fn validate(
        &self,
        context: &RequestContext,
        new: Option<&Object>,
        old: Option<&Object>,
    ) -> Result<(), StatusError> {
        let to_external =
            |object: Option<&Object>| object.map(|object| self.adapter.to_external(object)).transpose();
        let new = to_external(new)?;
        let old = to_external(old)?;
        if let Some(new) = &new {
            self.adapter.check(context, new, old.as_ref())?;
        }
        self.external.validate(context, new.as_ref(), old.as_ref()).await
    }
}
