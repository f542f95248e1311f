//! Dispatches a request to the verb that handles it.

use std::sync::Arc;

use axum::body::Body;
use http::request::Parts;
use http::{Method, Request};
use registry_core::RequestContext;
use registry_core::api::StatusError;
use registry_core::context::Exhausted;
use request_info::{Query, RequestInfo, ResourceRequest, Verb};
use responses::negotiation::Output;
use responses::{self, Response};

use crate::metrics::Measure;

use super::api::Api;
use super::call::Call;
use super::routing::{Missing, Route, method_not_allowed, resource_not_found};
use super::{audit, connect, create, delete, get, list, patch, update, watch};

/// A request for a resource, apart from its body.
#[derive(Clone, Copy)]
struct Asked<'r> {
    info: &'r RequestInfo,
    resource: &'r ResourceRequest,
    parts: &'r Parts,
}

// === impl Api ===

impl Api {
    /// Handles a request that has passed the filters. Every failure becomes a response too.
    pub async fn respond(
        self: Arc<Self>,
        info: RequestInfo,
        mut context: RequestContext,
        request: Request<Body>,
    ) -> Response {
        let (parts, body) = request.into_parts();
        let mut measure = Measure::begin(context.received);
        let result = match &info.resource {
            Some(resource) => {
                let asked = Asked { info: &info, resource, parts: &parts };
                self.serve(asked, body, &mut context, &mut measure).await
            }
            None => self.document(&info.path, &parts).await,
        };
        let mut response = result.unwrap_or_else(|failure| {
            // Decoders, webhooks and conversions word it as an error of theirs.
            let failure = match context.budget.exhausted() {
                Some(why @ (Exhausted::Bytes | Exhausted::Deadline | Exhausted::Abandoned)) => why.into(),
                // Expressions say themselves which of them took too many steps.
                Some(Exhausted::Steps) | None => failure,
            };
            context.audit.iter().for_each(|record| record.fail(&failure));
            responses::failure(&failure, &self.output_of_errors(&parts))
        });
        responses::add_warnings(&mut response, &context.take_warnings());
        measure.finish(response)
    }

    fn output_of_errors(&self, parts: &Parts) -> Output {
        Output::for_errors(&parts.headers, Query::from_uri(&parts.uri), self.config.cbor)
    }

    /// Finds the route of a request for a resource, and calls its verb.
    async fn serve(
        &self,
        Asked { info, resource, parts }: Asked<'_>,
        body: Body,
        context: &mut RequestContext,
        measure: &mut Measure,
    ) -> Result<Response, StatusError> {
        let route = match self.route(info, resource).await {
            Ok(route) => route,
            Err(missing) => return missing.status().map_or_else(|| Ok(responses::page_not_found()), Err),
        };
        let route = &*route;
        route.path.resource.schema.prepare().await;
        route.metrics.count(measure, info, patch::is_apply(&parts.headers), Query::from_uri(&parts.uri));
        route.namespace(resource).clone_into(&mut context.namespace);
        context.resource = Some(route.path.resource.resource());
        let deprecation = route.path.resource.deprecation.filter(|_| route.serves(info.verb));
        let call = Call {
            api: self,
            info,
            route,
            name: &resource.name,
            context,
            headers: &parts.headers,
            query: Query::from_uri(&parts.uri),
            upgrade: parts.extensions.get(),
        };
        if let Some(deprecation) = deprecation {
            route.metrics.deprecated(audit::removed_release(deprecation).unwrap_or_default());
            audit::deprecated(&call, deprecation);
            call.context.warn(deprecation);
        }
        call.perform(parts, body).await
    }

    /// Returns the route of a request.
    async fn route(&self, info: &RequestInfo, resource: &ResourceRequest) -> Result<Arc<Route>, Missing> {
        let missing = match self.served().route(info, resource) {
            Ok(route) => return Ok(route.clone()),
            Err(missing) => missing,
        };
        if matches!(missing, Missing::Method | Missing::Subresource(_)) || !self.wait_for(resource).await {
            return Err(missing);
        }
        self.served().route(info, resource).cloned()
    }

    /// Returns a document about the server itself.
    async fn document(&self, path: &str, parts: &Parts) -> Result<Response, StatusError> {
        let served = self.served();
        let is_allowed = match parts.method {
            Method::GET => true,
            Method::HEAD => !served.refuses_head(path),
            _ => false,
        };
        if !is_allowed && served.has_document(path) {
            return Err(method_not_allowed());
        }
        let document = if openapi::has_path(path) {
            // Making it takes up to seconds, for which requests for the same document wait.
            let (served, path, parts) = (served.clone(), path.to_owned(), parts.clone());
            let descriptions = self.config.descriptions;
            let made =
                tokio::task::spawn_blocking(move || served.openapi_document(&path, &parts, descriptions));
            made.await.map_err(StatusError::internal)??
        } else {
            served.discovery_document(path, parts, self.config.cbor)?
        };
        match document {
            Some(response) => Ok(response),
            // A version that a served group does not have is reported as a missing resource.
            None if served.has_group_of(path) => Err(resource_not_found()),
            None => Ok(responses::page_not_found()),
        }
    }
}

// === impl Call ===

impl Call<'_> {
    /// Calls the verb.
    async fn perform(&self, parts: &Parts, body: Body) -> Result<Response, StatusError> {
        let has_name = !self.name.is_empty();
        if let (Some(connecter), true) = (&self.route.path.capabilities.connecter, has_name) {
            // Boxed: rare, and larger than all other calls.
            return Box::pin(connect::connect(self, connecter.as_ref(), parts, body)).await;
        }
        if parts.method == Method::HEAD && !self.route.is_custom() {
            return Err(method_not_allowed());
        }
        match self.info.verb {
            Verb::Get if has_name => get::get(self).await,
            // Boxed: all others are larger, and more work.
            Verb::List => Box::pin(list::list(self)).await,
            // The prefix `/watch/` names the verb, whatever the method.
            Verb::Watch if matches!(parts.method, Method::GET | Method::HEAD) => {
                Box::pin(watch::watch(self)).await
            }
            Verb::Create => Box::pin(create::create(self, body)).await,
            Verb::Update if has_name => Box::pin(update::update(self, body)).await,
            Verb::Patch if has_name => Box::pin(patch::patch(self, body)).await,
            Verb::Delete if has_name => Box::pin(delete::delete(self, body)).await,
            Verb::DeleteCollection => Box::pin(delete::delete_collection(self, body)).await,
            _ => Err(method_not_allowed()),
        }
    }
}
