//! Writes through a spoke.

use async_trait::async_trait;

use crate::api::{CreateOptions, DeleteOptions, ListOptions, Object, StatusError, UpdateOptions};
use crate::context::RequestContext;
use crate::registry::object_adapter::{AdaptedAdmission, AdaptedUpdate, ObjectAdapter};
use crate::registry::store::{MainRules, StatusRules, UpdateRules, Write};
use crate::rest::{
    Answer, CollectionDeleter, Creater, Deletion, GracefulDeleter, NamedCreater, NewObject, UpdatedObject,
    Updater, ValidateObject,
};
use crate::storage::ListPage;

use super::selection::Selection;
use super::{Converted, VersionAdapter};

#[async_trait]
impl<T: Creater + ?Sized> Creater for Converted<T> {
    async fn create(
        &self,
        context: &RequestContext,
        new: NewObject,
        admission: &dyn ValidateObject,
        options: &CreateOptions,
    ) -> Result<Answer, StatusError> {
        let adapter = &self.adapter;
        let admission = AdaptedAdmission { adapter, external: admission };
        // The empty lists are those of the spoke's form.
        let new = adapter.to_hub(new.object).await?.into();
        adapter.answer(self.hub.create(context, new, &admission, options).await?).await
    }
}

#[async_trait]
impl<T: NamedCreater + ?Sized> NamedCreater for Converted<T> {
    async fn create_named(
        &self,
        context: &RequestContext,
        name: &str,
        object: Object,
        admission: &dyn ValidateObject,
        options: &CreateOptions,
    ) -> Result<Answer, StatusError> {
        let adapter = &self.adapter;
        let admission = AdaptedAdmission { adapter, external: admission };
        let object = adapter.to_hub(object).await?;
        adapter.answer(self.hub.create_named(context, name, object, &admission, options).await?).await
    }
}

#[async_trait]
impl<T: Updater + ?Sized> Updater for Converted<T> {
    async fn update(
        &self,
        context: &RequestContext,
        name: &str,
        update: &mut dyn UpdatedObject,
        admission: &dyn ValidateObject,
        options: &UpdateOptions,
    ) -> Result<(Answer, bool), StatusError> {
        let adapter = &self.adapter;
        let admission = AdaptedAdmission { adapter, external: admission };
        let mut update = AdaptedUpdate { adapter, external: update };
        let (answer, created) = self.hub.update(context, name, &mut update, &admission, options).await?;
        Ok((adapter.answer(answer).await?, created))
    }
}

#[async_trait]
impl<T: GracefulDeleter + ?Sized> GracefulDeleter for Converted<T> {
    async fn delete(
        &self,
        context: &RequestContext,
        name: &str,
        admission: &dyn ValidateObject,
        options: &DeleteOptions,
    ) -> Result<Deletion, StatusError> {
        let adapter = &self.adapter;
        let admission = AdaptedAdmission { adapter, external: admission };
        let Deletion { answer, is_complete } = self.hub.delete(context, name, &admission, options).await?;
        Ok(Deletion { answer: adapter.answer(answer).await?, is_complete })
    }
}

#[async_trait]
impl<T: CollectionDeleter + ?Sized> CollectionDeleter for Converted<T> {
    async fn delete_collection(
        &self,
        context: &RequestContext,
        admission: &dyn ValidateObject,
        options: &DeleteOptions,
        selection: &ListOptions,
    ) -> Result<ListPage, StatusError> {
        let adapter = &self.adapter;
        let Selection { hub, converted } = adapter.selection(selection)?;
        if let Some(predicate) = converted {
            return adapter.delete_selected(context, admission, options, (&hub, &predicate)).await;
        }
        let admission = AdaptedAdmission { adapter, external: admission };
        adapter.page(self.hub.delete_collection(context, &admission, options, &hub).await?).await
    }
}

#[async_trait]
impl ObjectAdapter for VersionAdapter {
    async fn to_external(&self, object: &Object) -> Result<Object, StatusError> {
        self.to_spoke(object.clone()).await
    }

    async fn to_stored(&self, wanted: Object, _: Option<&Object>) -> Result<Object, StatusError> {
        self.to_hub(wanted).await
    }

    /// Validates an object that the hub would store with the spoke's own strategy.
    fn check(
        &self,
        context: &RequestContext,
        new: &mut Object,
        old: Option<&mut Object>,
    ) -> Result<(), StatusError> {
        let rules: &dyn UpdateRules = if self.is_status { &StatusRules } else { &MainRules };
        Write { resource: &self.spoke, context, new, old, rules }.validate()
    }
}
