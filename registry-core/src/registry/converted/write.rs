//! Writes through a spoke.

use async_trait::async_trait;

use crate::api::{
    CreateOptions, DeleteOptions, ErrorList, ListOptions, Object, Preconditions, StatusError, UpdateOptions,
};
use crate::context::RequestContext;
use crate::rest::{
    Answer, CollectionDeleter, Creater, GracefulDeleter, NamedCreater, UpdatedObject, Updater,
    ValidatingAdmission,
};
use crate::storage::ListPage;

use super::{Border, Converted};

#[async_trait]
impl<T: Creater + ?Sized> Creater for Converted<T> {
    async fn create(
        &self,
        context: &RequestContext,
        object: Object,
        admission: &dyn ValidatingAdmission,
        options: &CreateOptions,
    ) -> Result<Answer, StatusError> {
        let border = self.border;
        let admission = ConvertedAdmission { border, inner: admission };
        let created = self.hub.create(context, border.to_hub(object)?, &admission, options).await?;
        border.answer(created)
    }
}

#[async_trait]
impl<T: NamedCreater + ?Sized> NamedCreater for Converted<T> {
    async fn create_named(
        &self,
        context: &RequestContext,
        name: &str,
        object: Object,
        admission: &dyn ValidatingAdmission,
        options: &CreateOptions,
    ) -> Result<Answer, StatusError> {
        let border = self.border;
        let admission = ConvertedAdmission { border, inner: admission };
        let object = border.to_hub(object)?;
        border.answer(self.hub.create_named(context, name, object, &admission, options).await?)
    }
}

#[async_trait]
impl<T: Updater + ?Sized> Updater for Converted<T> {
    async fn update(
        &self,
        context: &RequestContext,
        name: &str,
        update: &mut dyn UpdatedObject,
        admission: &dyn ValidatingAdmission,
        options: &UpdateOptions,
    ) -> Result<(Answer, bool), StatusError> {
        let border = self.border;
        let admission = ConvertedAdmission { border, inner: admission };
        let mut update = ConvertedUpdate { border, inner: update };
        let (answer, created) = self.hub.update(context, name, &mut update, &admission, options).await?;
        Ok((border.answer(answer)?, created))
    }
}

#[async_trait]
impl<T: GracefulDeleter + ?Sized> GracefulDeleter for Converted<T> {
    async fn delete(
        &self,
        context: &RequestContext,
        name: &str,
        admission: &dyn ValidatingAdmission,
        options: &DeleteOptions,
    ) -> Result<Answer, StatusError> {
        let border = self.border;
        let admission = ConvertedAdmission { border, inner: admission };
        border.answer(self.hub.delete(context, name, &admission, options).await?)
    }
}

#[async_trait]
impl<T: CollectionDeleter + ?Sized> CollectionDeleter for Converted<T> {
    async fn delete_collection(
        &self,
        context: &RequestContext,
        admission: &dyn ValidatingAdmission,
        options: &DeleteOptions,
        selection: &ListOptions,
    ) -> Result<ListPage, StatusError> {
        let border = self.border;
        let admission = ConvertedAdmission { border, inner: admission };
        let selection = border.selection(selection)?;
        border.page(self.hub.delete_collection(context, &admission, options, &selection).await?).await
    }
}

/// An update of a spoke's object as one of the hub's.
struct ConvertedUpdate<'a> {
    border: Border,
    inner: &'a mut dyn UpdatedObject,
}

#[async_trait]
impl UpdatedObject for ConvertedUpdate<'_> {
    fn preconditions(&self) -> Preconditions {
        self.inner.preconditions()
    }

    async fn updated_object(
        &mut self,
        context: &RequestContext,
        current: Option<&Object>,
    ) -> Result<Object, StatusError> {
        let current = current.map(|current| self.border.to_spoke(current.clone())).transpose()?;
        self.border.to_hub(self.inner.updated_object(context, current.as_ref()).await?)
    }

    fn forces_create(&self) -> bool {
        self.inner.forces_create()
    }
}

/// The last word over what the hub is about to store: what the spoke's own strategy says of it, then admission. Both
/// see the spoke's objects.
struct ConvertedAdmission<'a> {
    border: Border,
    inner: &'a dyn ValidatingAdmission,
}

#[async_trait]
impl ValidatingAdmission for ConvertedAdmission<'_> {
    async fn validate(
        &self,
        context: &RequestContext,
        new: Option<&Object>,
        old: Option<&Object>,
    ) -> Result<(), StatusError> {
        let convert =
            |object: Option<&Object>| object.map(|object| self.border.to_spoke(object.clone())).transpose();
        let (new, old) = (convert(new)?, convert(old)?);
        if let Some(new) = &new {
            let errors = self.border.errors(context, new, old.as_ref());
            if !errors.is_empty() {
                return Err(StatusError::invalid(self.border.spoke.kind, new.name(), &errors));
            }
        }
        self.inner.validate(context, new.as_ref(), old.as_ref()).await
    }
}

// === impl Border ===

impl Border {
    /// What the spoke's strategy finds wrong with an object the hub would store.
    fn errors(self, context: &RequestContext, new: &Object, old: Option<&Object>) -> ErrorList {
        let strategy = self.spoke.strategy;
        match old {
            None => strategy.validate(context, new),
            Some(old) if self.is_status => strategy.validate_status_update(context, new, old),
            Some(old) => strategy.validate_update(context, new, old),
        }
    }
}
