//! Writes through a spoke.

use async_trait::async_trait;

use crate::api::{CreateOptions, DeleteOptions, ListOptions, Object, StatusError, UpdateOptions};
use crate::context::RequestContext;
use crate::registry::border::{AdmissionWithin, Border, UpdateWithin};
use crate::rest::{
    Answer, CollectionDeleter, Creater, GracefulDeleter, NamedCreater, UpdatedObject, Updater,
    ValidatingAdmission,
};
use crate::storage::ListPage;

use super::{Converted, VersionBorder};

#[async_trait]
impl<T: Creater + ?Sized> Creater for Converted<T> {
    async fn create(
        &self,
        context: &RequestContext,
        object: Object,
        admission: &dyn ValidatingAdmission,
        options: &CreateOptions,
    ) -> Result<Answer, StatusError> {
        let border = &self.border;
        let admission = AdmissionWithin { border, beyond: admission };
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
        let border = &self.border;
        let admission = AdmissionWithin { border, beyond: admission };
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
        let border = &self.border;
        let admission = AdmissionWithin { border, beyond: admission };
        let mut update = UpdateWithin { border, beyond: update };
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
        let border = &self.border;
        let admission = AdmissionWithin { border, beyond: admission };
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
        let border = &self.border;
        let admission = AdmissionWithin { border, beyond: admission };
        let selection = border.selection(selection)?;
        border.page(self.hub.delete_collection(context, &admission, options, &selection).await?).await
    }
}

impl Border for VersionBorder {
    fn outward(&self, object: &Object) -> Result<Object, StatusError> {
        self.to_spoke(object.clone())
    }

    fn inward(&self, wanted: Object, _: Option<&Object>) -> Result<Object, StatusError> {
        self.to_hub(wanted)
    }

    /// What the spoke's own strategy finds wrong with an object the hub would store.
    fn check(&self, context: &RequestContext, new: &Object, old: Option<&Object>) -> Result<(), StatusError> {
        let strategy = &self.spoke.strategy;
        let errors = match old {
            None => strategy.validate(context, new),
            Some(old) if self.is_status => strategy.validate_status_update(context, new, old),
            Some(old) => strategy.validate_update(context, new, old),
        };
        if errors.is_empty() {
            return Ok(());
        }
        Err(StatusError::invalid(self.spoke.kind, new.name(), &errors))
    }
}
