//! `connect`: connections to the peer that an object represents, through the server.

use std::borrow::Cow;

use axum::body::Body;
use http::header::LOCATION;
use http::request::Parts;
use http::{HeaderValue, Method, StatusCode};
use registry_core::api::StatusError;
use registry_core::rest::connect::{ConnectRequest, Connecter, Connection, Destination, Exchange};
use request_info::{decode_component, query_pairs};
use responses::{self, Response};

use crate::admission::{Operation, OperationOptions};
use crate::authorization::rights::Right;
use crate::proxy::ProxiedRequest;

use super::call::Call;
use super::routing::method_not_allowed;

/// Handles a connection.
pub(super) async fn connect(
    call: &Call<'_>,
    connecter: &dyn Connecter,
    parts: &Parts,
    body: Body,
) -> Result<Response, StatusError> {
    let accepted = connecter.connect_spec();
    // OPTIONS has no verb, but the peer behind a proxy may support it.
    let is_asked_of_peer = parts.method == Method::OPTIONS && accepted.has_path;
    if !accepted.verbs.contains(&call.info.verb.as_str()) && !is_asked_of_peer {
        return Err(method_not_allowed());
    }
    let (prefix, path) = split_path(call, parts.uri.path())?;
    let mut options = accepted.options(query_pairs(parts.uri.query().unwrap_or_default()))?;
    if !path.is_empty() && accepted.has_path {
        options.0.insert("path".to_owned(), decode_component(path).into());
    }
    // For admission, a log is read and not connected to.
    if call.route.kind == accepted.options_kind {
        let attributes = call.attributes(Operation::Connect, call.name, OperationOptions::None);
        call.api.admission.admit(call.context, &attributes, Some(&mut options), None).await?;
        let validation = call.api.admission.validation(attributes);
        registry_core::rest::ValidateObject::validate(&validation, call.context, Some(&options), None)
            .await?;
    }
    call.require(Right::to_connect(call.info)).await?;
    let request = ConnectRequest { options: &options, path };
    let mut destination = match connecter.connect(call.context, call.name, &request).await? {
        Connection::To(destination) => destination,
        // There is no peer yet.
        Connection::Nobody => return Ok(responses::empty(StatusCode::NO_CONTENT)),
    };
    if let Some(redirection) = to_root(&destination, parts) {
        return Ok(redirection);
    }
    if destination.exchange == Exchange::Any
        && parts.uri.path().ends_with('/')
        && !destination.path.ends_with('/')
    {
        destination.path.push('/');
    }
    let resource = connecter.group_resource();
    let user = call.context.user.name.as_str();
    let request = {
        let client = call.context.client_address;
        ProxiedRequest { resource, name: call.name, user, client, parts, prefix, body }
    };
    call.api.proxy()?.forward(&destination, request).await
}

/// Splits a request's path, before decoding, behind the subresource.
///
/// # Errors
/// 400: the path is encoded so that the position cannot be determined.
fn split_path<'p>(call: &Call<'_>, path: &'p str) -> Result<(&'p str, &'p str), StatusError> {
    let subresource = call.route.path.subresource.unwrap_or_default();
    let mut segments: Vec<&str> = vec!["", "api"];
    if !call.route.path.resource.kind.group.is_empty() {
        segments = vec!["", "apis", call.route.path.resource.kind.group];
    }
    segments.push(call.route.path.resource.kind.version);
    if !call.context.namespace.is_empty() {
        segments.extend(["namespaces", call.context.namespace.as_str()]);
    }
    segments.extend([call.route.path.resource.plural, call.name, subresource]);
    let end = path.match_indices('/').nth(segments.len() - 1).map_or(path.len(), |(at, _)| at);
    let (prefix, rest) = path.split_at(end);
    let is_clear = prefix.split('/').map(decode_component).eq(segments.into_iter().map(Cow::Borrowed));
    is_clear.then_some((prefix, rest)).ok_or_else(|| StatusError::bad_request("the path is ambiguous"))
}

/// Redirects browsers to the root of the proxied path, so that relative links resolve.
fn to_root(destination: &Destination, parts: &Parts) -> Option<Response> {
    let is_read = matches!(parts.method, Method::GET | Method::HEAD);
    let is_bare = destination.path.is_empty() && !parts.uri.path().ends_with('/');
    let is_upgrade = parts.headers.contains_key(http::header::UPGRADE);
    if destination.exchange != Exchange::Any || !is_read || !is_bare || is_upgrade {
        return None;
    }
    let query = parts.uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    let root = HeaderValue::from_str(&format!("{}/{query}", parts.uri.path())).ok()?;
    let mut response = responses::empty(StatusCode::MOVED_PERMANENTLY);
    response.headers_mut().insert(LOCATION, root);
    Some(response)
}
