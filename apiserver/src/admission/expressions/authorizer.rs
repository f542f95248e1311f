//! The authorizer that expressions ask.

use std::sync::Arc;

use futures::FutureExt as _;
use parking_lot::{Mutex, MutexGuard};
use registry_core::api::selector::{FieldSelector, LabelSelector};
use registry_core::cel::{Authorizer, Check, Decision};
use registry_core::context::{ServiceAccountName, UserInfo};
use registry_core::rest::access::{
    AccessDecision, AccessReviewer, AccessSelectors, ResourceAccess, WantedAccess,
};

/// Decides accesses of the request's user, and remembers the decisions for the rest of the request.
///
/// Expressions are evaluated without waiting. A decision that takes time is noted as pending, and the evaluation is
/// repeated when it is there.
pub(super) struct RequestAuthorizer {
    access: Arc<dyn AccessReviewer>,
    user: UserInfo,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    decided: Vec<(Check, Decision)>,
    pending: Vec<Check>,
}

// === impl RequestAuthorizer ===

impl RequestAuthorizer {
    pub(super) fn new(access: Arc<dyn AccessReviewer>, user: UserInfo) -> Self {
        Self { access, user, state: Mutex::default() }
    }

    /// Decides what is pending. Returns whether anything was.
    pub(super) async fn decide_pending(&self) -> bool {
        let pending = std::mem::take(&mut self.state().pending);
        let is_any = !pending.is_empty();
        for check in pending {
            let decision = shown(self.decide(&check).await);
            self.state().decided.push((check, decision));
        }
        is_any
    }

    async fn decide(&self, check: &Check) -> AccessDecision {
        let user = match &check.service_account {
            Some((namespace, name)) => ServiceAccountName { namespace, name }.user(),
            None => self.user.clone(),
        };
        self.access.decide(&user, &wanted(check)).await
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl Authorizer for RequestAuthorizer {
    fn authorize(&self, check: &Check) -> Decision {
        let known = |state: &State| {
            state.decided.iter().find(|(other, _)| other == check).map(|(_, decision)| decision.clone())
        };
        if let Some(decision) = known(&self.state()) {
            return decision;
        }
        let Some(decision) = self.decide(check).now_or_never() else {
            self.state().pending.push(check.clone());
            return Decision { error: Some("not decided yet".to_owned()), ..Decision::default() };
        };
        let decision = shown(decision);
        self.state().decided.push((check.clone(), decision.clone()));
        decision
    }
}

fn shown(decision: AccessDecision) -> Decision {
    let error = Some(decision.error).filter(|error| !error.is_empty());
    Decision { allowed: decision.allowed, reason: decision.reason, error }
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
        // A selector that cannot be parsed is left out: the question is then about more. Kubernetes notes the error in the
        // attributes of the question too, but none of its authorizers looks at it.
        selectors: AccessSelectors {
            fields: FieldSelector::parse(&check.field_selector).unwrap_or_default().requirements,
            labels: LabelSelector::parse(&check.label_selector).unwrap_or_default().requirements,
        },
    })
}
