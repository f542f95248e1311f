//! Deletes the objects of a definition that is being deleted.
//!
//! Kubernetes concept: `CRDFinalizer`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use registry_core::RequestContext;
use registry_core::api::{DeleteOptions, ListOptions, Object, StatusError};
use registry_core::backoff::Backoff;
use registry_core::registry::Store;
use registry_core::rest::{AdmitAll, CollectionDeleter as _, Lister as _};

use super::super::customresourcedefinitions::conditions::{self, Condition, StatusChange};
use super::CustomResourceController;

/// Maximum time to wait until all objects are gone, before the condition says that some remain.
const GONE_TIMEOUT: Duration = Duration::from_mins(1);
/// Pause before the second check whether all objects are gone; it doubles up to the maximum.
const MIN_CHECK_PAUSE: Duration = Duration::from_millis(50);
/// Maximum pause between two checks whether all objects are gone.
const MAX_CHECK_PAUSE: Duration = Duration::from_secs(5);
/// Maximum number of objects of a page.
const PAGE_OBJECTS: u64 = 500;

/// The objects of a definition.
pub(super) enum Instances {
    /// In this store.
    Stored(Arc<Store>),
    /// There are none: the kind was never served.
    NeverServed,
    /// There may be some, but the kind cannot be served now.
    Unknown,
    /// A built-in resource stores its objects in the same place.
    BuiltIn,
}

// === impl Instances ===

impl Instances {
    /// Returns the objects of a definition, in the store of its kind if it is served.
    pub(super) fn new(store: Option<Arc<Store>>, definition: &Object) -> Self {
        match store {
            Some(store) => Self::Stored(store),
            // Whoever established it may have served it.
            None if conditions::is_established(definition) => Self::Unknown,
            None => Self::NeverServed,
        }
    }
}

// === impl CustomResourceController ===

impl CustomResourceController {
    /// Deletes the objects of a definition, then removes its finalizer.
    ///
    /// # Errors
    /// Fails if objects remain. Retryable; the condition says why.
    pub(super) async fn clean_up(
        &self,
        name: &str,
        uid: &str,
        instances: Instances,
    ) -> Result<(), StatusError> {
        let begun = StatusChange::from_condition(conditions::deletion_in_progress());
        self.change_status(name, uid, |definition| begun.apply(definition)).await?;
        let deleted = match instances {
            Instances::Stored(store) => delete_all(&store).await,
            Instances::NeverServed => Ok(conditions::never_established()),
            Instances::Unknown => {
                let failure = StatusError::internal("the definition cannot be served");
                Err((conditions::deletion_cannot_list(&failure.message), failure))
            }
            Instances::BuiltIn => Ok(conditions::overlaps_built_in()),
        };
        match deleted {
            Ok(condition) => {
                let change = StatusChange::from_condition(condition);
                let finish = |definition: &mut _| {
                    change.apply(definition);
                    conditions::release(definition);
                };
                self.change_status(name, uid, finish).await
            }
            Err((condition, failure)) => {
                let change = StatusChange::from_condition(condition);
                self.change_status(name, uid, |definition| change.apply(definition)).await?;
                Err(failure)
            }
        }
    }
}

/// Deletes all objects of a store, and waits until they are gone. Returns the condition to set.
async fn delete_all(store: &Store) -> Result<Condition, (Condition, StatusError)> {
    store.resource().schema.prepare().await;
    let namespaces = match namespaces_of(store).await {
        Ok(namespaces) => namespaces,
        Err(failure) => return Err((conditions::deletion_cannot_list(&failure.message), failure)),
    };
    for namespace in namespaces {
        let context = RequestContext::system(&namespace);
        let all = ListOptions::default();
        let deleted = store.delete_collection(&context, &AdmitAll, &DeleteOptions::default(), &all).await;
        if let Err(failure) = deleted {
            return Err((conditions::deletion_failed(&failure.message), failure));
        }
    }
    match tokio::time::timeout(GONE_TIMEOUT, wait_until_empty(store)).await {
        Ok(Ok(())) => Ok(conditions::deletion_completed()),
        Ok(Err(failure)) => Err((conditions::deletion_unconfirmed(&failure.message), failure)),
        Err(_) => {
            let failure = StatusError::internal("some objects still have finalizers");
            Err((conditions::deletion_unconfirmed("context deadline exceeded"), failure))
        }
    }
}

/// Returns the namespaces in which there are objects; an empty one for cluster-scoped objects.
async fn namespaces_of(store: &Store) -> Result<BTreeSet<String>, StatusError> {
    let mut namespaces = BTreeSet::new();
    let mut options = ListOptions { limit: PAGE_OBJECTS, ..ListOptions::default() };
    loop {
        let page = store.list(&RequestContext::system(""), &options).await?;
        for entry in &page.items {
            let mut segments = entry.key.rsplit('/').skip(1);
            let namespace = if store.resource().is_namespaced() { segments.next() } else { None };
            namespaces.insert(namespace.unwrap_or_default().to_owned());
        }
        match page.continue_token {
            Some(token) => options.continue_token = Some(token),
            None => return Ok(namespaces),
        }
    }
}

async fn wait_until_empty(store: &Store) -> Result<(), StatusError> {
    let mut backoff = Backoff::new(MIN_CHECK_PAUSE, MAX_CHECK_PAUSE);
    let options = ListOptions { limit: 1, ..ListOptions::default() };
    loop {
        if store.list(&RequestContext::system(""), &options).await?.items.is_empty() {
            return Ok(());
        }
        tokio::time::sleep(backoff.next_pause()).await;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_of_a_kind_that_cannot_be_served_are_not_given_up() {
        let instances = |status: &str| {
            let conditions = json!([{ "type": "Established", "status": status }]);
            let definition = json!({ "metadata": { "name": "a" }, "status": { "conditions": conditions } });
            Instances::new(None, &Object::from_value(definition).unwrap())
        };
        assert!(matches!(instances("True"), Instances::Unknown));
        assert!(matches!(instances("False"), Instances::NeverServed));
    }
}
