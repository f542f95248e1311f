//! Request-scoped data, passed as an argument and never through globals or task-locals.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use crate::api::{GroupResource, GroupVersionResource};
use crate::storage::Revision;
use parking_lot::{Mutex, MutexGuard};

mod audit;
mod copies;
mod service_account;
mod warnings;

pub use crate::budget::{AbandonOnDrop, Abandoned, Budget, Exhausted, Place};
pub use audit::{AuditLevel, AuditRecord, ObjectIdentity, Recorded, RecordedList, TRUNCATED};
pub use copies::RecordedBytes;
pub use service_account::ServiceAccountName;
use warnings::Warnings;

/// The user, target and deadline of a request. Created once and passed by reference down to the store.
///
/// Its fields do not change while the request is processed. Three of them collect what the processing causes, because it
/// arises in many places and is used only in the end: the [`budget`](Self::budget), the [`audit`](Self::audit) record, and
/// the warnings. Decoders, admission, strategies and rules all warn; as results, warnings would be a part of the
/// signature of every hook. Nothing that is processed further travels here: it is an argument.
#[derive(Debug, Default)]
pub struct RequestContext {
    /// The user.
    pub user: UserInfo,
    /// The namespace in the request's path; empty for cluster-scoped requests and lists over all.
    pub namespace: String,
    /// The API verb of the request; empty for the server's own requests.
    pub verb: &'static str,
    /// The group, version and resource in the request's path. For a kind served in several versions, messages and
    /// version-dependent rules use it; `None` for the server's own requests.
    pub resource: Option<GroupVersionResource>,
    /// Time when the request was received; `None` for the server's own requests.
    pub received: Option<Instant>,
    /// The address of the connection that the request came over; `None` for the server's own requests.
    pub client_address: Option<IpAddr>,
    /// The work that the request may cause, and the time until which the client waits for the response.
    pub budget: Budget,
    /// The request's id in the audit log.
    pub audit_id: String,
    /// The client's user agent, up to the first `/`: the default field manager.
    pub user_agent: String,
    /// The policy of this cluster.
    pub policy: ClusterPolicy,
    /// The revision whose state a read of one object shows, in servers for tests; `None` is the newest.
    pub read_revision: Option<Revision>,
    /// The record of the request in the audit log; `None` if the request is not audited.
    pub audit: Option<Arc<AuditRecord>>,
    warnings: Mutex<Warnings>,
}

/// Cluster-specific policy, as configured by the operator.
///
/// Kubernetes concept: `pkg/capabilities`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClusterPolicy {
    /// Whether containers may be privileged.
    pub allows_privileged: bool,
}

/// The group whose members may do everything, regardless of policy.
pub const MASTERS: &str = "system:masters";
/// The group of all users that have authenticated.
pub const AUTHENTICATED: &str = "system:authenticated";

/// The authenticated user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserInfo {
    /// The user's name.
    pub name: String,
    /// The user's unique id, which does not change with the name; may be empty.
    pub uid: String,
    /// The user's groups.
    pub groups: Vec<String>,
    /// Additional attributes from the authenticator.
    pub extra: Vec<(String, Vec<String>)>,
}

impl UserInfo {
    /// Whether the user may do everything, as a member of [`MASTERS`].
    ///
    /// Kubernetes concept: `EscalationAllowed` of `pkg/registry/rbac`.
    pub fn may_do_everything(&self) -> bool {
        self.groups.iter().any(|group| group == MASTERS)
    }
}

impl RequestContext {
    /// Creates the context of a user in a namespace.
    pub fn new(user: UserInfo, namespace: impl Into<String>) -> Self {
        Self { user, namespace: namespace.into(), ..Self::default() }
    }

    /// Creates the server's own context: a member of `system:masters`.
    pub fn system(namespace: impl Into<String>) -> Self {
        let user = UserInfo {
            name: "system:apiserver".to_owned(),
            groups: vec![MASTERS.to_owned()],
            ..UserInfo::default()
        };
        Self { budget: Budget::unlimited(), ..Self::new(user, namespace) }
    }

    /// Returns the resource as named in messages: with the request's group, if the request is about it in another
    /// group.
    pub fn named(&self, own: GroupResource) -> GroupResource {
        match self.resource {
            Some(asked) if asked.resource == own.resource => {
                GroupResource { group: asked.group, resource: asked.resource }
            }
            _ => own,
        }
    }

    /// Adds a warning to the response's `Warning` headers. Ignores repeated texts and texts that exceed Kubernetes'
    /// limit for the total length.
    pub fn warn(&self, text: impl Into<String>) {
        self.warnings().add(text.into());
    }

    /// Removes and returns all warnings added so far.
    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut *self.warnings()).into_texts()
    }

    /// Returns whether the request is audited at this level or a higher one.
    pub fn audits(&self, level: AuditLevel) -> bool {
        self.audit_at(level).is_some()
    }

    /// Returns the record of a request that is audited at this level or a higher one.
    pub fn audit_at(&self, level: AuditLevel) -> Option<&Arc<AuditRecord>> {
        self.audit.as_ref().filter(|record| record.level() >= level)
    }

    /// Adds an annotation to the request's audit events from the next stage on, if the request is audited. The first
    /// value of a key stays. Number and size of annotations are bounded.
    ///
    /// Kubernetes concept: `AddAuditAnnotation` in `k8s.io/apiserver/pkg/audit`.
    pub fn annotate(&self, key: impl Into<Cow<'static, str>>, value: impl Into<Cow<'static, str>>) {
        if let Some(record) = &self.audit {
            record.annotate(key, value);
        }
    }

    /// Adds an annotation as [`annotate`](Self::annotate) does, if the request is audited at this level or a higher one.
    pub fn annotate_at(
        &self,
        level: AuditLevel,
        key: impl Into<Cow<'static, str>>,
        value: impl Into<Cow<'static, str>>,
    ) {
        if self.audits(level) {
            self.annotate(key, value);
        }
    }

    fn warnings(&self) -> MutexGuard<'_, Warnings> {
        self.warnings.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_reach_the_record_of_an_audited_request() {
        let mut context = RequestContext::system("");
        context.annotate("example.com/ignored", "the request is not audited");
        let record = Arc::new(AuditRecord::new(AuditLevel::Metadata, false));
        context.audit = Some(record.clone());
        context.annotate("example.com/decision", "allow");
        context.annotate("example.com/decision", "later");
        context.annotate_at(AuditLevel::Request, "example.com/patch", "{}");
        let kept = [("example.com/decision".into(), "allow".into())];
        record.read(|recorded| assert_eq!(recorded.annotations, kept));
        assert!(context.audits(AuditLevel::Metadata) && !context.audits(AuditLevel::Request));
    }
}
