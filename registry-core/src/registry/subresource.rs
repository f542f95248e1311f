//! Subresources that show their parent's object and change it by their own rules: `status`, `finalize`, `approval`,
//! `resize`.

use std::sync::Arc;

use async_trait::async_trait;

use crate::api::{
    GetOptions, GroupResource, GroupVersionKind, Object, Preconditions, Scope, StatusError, UpdateOptions,
};
use crate::context::RequestContext;
use crate::resource::TableColumns;
use crate::rest::{Answer, Getter, Storage, UpdatedObject, Updater, ValidateObject};
use crate::schema::{EmptyFields, Schema};

use super::store::{StatusRules, Store, UpdateRules};

/// A subresource whose object is the parent's: reads return the parent, updates follow the subresource's rules.
///
/// Kubernetes concept: the `StatusREST` of each kind and similar types.
pub struct SubresourceStore {
    parent: Arc<Store>,
    rules: &'static dyn UpdateRules,
}

// === impl SubresourceStore ===

impl SubresourceStore {
    /// Creates a subresource of this store that changes objects by these rules.
    pub fn new(parent: Arc<Store>, rules: &'static dyn UpdateRules) -> Arc<Self> {
        Arc::new(Self { parent, rules })
    }

    /// Creates the `status` subresource of this store.
    pub fn status(parent: Arc<Store>) -> Arc<Self> {
        Self::new(parent, &StatusRules)
    }

    /// Returns the parent's store.
    pub fn parent(&self) -> &Arc<Store> {
        &self.parent
    }
}

impl Storage for SubresourceStore {
    fn group_resource(&self) -> GroupResource {
        self.parent.group_resource()
    }

    fn kind(&self) -> GroupVersionKind {
        self.parent.kind()
    }

    fn scope(&self) -> Scope {
        self.parent.scope()
    }

    fn schema(&self) -> Schema {
        self.parent.schema()
    }

    fn apply_defaults(&self, object: &mut Object) {
        self.parent.apply_defaults(object);
    }

    fn changes_only(&self) -> Option<&'static [&'static [&'static str]]> {
        self.rules.changes_only()
    }

    fn columns(&self) -> TableColumns {
        self.parent.columns()
    }
}

#[async_trait]
impl Getter for SubresourceStore {
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
impl Updater for SubresourceStore {
    async fn update(
        &self,
        context: &RequestContext,
        name: &str,
        update: &mut dyn UpdatedObject,
        admission: &dyn ValidateObject,
        options: &UpdateOptions,
    ) -> Result<(Answer, bool), StatusError> {
        // The parent of a subresource must exist: even an apply does not create it.
        let mut present = PresentOnly(update);
        self.parent.with_rules(self.rules).update(context, name, &mut present, admission, options).await
    }
}

/// Restricts an update to existing objects.
pub(super) struct PresentOnly<'a>(pub(super) &'a mut dyn UpdatedObject);

#[async_trait]
impl UpdatedObject for PresentOnly<'_> {
    fn preconditions(&self) -> Preconditions {
        self.0.preconditions()
    }

    async fn updated_object(
        &mut self,
        context: &RequestContext,
        current: Option<&Object>,
    ) -> Result<Object, StatusError> {
        self.0.updated_object(context, current).await
    }

    fn empty_fields(&self) -> Option<&EmptyFields> {
        self.0.empty_fields()
    }
}
