//! Adapters between stored objects and the external form in which a path shows them (another version, a scale). Updates
//! and admission that work on external objects are adapted to stored ones.

use async_trait::async_trait;

use crate::api::{Object, Preconditions, StatusError};
use crate::context::RequestContext;
use crate::rest::{UpdatedObject, ValidateObject};

/// Converts objects between the stored and the external form.
#[async_trait]
pub(super) trait ObjectAdapter: Send + Sync {
    /// Converts a stored object to the external form.
    async fn to_external(&self, object: &Object) -> Result<Object, StatusError>;

    /// Converts the current object to the external form for a change.
    async fn to_change(&self, current: &Object) -> Result<Object, StatusError> {
        self.to_external(current).await
    }

    /// Converts a requested external object to the stored form, given the current stored object.
    async fn to_stored(&self, wanted: Object, current: Option<&Object>) -> Result<Object, StatusError>;

    /// Validates an object that is about to be written; both arguments are in the external form.
    fn check(
        &self,
        _: &RequestContext,
        _new: &mut Object,
        _old: Option<&mut Object>,
    ) -> Result<(), StatusError> {
        Ok(())
    }
}

/// Adapts an update of external objects to stored ones.
pub(super) struct AdaptedUpdate<'a> {
    pub(super) adapter: &'a dyn ObjectAdapter,
    pub(super) external: &'a mut dyn UpdatedObject,
}

/// Adapts admission of external objects to stored ones: runs the adapter's own check first.
pub(super) struct AdaptedAdmission<'a> {
    pub(super) adapter: &'a dyn ObjectAdapter,
    pub(super) external: &'a dyn ValidateObject,
}

#[async_trait]
impl UpdatedObject for AdaptedUpdate<'_> {
    /// The external object has the uid and the revision of the stored one.
    fn preconditions(&self) -> Preconditions {
        self.external.preconditions()
    }

    async fn updated_object(
        &mut self,
        context: &RequestContext,
        current: Option<&Object>,
    ) -> Result<Object, StatusError> {
        let present = match current {
            Some(current) => Some(self.adapter.to_change(current).await?),
            None => None,
        };
        let wanted = self.external.updated_object(context, present.as_ref()).await?;
        self.adapter.to_stored(wanted, current).await
    }

    fn forces_create(&self) -> bool {
        self.external.forces_create()
    }
}

// === impl AdaptedAdmission ===

impl AdaptedAdmission<'_> {
    async fn external_form(&self, object: Option<&Object>) -> Result<Option<Object>, StatusError> {
        match object {
            Some(object) => self.adapter.to_external(object).await.map(Some),
            None => Ok(None),
        }
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
        let mut new = self.external_form(new).await?;
        let mut old = self.external_form(old).await?;
        if let Some(new) = &mut new {
            let mut checked = self.adapter.check(context, new, old.as_mut());
            while context.budget.repeated_elsewhere().await {
                checked = self.adapter.check(context, new, old.as_mut());
            }
            context.budget.check_complete()?;
            checked?;
        }
        self.external.validate(context, new.as_ref(), old.as_ref()).await
    }
}
