//! Finds out the user of a request, and asks whether the user may make it.

use std::time::Instant;

use axum::body::Body;
use http::{HeaderMap, Request};
use registry_core::api::StatusError;
use registry_core::context::UserInfo;
use request_info::RequestInfo;
use tracing::Span;

use crate::audit::Recording;
use crate::authentication::{Identified, requested_impersonation};
use crate::authorization::impersonation::{Impersonated, impersonated};
use crate::authorization::rights::Right;
use crate::telemetry::Traced;

use super::{Arrival, Dispatch, Filters, Peer, request_log};

impl<D: Dispatch> Filters<D> {
    pub(super) async fn authenticate(&self, peer: &Peer, headers: &HeaderMap, path: &str) -> Identified {
        let access = self.metrics.access();
        let certificates = peer.certificates.as_ref();
        let origin = peer.address.map(|address| address.ip());
        let identified = self.authenticator.identify(certificates, headers, path, origin).await;
        match &identified.user {
            Ok(user) => access.authenticated(&user.name),
            Err(_) => access.not_authenticated(headers.contains_key(http::header::AUTHORIZATION)),
        }
        identified
    }

    pub(super) async fn authorize(
        &self,
        right: &Right<'_>,
        user: &UserInfo,
        audit: Option<&Recording>,
    ) -> Result<(), StatusError> {
        let decision = self.authorizer.authorize(&right.attributes(user)).await;
        self.metrics.access().decided(&decision);
        if let Some(audit) = audit {
            audit.decide(&decision);
        }
        right.settle(user, decision)
    }

    /// Returns the user that the request impersonates, if the user may do so.
    pub(super) async fn impersonated(
        &self,
        user: &UserInfo,
        info: &RequestInfo,
        headers: &HeaderMap,
    ) -> Result<Option<Impersonated>, StatusError> {
        let Some(wanted) = requested_impersonation(headers)? else { return Ok(None) };
        // Boxed: rare, and larger than what other requests need.
        Box::pin(impersonated(self.authorizer.as_ref(), user, wanted, info)).await.map(Some)
    }

    /// Returns the span of a request whose authentication began at `begun`, or none if it is not traced.
    pub(super) fn begin_trace(
        &self,
        user: &UserInfo,
        info: &RequestInfo,
        request: &Request<Body>,
        arrival: Arrival<'_>,
        begun: Option<Instant>,
    ) -> Span {
        let Some(sampler) = self.sampler else { return Span::none() };
        let authentication = begun.map(|begun| begun.elapsed()).unwrap_or_default();
        sampler.root(user, request.headers(), || Traced {
            request,
            info,
            target: request_log::loggable(info, request.uri()),
            audit_id: arrival.audit_id,
            client: arrival.client,
            received: arrival.received,
            authentication,
        })
    }
}
