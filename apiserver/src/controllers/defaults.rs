//! Objects that every namespace has: `serviceaccount-controller` keeps the account `default`,
//! `root-ca-certificate-publisher-controller` the authority of the server's certificates.
//!
//! Kubernetes concept: `pkg/controller/serviceaccount` and `pkg/controller/certificates/rootcacertpublisher`.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};

use super::client::{Client, Failure};
use super::kinds::Kind;
use super::metadata::{Metadata, set};
use super::namespace::is_namespaces;
use super::objects::Observer;
use super::queue::{Outcome, Queue};

/// The accounts of the controllers.
pub(super) const SERVICE_ACCOUNT: &str = "service-account-controller";
pub(super) const ROOT_CA: &str = "root-ca-cert-publisher";

/// Maximum number of namespaces that are worked on at the same time.
const WORKERS: usize = 16;

/// The annotation of the published authority.
const DESCRIPTION: &str = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as \
                           the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of \
                           Kubernetes clusters.";

/// Keeps an object in every namespace.
pub(super) struct DefaultObject {
    client: Client,
    observed: Arc<ObservedDefault>,
}

/// The namespaces, and the objects that are kept in them.
pub(super) struct ObservedDefault {
    /// The plural name of the kind, of the core group.
    resource: &'static str,
    name: &'static str,
    /// The object, without its namespace.
    object: Value,
    /// The field that is restored when it is changed; `None` if any object of the name is as good.
    restored: Option<&'static str>,
    queue: Queue<String>,
    /// The namespaces that are not being deleted.
    active: Mutex<HashSet<String>>,
}

// === impl ObservedDefault ===

impl ObservedDefault {
    /// Returns the accounts `default`.
    pub(super) fn service_accounts() -> Arc<Self> {
        let object = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}});
        Self::new("serviceaccounts", "default", object, None)
    }

    /// Returns the config maps with the authority of the server's certificates.
    pub(super) fn root_certificates(ca_pem: &str) -> Arc<Self> {
        const NAME: &str = "kube-root-ca.crt";
        let annotations = json!({"kubernetes.io/description": DESCRIPTION});
        let object = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": NAME, "annotations": annotations},
            "data": {"ca.crt": ca_pem},
        });
        Self::new("configmaps", NAME, object, Some("data"))
    }

    fn new(
        resource: &'static str,
        name: &'static str,
        object: Value,
        restored: Option<&'static str>,
    ) -> Arc<Self> {
        let (queue, active) = (Queue::new(), Mutex::default());
        Arc::new(Self { resource, name, object, restored, queue, active })
    }

    fn active(&self) -> MutexGuard<'_, HashSet<String>> {
        self.active.lock()
    }

    fn is_own(&self, kind: &Kind, object: &Metadata) -> bool {
        kind.group.is_empty() && kind.resource == self.resource && object.name == self.name
    }
}

impl Observer for ObservedDefault {
    fn replaced(&self, kind: &Arc<Kind>, objects: &[Metadata]) {
        if is_namespaces(kind) {
            self.active().clear();
            for object in objects {
                self.changed(kind, object);
            }
        } else if kind.group.is_empty() && kind.resource == self.resource {
            // Any of them may have been removed or changed.
            self.active().iter().for_each(|namespace| self.queue.add(namespace.clone()));
        }
    }

    fn changed(&self, kind: &Arc<Kind>, object: &Metadata) {
        if is_namespaces(kind) {
            if object.is_being_deleted() {
                self.active().remove(&object.name);
            } else if self.active().insert(object.name.clone()) {
                self.queue.add(object.name.clone());
            }
        } else if self.restored.is_some() && self.is_own(kind, object) {
            self.queue.add(object.namespace.clone());
        }
    }

    fn removed(&self, kind: &Arc<Kind>, object: &Metadata) {
        if is_namespaces(kind) {
            self.active().remove(&object.name);
        } else if self.is_own(kind, object) {
            self.queue.add(object.namespace.clone());
        }
    }
}

// === impl DefaultObject ===

impl DefaultObject {
    /// Creates the controller.
    pub(super) fn new(client: Client, observed: Arc<ObservedDefault>) -> Self {
        Self { client, observed }
    }

    /// Works until it is dropped.
    pub(super) async fn run(&self) {
        self.observed.queue.run(WORKERS, |namespace| self.work(namespace)).await;
    }

    async fn work(&self, namespace: String) -> Outcome {
        match self.ensure(&namespace).await {
            Ok(()) => Outcome::Done,
            Err(failure) => {
                let Self { observed, .. } = self;
                tracing::debug!(namespace, "cannot keep {}/{}: {failure}", observed.resource, observed.name);
                Outcome::Failed
            }
        }
    }

    /// Creates the object, or restores it.
    async fn ensure(&self, namespace: &str) -> Result<(), Failure> {
        let Self { client, observed } = self;
        if !observed.active().contains(namespace) {
            return Ok(());
        }
        let collection = format!("/api/v1/namespaces/{namespace}/{}", observed.resource);
        let path = format!("{collection}/{}", observed.name);
        let written = match (client.get(&path).await?, observed.restored) {
            (Some(_), None) => return Ok(()),
            (Some(present), Some(field)) if present.get(field) == observed.object.get(field) => return Ok(()),
            (Some(mut present), Some(field)) => {
                set(&mut present, field, observed.object.get(field).cloned().unwrap_or_default());
                client.replace(&path, &present).await
            }
            (None, _) => client.create(&collection, &observed.object).await,
        };
        match written {
            Err(failure) if failure.is_of_terminating_namespace() => Ok(()),
            // The namespace is gone, or the object: both are observed.
            Err(failure) if failure.is_not_found() => Ok(()),
            written => written.map(drop),
        }
    }
}
