//! The kinds that are served, as controllers of all kinds use them.
//!
//! Kubernetes concept: `RESTMapper` and `ServerPreferredResources` of `k8s.io/client-go`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use registry_core::RequestContext;
use registry_core::api::GetOptions;
use registry_core::registry::Store;
use registry_core::rest::{Answer, Getter as _};

use crate::handlers::{ServedCollection, ServedCollections};

use super::client::{Client, Failure};
use super::metadata::Metadata;

/// A kind in one version.
pub(super) struct Kind {
    /// The group; empty for the core group.
    pub(super) group: String,
    /// The version.
    pub(super) version: String,
    /// The plural name.
    pub(super) resource: String,
    /// The name of the kind.
    pub(super) name: String,
    /// Whether objects belong to namespaces.
    pub(super) is_namespaced: bool,
    /// Whether objects can be watched.
    pub(super) can_watch: bool,
    /// Whether objects can be deleted.
    pub(super) can_delete: bool,
    /// Whether all objects of a namespace can be deleted by one request.
    pub(super) can_delete_collection: bool,
    /// The store of the objects; `None` if an extension server has them.
    pub(super) store: Option<Arc<Store>>,
}

/// All kinds that are served at one time.
#[derive(Default)]
pub(super) struct Kinds {
    /// Each resource in its preferred version.
    pub(super) preferred: Vec<Arc<Kind>>,
    /// The group versions of extension servers that do not respond.
    pub(super) failing: Vec<String>,
    /// All kinds by `apiVersion` and name.
    by_name: HashMap<(String, String), Arc<Kind>>,
}

// === impl Kind ===

impl Kind {
    fn new(served: ServedCollection) -> Self {
        Self {
            group: served.group,
            version: served.version,
            resource: served.resource,
            name: served.kind,
            is_namespaced: served.is_namespaced,
            can_watch: served.can_watch,
            can_delete: served.can_delete,
            can_delete_collection: served.can_delete_collection,
            store: served.store,
        }
    }

    /// Returns `apiVersion` of the objects.
    pub(super) fn api_version(&self) -> String {
        match self.group.as_str() {
            "" => self.version.clone(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// Whether this is the same resource, in any version.
    pub(super) fn is_same_resource(&self, other: &Self) -> bool {
        self.group == other.group && self.resource == other.resource
    }

    /// Returns the path of the objects of a namespace, or of all if it is empty.
    pub(super) fn collection(&self, namespace: &str) -> String {
        let root = match self.group.as_str() {
            "" => format!("/api/{}", self.version),
            group => format!("/apis/{group}/{}", self.version),
        };
        match namespace {
            "" => format!("{root}/{}", self.resource),
            namespace => format!("{root}/namespaces/{namespace}/{}", self.resource),
        }
    }

    /// Returns the path of an object.
    pub(super) fn path(&self, namespace: &str, name: &str) -> String {
        format!("{}/{name}", self.collection(namespace))
    }

    /// Reads the newest metadata of an object; `None` if it does not exist.
    pub(super) async fn read(
        &self,
        client: &Client,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Metadata>, Failure> {
        let unreadable = || Failure::none("the metadata of the object cannot be read".to_owned());
        let Some(store) = &self.store else {
            let object = client.get(&self.path(namespace, name)).await?;
            return object.map(|object| Metadata::from_value(&object).ok_or_else(unreadable)).transpose();
        };
        match store.get(&RequestContext::system(namespace), name, &GetOptions::default()).await {
            Ok(Answer::Stored(object)) => Metadata::read(&object).ok_or_else(unreadable).map(Some),
            Ok(Answer::Object(object)) => {
                Metadata::from_value(&object.into_value()).ok_or_else(unreadable).map(Some)
            }
            Ok(Answer::Success(_)) => Err(unreadable()),
            Err(failure) if failure.is_not_found() => Ok(None),
            Err(failure) => Err(Failure::none(failure.to_string())),
        }
    }
}

// === impl Kinds ===

impl Kinds {
    /// Returns the kinds of these collections.
    pub(super) fn new(served: ServedCollections) -> Self {
        let mut kinds = Self { failing: served.failing, ..Self::default() };
        let mut seen = HashSet::new();
        for collection in served.collections {
            let kind = Arc::new(Kind::new(collection));
            kinds.by_name.insert((kind.api_version(), kind.name.clone()), kind.clone());
            if seen.insert((kind.group.clone(), kind.resource.clone())) {
                kinds.preferred.push(kind);
            }
        }
        kinds
    }

    /// Returns a kind by `apiVersion` and name.
    pub(super) fn find(&self, api_version: &str, kind: &str) -> Option<&Arc<Kind>> {
        self.by_name.get(&(api_version.to_owned(), kind.to_owned()))
    }

    /// Returns the kinds of namespaced objects that can be deleted, each resource in its preferred version.
    pub(super) fn deletable_in_namespaces(&self) -> impl Iterator<Item = &Arc<Kind>> {
        self.preferred.iter().filter(|kind| kind.is_namespaced && kind.can_delete)
    }
}
