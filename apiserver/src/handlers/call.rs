//! One request to a resource, as passed to its handler.

use http::HeaderMap;
use hyper::upgrade::OnUpgrade;
use registry_core::RequestContext;
use registry_core::api::StatusError;
use request_info::{Query, RequestInfo};
use responses::negotiation::{Endpoint, Format, Formats, Output};

use crate::admission::{Attributes, Operation, OperationOptions};
use crate::authorization::rights::Right;

use super::api::Api;
use super::routing::Route;

/// One request to a resource.
#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    /// The server.
    pub(super) api: &'a Api,
    /// The method and the path.
    pub(super) info: &'a RequestInfo,
    /// The route.
    pub(super) route: &'a Route,
    /// The object's name; empty on collections.
    pub(super) name: &'a str,
    /// The user, the namespace and the rest of the request's context.
    pub(super) context: &'a RequestContext,
    /// The request's headers.
    pub(super) headers: &'a HeaderMap,
    /// The request's query.
    pub(super) query: Query<'a>,
    /// The upgrade of the request's connection, if it asks for one.
    pub(super) upgrade: Option<&'a OnUpgrade>,
}

// === impl Call ===

impl<'a> Call<'a> {
    /// Negotiates the form of the response.
    pub(super) fn negotiate(&self, endpoint: Endpoint) -> Result<Output, StatusError> {
        Output::negotiate(self.headers, self.query, endpoint, self.formats())
    }

    /// Returns the formats of the path's objects.
    pub(super) fn formats(&self) -> Formats {
        let capabilities = &self.route.path.capabilities;
        Formats {
            protobuf: self.route.has_protobuf(),
            cbor: self.api.config.cbor,
            tables: capabilities.getter.is_some() || capabilities.lister.is_some(),
        }
    }

    /// Returns the format of the request's body.
    pub(super) fn body_format(&self) -> Result<Format, StatusError> {
        Format::from_body(self.headers, self.formats())
    }

    /// Checks that the user has a right, if the request needs one.
    pub(super) async fn require(&self, right: Option<Right<'_>>) -> Result<(), StatusError> {
        match right {
            Some(right) => right.require(self.api.authorizer()?, &self.context.user).await,
            None => Ok(()),
        }
    }

    /// Returns the admission attributes of a write to `name`.
    pub(super) fn attributes<'n>(
        &self,
        operation: Operation,
        name: &'n str,
        options: impl Into<OperationOptions<'n>>,
    ) -> Attributes<'n>
    where
        'a: 'n,
    {
        let options = options.into();
        Attributes {
            operation,
            resource: self.route.path.resource.resource(),
            subresource: self.route.path.subresource.unwrap_or_default(),
            kind: self.route.kind,
            name,
            dry_run: options.dry_run(),
            options,
            kinds: self.api,
            reinvocation: None,
        }
    }
}
