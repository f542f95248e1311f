//! Paths of the server itself: health, version, metrics and pages for operators.

use std::time::Instant;

use http::HeaderMap;
use registry_core::api::StatusError;
use request_info::{RequestInfo, Verb};
use responses::{self, Response, ResponseBody};

use crate::handlers::method_not_allowed;
use crate::health::Endpoint;
use crate::version;
use crate::zpages::Page;

use super::{Dispatch, Filters};

impl<D: Dispatch> Filters<D> {
    /// Responds to a path of the server itself, which belongs to no API.
    pub(super) async fn own_path(
        &self,
        info: &RequestInfo,
        query: &str,
        headers: &HeaderMap,
        received: Instant,
    ) -> Option<Result<Response, StatusError>> {
        if info.resource.is_some() {
            return None;
        }
        // Boxed: rare, and larger than what requests of resources need.
        let answered = async move {
            if let Some((endpoint, rest)) = Endpoint::from_path(&info.path) {
                let response = self.health.respond(endpoint, rest, query).await;
                return Some(Ok(self.metrics.requests().served_own(endpoint.path(), received, response)));
            }
            if let Some(page) = Page::from_path(&info.path).filter(|page| self.zpages.has(*page)) {
                let response = self.zpages.respond(page, headers, query);
                return Some(Ok(self.metrics.requests().served_own(page.path(), received, response)));
            }
            match info.path.as_str() {
                "/version" | "/version/" if info.verb == Verb::Get => {
                    Some(Ok(version::response(self.zpages.version()).map(ResponseBody::from)))
                }
                "/version" | "/version/" => Some(Err(method_not_allowed())),
                "/metrics" => {
                    let (reads, writes) = self.in_flight.numbers();
                    Some(self.metrics.respond(reads, writes).await)
                }
                "/metrics/slis" => Some(self.metrics.health().respond(&self.health).await),
                path if info.verb == Verb::Get => {
                    let document = self.authenticator.document(path).map(Ok);
                    document.or_else(|| self.debug_page(path, query))
                }
                _ => None,
            }
        };
        Box::pin(answered).await
    }

    /// Responds with a page about priority and fairness.
    fn debug_page(&self, path: &str, query: &str) -> Option<Result<Response, StatusError>> {
        let page = self.in_flight.control.as_ref()?.page(path, query)?;
        Some(Ok(responses::plain_text(page)))
    }
}
