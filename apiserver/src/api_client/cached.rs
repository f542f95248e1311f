//! All objects of a kind, kept up to date.

use std::sync::Arc;

use registry_core::api::Object;
use tokio_util::task::AbortOnDropHandle;

use crate::api_server::ApiServer;
pub use crate::api_server::follow::Changes;
use crate::api_server::follow::{Followed, follow};

use super::{Kind, typed};

/// All objects of a kind. A look-up takes no lock and sends nothing.
///
/// Kubernetes concept: the shared informers and listers of `k8s.io/client-go`.
pub struct Cached<K> {
    followed: Arc<Followed<K>>,
    _task: AbortOnDropHandle<()>,
}

// === impl Cached ===

impl<K: Kind> Cached<K> {
    pub(super) fn start(server: Arc<dyn ApiServer>, path: String) -> Self {
        let (followed, keeper) = Followed::new(path.trim_end_matches('?').to_owned(), read::<K>);
        let task = tokio::spawn(async move { follow(&*server, &path, keeper).await });
        Self { followed, _task: AbortOnDropHandle::new(task) }
    }

    /// Waits until all objects were read once. Does not end while that fails.
    pub async fn listed(&self) {
        self.followed.listed().await;
    }

    /// Returns an object. The namespace of cluster-scoped objects is empty.
    pub fn get(&self, namespace: &str, name: &str) -> Option<Arc<K>> {
        self.followed.get(namespace, name)
    }

    /// Returns the objects of a namespace, or of all if it is empty.
    pub fn all(&self, namespace: &str) -> Vec<Arc<K>> {
        self.followed.all(namespace)
    }

    /// Returns what waits for changes from now on.
    pub fn changes(&self) -> Changes {
        self.followed.changes()
    }
}

fn read<K: Kind>(object: Object) -> Option<K> {
    let name = format!("{}/{}", object.namespace(), object.name());
    let read = typed(object.into_value());
    read.inspect_err(|failure| tracing::warn!("the object {name} is left out: {failure}")).ok()
}
