//! `NamespaceLifecycle`: rejects creations in namespaces that are missing or being deleted, and protects the
//! namespaces that the cluster depends on from deletion.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use parking_lot::Mutex;
use registry_core::RequestContext;
use registry_core::api::{GetOptions, GroupResource, Object, StatusCause, StatusError};
use registry_core::registry::InstalledApi;
use registry_core::rest::{Answer, Getter};

use super::{AdmissionPlugin, MutatingAdmission, ObjectWriteMut, Operation};

mod controller;

use controller::NamespaceController;
pub(crate) use controller::held_until;

/// Namespaces that may not be deleted.
const IMMORTAL: [&str; 3] = ["default", "kube-public", "kube-system"];
/// The resource that errors about namespaces refer to.
const NAMESPACES: GroupResource = GroupResource { group: "", resource: "namespaces" };
/// Time after a namespace's deletion through this server during which its cached state is not trusted.
const DOUBT: Duration = Duration::from_secs(30);
/// Maximum number of deletions that are remembered.
const MAX_DOUBTED: usize = 1024;

/// The plug-in. Reads namespaces from their own store: from the cache first, and from storage before it
/// refuses.
pub struct NamespaceLifecycle {
    namespaces: Arc<dyn Getter>,
    /// `None` if a controller runs in this server, and if leases are not served, so that its presence is unknown.
    controller: Option<NamespaceController>,
    context: RequestContext,
    recently_deleted: Mutex<VecDeque<(Instant, String)>>,
}

/// State of a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NamespaceState {
    Missing,
    Active,
    Terminating,
}

// === impl NamespaceLifecycle ===

impl NamespaceLifecycle {
    /// Returns the plug-in over the installed `namespaces`, or `None` if they are not served.
    pub fn new(installed: &InstalledApi) -> Option<Self> {
        let path = installed
            .paths
            .iter()
            .find(|path| path.subresource.is_none() && path.resource.group_resource() == NAMESPACES)?;
        Some(Self {
            namespaces: path.capabilities.getter.clone()?,
            controller: NamespaceController::new(installed),
            context: RequestContext::system(""),
            recently_deleted: Mutex::default(),
        })
    }

    /// Says whether a namespace controller runs in this server. Otherwise users of kubectl are warned when they delete a
    /// namespace and none is found.
    #[must_use]
    pub fn beside_controller(mut self, runs: bool) -> Self {
        if runs {
            self.controller = None;
        }
        self
    }

    async fn state(&self, name: &str) -> Result<NamespaceState, StatusError> {
        if !self.is_doubted(name) {
            let cached = self.look_up(name, &GetOptions { resource_version: Some(0) }).await?;
            // The cache may not have observed the namespace yet; only the store can confirm that it is
            // missing.
            if cached != NamespaceState::Missing {
                return Ok(cached);
            }
        }
        self.look_up(name, &GetOptions::default()).await
    }

    async fn look_up(&self, name: &str, options: &GetOptions) -> Result<NamespaceState, StatusError> {
        match self.namespaces.get(&self.context, name, options).await {
            Ok(answer) if is_terminating(&answer) => Ok(NamespaceState::Terminating),
            Ok(_) => Ok(NamespaceState::Active),
            Err(failure) if failure.is_not_found() => Ok(NamespaceState::Missing),
            Err(failure) => Err(failure),
        }
    }

    fn is_doubted(&self, name: &str) -> bool {
        let mut deleted = self.recently_deleted.lock();
        while deleted.front().is_some_and(|(when, _)| when.elapsed() > DOUBT) {
            deleted.pop_front();
        }
        deleted.iter().any(|(_, own)| own == name)
    }

    fn doubt(&self, name: &str) {
        let mut deleted = self.recently_deleted.lock();
        if deleted.len() == MAX_DOUBTED {
            deleted.pop_front();
        }
        deleted.push_back((Instant::now(), name.to_owned()));
    }
}

impl std::fmt::Debug for NamespaceLifecycle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("NamespaceLifecycle")
    }
}

impl AdmissionPlugin for NamespaceLifecycle {
    fn name(&self) -> &'static str {
        "NamespaceLifecycle"
    }
}

#[async_trait]
impl MutatingAdmission for NamespaceLifecycle {
    async fn admit(&self, context: &RequestContext, write: ObjectWriteMut<'_>) -> Result<(), StatusError> {
        let resource = write.attributes.resource.group_resource();
        if resource == NAMESPACES {
            if write.attributes.operation == Operation::Delete {
                if IMMORTAL.contains(&write.attributes.name) {
                    let why = "this namespace may not be deleted";
                    return Err(StatusError::forbidden(NAMESPACES, write.attributes.name, why));
                }
                self.doubt(write.attributes.name);
                if let (Some(controller), false) = (&self.controller, write.attributes.dry_run.is_on()) {
                    controller.warn_if_missing(context).await;
                }
            }
            return Ok(());
        }
        // Existing objects may be deleted or connected to in any state of the namespace. Access reviews are
        // allowed whether or not the namespace exists.
        let is_review = resource.group == "authorization.k8s.io";
        let namespace = context.namespace.as_str();
        let changes_nothing = matches!(write.attributes.operation, Operation::Delete | Operation::Connect);
        if namespace.is_empty() || is_review || changes_nothing {
            return Ok(());
        }
        match self.state(namespace).await? {
            NamespaceState::Missing => Err(StatusError::not_found(NAMESPACES, namespace)),
            NamespaceState::Terminating if write.attributes.operation == Operation::Create => {
                Err(terminating(resource, write.attributes.name, namespace))
            }
            NamespaceState::Active | NamespaceState::Terminating => Ok(()),
        }
    }
}

fn terminating(resource: GroupResource, name: &str, namespace: &str) -> StatusError {
    let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
    StatusError::forbidden(resource, name, why).with_causes(vec![StatusCause {
        reason: "NamespaceTerminating".to_owned(),
        message: format!("namespace {namespace} is being terminated"),
        field: "metadata.namespace".to_owned(),
    }])
}

fn is_terminating(answer: &Answer) -> bool {
    const PHASE: &str = "status.phase";
    match answer {
        Answer::Stored(entry) if entry.attributes.field_names.contains(&PHASE) => {
            entry.attributes.field(PHASE) == "Terminating"
        }
        Answer::Stored(entry) => {
            serde_json::from_slice::<Object>(entry.json()).is_ok_and(|namespace| says_terminating(&namespace))
        }
        Answer::Object(object) => says_terminating(object),
        Answer::Success(_) => false,
    }
}

fn says_terminating(namespace: &Object) -> bool {
    namespace.get_str(&["status", "phase"]) == Some("Terminating")
}

#[cfg(test)]
mod tests;
