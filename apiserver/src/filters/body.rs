//! Receives the body of a request before the request takes a place among those in flight.
//!
//! A client that sends slowly, or not at all, delays its own request only: until the body is complete the
//! request costs the memory of what has arrived, which is reserved from its user's share.

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http::Request;
use http_body_util::{BodyExt as _, Limited};
use registry_core::api::StatusError;
use request_info::{RequestInfo, Verb};

use crate::handlers::{BODY_LIMIT_BYTES, too_large, unreadable};

use super::in_flight::{TakenShare, UserShare};

/// Receives the body of a request, and returns the memory reserved for it. Long-running requests, and those whose body is
/// not read, are left unchanged.
///
/// # Errors
/// 413 when the body is too large, which is known at once if its size was declared, 400 when it is incomplete, 429 when the user's other bodies take too much
/// memory.
pub(super) async fn receive(
    info: &RequestInfo,
    request: &mut Request<Body>,
    share: &UserShare<'_>,
) -> Result<Option<TakenShare>, StatusError> {
    let is_read = matches!(
        info.verb,
        Verb::Create | Verb::Update | Verb::Patch | Verb::Delete | Verb::DeleteCollection
    );
    let is_read = is_read && info.resource.is_some() && !info.is_long_running();
    if !is_read || http_body::Body::is_end_stream(request.body()) {
        return Ok(None);
    }
    let body = std::mem::take(request.body_mut());
    if http_body::Body::size_hint(&body).lower() > BODY_LIMIT_BYTES as u64 {
        return Err(too_large());
    }
    let mut reservation = share.body();
    let bytes = collected(body, &mut reservation).await?;
    *request.body_mut() = Body::from(bytes);
    Ok(Some(reservation))
}

async fn collected(body: Body, reservation: &mut TakenShare) -> Result<Bytes, StatusError> {
    let mut body = std::pin::pin!(Limited::new(body, BODY_LIMIT_BYTES));
    let mut received = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|fault| unreadable(fault.as_ref()))?.into_data() else { continue };
        reservation.add(data.len())?;
        if received.is_empty() && http_body::Body::is_end_stream(body.as_ref().get_ref()) {
            return Ok(data);
        }
        // Copied, because a small slice would keep the connection's whole buffer alive.
        received.extend_from_slice(&data);
    }
    Ok(received.freeze())
}
