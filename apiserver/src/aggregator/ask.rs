//! Requests of the aggregator itself, bounded in time and size.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http::{Request, response};
use http_body_util::{BodyExt as _, Limited};
use registry_core::context::UserInfo;
use tokio::time::timeout;

use crate::access::MASTERS;

use super::error::RemoteError;
use super::forward::url;
use super::identity;
use super::remote_service::RemoteService;
use super::transport::HttpClient;
use super::transports::Transports;

/// The user of these requests.
const AGGREGATOR_USER: &str = "system:kube-aggregator";

/// Sends a request of the aggregator itself, and returns the response with its body.
///
/// # Errors
/// Fails if there is no response of at most this size in time.
pub(super) async fn get(
    transports: &Transports,
    service: &RemoteService,
    mut request: Request<Body>,
    limit: Duration,
    max_bytes: usize,
) -> Result<(response::Parts, Bytes), RemoteError> {
    let user = UserInfo {
        name: AGGREGATOR_USER.to_owned(),
        groups: vec![MASTERS.to_owned()],
        ..UserInfo::default()
    };
    identity::set(request.headers_mut(), &user)?;
    let answered = async {
        let authority = transports.authority(service).await?;
        *request.uri_mut() = url(&authority, request.uri().path())?;
        read(&transports.for_service(service)?.requests, request, max_bytes).await
    };
    timeout(limit, answered).await.unwrap_or(Err(RemoteError::NoAnswer))
}

/// Sends a request, and returns the response with its body.
///
/// # Errors
/// Fails if there is no response of at most this size.
pub(super) async fn read(
    client: &HttpClient,
    request: Request<Body>,
    max_bytes: usize,
) -> Result<(response::Parts, Bytes), RemoteError> {
    let (head, body) = client.request(request).await?.into_parts();
    let body = Limited::new(body, max_bytes).collect().await.map_err(RemoteError::Body)?;
    Ok((head, body.to_bytes()))
}
