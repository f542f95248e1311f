//! The `status` subresource: the same object, of which only the status changes.

use std::sync::Arc;

use async_trait::async_trait;

use crate::api::{GetOptions, GroupResource, GroupVersionKind, Object, Scope, StatusError, UpdateOptions};
use crate::context::RequestContext;
use crate::resource::Column;
use crate::rest::{Answer, Getter, Storage, UpdatedObject, Updater, ValidatingAdmission};
use crate::schema::Schema;

use super::store::{StatusRules, Store};

/// The `status` subresource of a store.
pub struct StatusStore {
    parent: Arc<Store>,
}

impl StatusStore {
    /// The `status` subresource of this store.
    pub fn new(parent: Arc<Store>) -> Arc<Self> {
        Arc::new(Self { parent })
    }

    /// The store below.
    pub fn parent(&self) -> &Arc<Store> {
        &self.parent
    }
}

impl Storage for StatusStore {
    fn group_resource(&self) -> GroupResource {
        self.parent.group_resource()
    }

    fn kind(&self) -> GroupVersionKind {
        self.parent.kind()
    }

    fn scope(&self) -> Scope {
        self.parent.scope()
    }

    fn schema(&self) -> &'static Schema {
        self.parent.schema()
    }

    fn apply_defaults(&self, object: &mut Object) {
        self.parent.apply_defaults(object);
    }

    fn columns(&self) -> &'static [Column] {
        self.parent.columns()
    }
}

#[async_trait]
impl Getter for StatusStore {
    async fn get(
        &self,
        context: &RequestContext,
        name: &str,
        options: &GetOptions,
    ) -> Result<Answer, StatusError> {
        self.parent.get(context, name, options).await
    }
}

#[async_trait]
impl Updater for StatusStore {
    async fn update(
        &self,
        context: &RequestContext,
        name: &str,
        update: &mut dyn UpdatedObject,
        admission: &dyn ValidatingAdmission,
        options: &UpdateOptions,
    ) -> Result<(Answer, bool), StatusError> {
        // A status is of an object that is there: not even an apply creates one here.
        let mut present = PresentOnly(update);
        self.parent.update_by(context, name, &mut present, admission, options, &StatusRules).await
    }
}

/// The same update, of present objects only.
struct PresentOnly<'a>(&'a mut dyn UpdatedObject);

#[async_trait]
impl UpdatedObject for PresentOnly<'_> {
    fn preconditions(&self) -> crate::api::Preconditions {
        self.0.preconditions()
    }

    async fn updated_object(
        &mut self,
        context: &RequestContext,
        current: Option<&Object>,
    ) -> Result<Object, StatusError> {
        self.0.updated_object(context, current).await
    }
}
