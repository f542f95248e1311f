//! Request-scoped facts. They travel as an argument, never in globals or task-locals.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::api::{GroupResource, GroupVersionResource};

mod warnings;

use warnings::Warnings;

/// Who asks for what, until when. One per request, shared by reference down to the store.
#[derive(Debug, Default)]
pub struct RequestContext {
    /// Who asks.
    pub user: UserInfo,
    /// The namespace in the request's path; empty for cluster-scoped requests and lists over all.
    pub namespace: String,
    /// The group, version and resource in the request's path. Of a kind that is served in several, it is what
    /// messages name and what rules that differ by version go by; `None` for the server's own requests.
    pub resource: Option<GroupVersionResource>,
    /// When the request came in, if it came from outside.
    pub received: Option<Instant>,
    /// When the client no longer waits for the answer.
    pub deadline: Option<Instant>,
    /// The request's id in the audit log.
    pub audit_id: String,
    /// The client's user agent, up to its first `/`: the field manager when none is given.
    pub user_agent: String,
    /// What this cluster allows.
    pub policy: ClusterPolicy,
    warnings: Mutex<Warnings>,
}

/// What one cluster allows and another does not, as its operator decided.
///
/// Kubernetes concept: `pkg/capabilities`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClusterPolicy {
    /// Containers may be privileged.
    pub allows_privileged: bool,
}

/// Who asks, as authentication found out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserInfo {
    /// The user's name.
    pub name: String,
    /// An identifier that outlives renames; may be empty.
    pub uid: String,
    /// The groups the user is in.
    pub groups: Vec<String>,
    /// What else the authenticator knows.
    pub extra: Vec<(String, Vec<String>)>,
}

impl RequestContext {
    /// A context for a user in a namespace.
    pub fn new(user: UserInfo, namespace: impl Into<String>) -> Self {
        Self { user, namespace: namespace.into(), ..Self::default() }
    }

    /// The server's own context: a member of `system:masters`.
    pub fn system(namespace: impl Into<String>) -> Self {
        let user = UserInfo {
            name: "system:apiserver".to_owned(),
            groups: vec!["system:masters".to_owned()],
            ..UserInfo::default()
        };
        Self::new(user, namespace)
    }

    /// A resource as messages name it: as the request does, when it is about that resource in another group.
    pub fn named(&self, own: GroupResource) -> GroupResource {
        match self.resource {
            Some(asked) if asked.resource == own.resource => {
                GroupResource { group: asked.group, resource: asked.resource }
            }
            _ => own,
        }
    }

    /// Adds a warning to the client's `Warning` headers. A repeated text is ignored, and so is what exceeds
    /// Kubernetes' bounds on the length of all warnings.
    pub fn warn(&self, text: impl Into<String>) {
        self.warnings().add(text.into());
    }

    /// Removes and returns all warnings added so far.
    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut *self.warnings()).into_texts()
    }

    fn warnings(&self) -> MutexGuard<'_, Warnings> {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
