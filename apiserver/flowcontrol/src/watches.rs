//! The number of watches that a write informs.
//!
//! Kubernetes concept: `WatchTracker` in `k8s.io/apiserver/pkg/util/flowcontrol`.

use std::collections::HashMap;
use std::collections::hash_map::{Entry, RandomState};
use std::hash::BuildHasher;
use std::sync::Arc;

use parking_lot::RwLock;
use request_info::{RequestInfo, ResourceRequest, Verb};

/// The field by which watches of pods are indexed: a watch of one node is informed of few writes.
const POD_INDEX: &str = "spec.nodeName";

/// The watches, by what they are about.
#[derive(Default)]
pub(super) struct WatchTracker {
    /// By the hash of group, resource, namespace and name. The hashes are unpredictable, and the numbers are estimates:
    /// a collision would do no harm.
    numbers: RwLock<HashMap<u64, usize>>,
    hasher: RandomState,
}

/// A registered watch. Dropping it ends the registration.
pub struct RegisteredWatch {
    tracker: Arc<WatchTracker>,
    key: u64,
}

// === impl WatchTracker ===

impl WatchTracker {
    /// Registers a watch; `None` if writes need not count it.
    pub(super) fn register(self: &Arc<Self>, info: &RequestInfo) -> Option<RegisteredWatch> {
        let resource = info.resource.as_ref().filter(|_| info.verb == Verb::Watch)?;
        let mut fields = info.selectors.fields.iter();
        let is_of_one_node = |path: &str, value: &str| path == POD_INDEX && !value.is_empty();
        if resource.resource == "pods"
            && fields.any(|field| field.equal && is_of_one_node(&field.path, &field.value))
        {
            return None;
        }
        let key = self.key(resource, &resource.namespace, &resource.name);
        *self.numbers.write().entry(key).or_default() += 1;
        Some(RegisteredWatch { tracker: self.clone(), key })
    }

    /// Returns the number of watches that a write may inform: those of all objects, of its namespace, and of its object.
    pub(super) fn interested(&self, resource: &ResourceRequest) -> usize {
        let numbers = self.numbers.read();
        let of = |namespace, name| numbers.get(&self.key(resource, namespace, name)).copied().unwrap_or(0);
        let mut interested = of("", "");
        if !resource.namespace.is_empty() {
            interested += of(&resource.namespace, "");
        }
        if !resource.name.is_empty() {
            interested += of(&resource.namespace, &resource.name);
        }
        interested
    }

    fn key(&self, resource: &ResourceRequest, namespace: &str, name: &str) -> u64 {
        self.hasher.hash_one((&resource.group, &resource.resource, namespace, name))
    }
}

impl Drop for RegisteredWatch {
    fn drop(&mut self) {
        let mut numbers = self.tracker.numbers.write();
        if let Entry::Occupied(mut number) = numbers.entry(self.key) {
            *number.get_mut() -= 1;
            if *number.get() == 0 {
                number.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;

    #[test]
    fn a_write_informs_the_watches_of_everything_around_its_object() {
        let tracker = Arc::new(WatchTracker::default());
        let info = |method: Method, uri: &str| RequestInfo::parse(&method, &uri.parse().unwrap());
        let registered: Vec<_> = [
            "/api/v1/pods?watch=1",
            "/api/v1/pods?watch=1&labelSelector=a%3Db",
            "/api/v1/pods?watch=1&fieldSelector=spec.nodeName%3Dn1",
            "/api/v1/namespaces/a/pods?watch=1",
            "/api/v1/namespaces/b/pods?watch=1",
            "/api/v1/namespaces/a/pods?watch=1&fieldSelector=metadata.name%3Dx",
            "/api/v1/configmaps?watch=1",
        ]
        .map(|uri| tracker.register(&info(Method::GET, uri)))
        .into();
        assert_eq!(registered.iter().flatten().count(), 6, "a watch of one node does not count");
        let interested = |method: Method, uri: &str| tracker.interested(&info(method, uri).resource.unwrap());
        assert_eq!(interested(Method::POST, "/api/v1/namespaces/a/pods"), 3);
        assert_eq!(interested(Method::PUT, "/api/v1/namespaces/a/pods/x"), 4);
        assert_eq!(interested(Method::PUT, "/api/v1/namespaces/b/pods/x"), 3);
        assert_eq!(interested(Method::PUT, "/apis/apps/v1/namespaces/a/deployments/x"), 0);
        drop(registered);
        assert!(tracker.numbers.read().is_empty());
    }
}
