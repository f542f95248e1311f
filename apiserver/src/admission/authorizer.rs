//! The authorizer of expressions: what the user of a request, or a service account, may do.

use std::sync::Arc;

use futures::FutureExt as _;
use registry_core::cel::{Authorizer, Check, Decision};
use registry_core::context::UserInfo;
use registry_core::rest::access::{AccessReviewer, ResourceAccess, WantedAccess};
use tokio::runtime::{Handle, RuntimeFlavor};

/// The access of one user, for expressions.
pub(crate) struct UserAccess {
    reviewer: Arc<dyn AccessReviewer>,
    user: UserInfo,
}

// === impl UserAccess ===

impl UserAccess {
    /// Creates the access of a user.
    pub(crate) fn new(reviewer: Arc<dyn AccessReviewer>, user: UserInfo) -> Self {
        Self { reviewer, user }
    }
}

impl Authorizer for UserAccess {
    fn authorize(&self, check: &Check) -> Decision {
        let account = check.service_account.as_ref().map(|(namespace, name)| account(namespace, name));
        let user = account.as_ref().unwrap_or(&self.user);
        let wanted = wanted(check);
        let mut deciding = self.reviewer.decide(user, &wanted);
        // Policies are in memory, so that hardly any decision waits.
        let decision = match (&mut deciding).now_or_never() {
            Some(decision) => decision,
            None if may_block() => tokio::task::block_in_place(|| Handle::current().block_on(deciding)),
            None => {
                let error = Some("the authorizer did not decide in time".to_owned());
                return Decision { error, ..Decision::default() };
            }
        };
        Decision { allowed: decision.allowed, reason: decision.reason, error: None }
    }
}

fn may_block() -> bool {
    Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread)
}

fn account(namespace: &str, name: &str) -> UserInfo {
    let groups = ["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")];
    UserInfo {
        name: format!("system:serviceaccount:{namespace}:{name}"),
        groups: groups.to_vec(),
        ..UserInfo::default()
    }
}

fn wanted(check: &Check) -> WantedAccess {
    if let Some(path) = &check.path {
        return WantedAccess::Path { path: path.clone(), verb: check.verb.clone() };
    }
    WantedAccess::Resource(ResourceAccess {
        verb: check.verb.clone(),
        group: check.group.clone(),
        version: "*".to_owned(),
        resource: check.resource.clone(),
        subresource: check.subresource.clone(),
        namespace: check.namespace.clone(),
        name: check.name.clone(),
    })
}
