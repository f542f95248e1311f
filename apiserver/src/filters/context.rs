//! The context of a request, in which handlers find what the filters have found.

use http::HeaderMap;
use registry_core::RequestContext;
use registry_core::context::{Budget, UserInfo};
use request_info::RequestInfo;

use super::{Arrival, Dispatch, Filters, Findings};

impl<D: Dispatch> Filters<D> {
    /// Returns the context of a request.
    pub(super) fn context_of(
        &self,
        user: UserInfo,
        info: &RequestInfo,
        headers: &HeaderMap,
        arrival: Arrival<'_>,
        findings: &Findings,
    ) -> RequestContext {
        let namespace = info.resource.as_ref().map(|resource| resource.namespace.clone()).unwrap_or_default();
        let mut context = RequestContext::new(user, namespace);
        context.verb = info.verb.as_str();
        context.received = Some(arrival.received);
        context.client_address = arrival.client;
        context.budget = Budget::until(arrival.deadline);
        arrival.audit_id.to_str().unwrap_or_default().clone_into(&mut context.audit_id);
        if let Some(agent) = headers.get(http::header::USER_AGENT) {
            // The user agent names the field manager. As in Go, invalid UTF-8 becomes replacement characters.
            let name = agent.as_bytes().split(|byte| *byte == b'/').next().unwrap_or(&[]);
            context.user_agent = String::from_utf8_lossy(name).into_owned();
        }
        context.policy = self.policy;
        context.audit = findings.audit.as_ref().map(|audit| audit.record().clone());
        context
    }
}
