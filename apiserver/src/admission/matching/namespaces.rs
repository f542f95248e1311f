//! Selectors of the namespace's labels.
//!
//! Kubernetes concept: `namespace.Matcher` of the webhook plug-ins.

use std::sync::Arc;

use registry_core::RequestContext;
use registry_core::api::selector::{LabelSelector, SelectorError};
use registry_core::api::{Object, StatusError};
use registry_core::registry::{InstalledApi, Store};
use registry_core::resource::Resource as _;
use registry_core::storage::StoredObject;
use resources::api::core::namespaces::Namespaces as NamespacesResource;

use crate::admission::Attributes;

use super::{NAMESPACES, carries_namespace, selectors};

/// The namespaces of the server.
pub(super) struct Namespaces {
    /// `None` if they are not served.
    store: Option<Arc<Store>>,
}

// === impl Namespaces ===

impl Namespaces {
    pub(super) fn new(installed: &InstalledApi) -> Self {
        Self { store: installed.store(NamespacesResource::TYPE) }
    }

    /// Returns whether a selector selects the namespace of a write. Objects of the cluster other than namespaces are always
    /// selected.
    pub(super) async fn selects(
        &self,
        selector: &Result<LabelSelector, SelectorError>,
        attributes: &Attributes<'_>,
        namespace: &str,
        object: Option<&Object>,
    ) -> Result<bool, StatusError> {
        let is_namespace = attributes.resource.group_resource() == NAMESPACES;
        if namespace.is_empty() && !is_namespace {
            return Ok(true);
        }
        let selector = selectors::valid(selector)?;
        if selector.is_empty() {
            return Ok(true);
        }
        // The cache does not know the namespace that is about to be written.
        if let (Some(object), true) = (object, carries_namespace(attributes)) {
            return Ok(selectors::selects_labels_of(selector, object));
        }
        let entry = self.entry(namespace).await?;
        // Only entries of the cache have attributes.
        if entry.attributes.field_names.is_empty() {
            return Ok(selectors::selects_labels_of(selector, &self.read(&entry)?));
        }
        Ok(selector.matches(|key| entry.attributes.label(key)))
    }

    /// Returns a namespace.
    ///
    /// # Errors
    /// 404 if it does not exist.
    pub(super) async fn get(&self, name: &str) -> Result<Object, StatusError> {
        self.read(&self.entry(name).await?)
    }

    fn read(&self, entry: &StoredObject) -> Result<Object, StatusError> {
        let store = self.store.as_ref().ok_or_else(|| StatusError::internal("namespaces are not served"))?;
        store.read(entry)
    }

    /// Returns a namespace from the cache; if it is missing there, reads consistently.
    async fn entry(&self, name: &str) -> Result<StoredObject, StatusError> {
        let missing = || StatusError::not_found(NAMESPACES, name);
        let store = self.store.as_ref().ok_or_else(missing)?;
        let context = RequestContext::system("");
        let found = store.find(&context, name).await;
        found.map_err(|failure| StatusError::internal(failure.message))?.ok_or_else(missing)
    }
}
