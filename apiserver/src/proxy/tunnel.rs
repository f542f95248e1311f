//! Upgraded connections, whose protocol passes through as bytes.

use std::time::Duration;

use http::StatusCode;
use http::header::UPGRADE;
use http::request::Parts;
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use registry_core::api::StatusError;
use responses::{Delivery, Response, ResponseBody};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::{Permit, headers};

/// Maximum time for both sides to upgrade.
const UPGRADE_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum number of bytes buffered in each direction.
const BUFFER_BYTES: usize = 32 * 1024;

/// Responds with the upgrade, and then copies bytes in both directions.
///
/// # Errors
/// 400: the client's connection cannot be upgraded.
pub(crate) fn open(
    parts: &Parts,
    answer: &mut Response<Incoming>,
    permit: Permit,
    shutdown: CancellationToken,
) -> Result<Response, StatusError> {
    let Some(client) = parts.extensions.get::<OnUpgrade>().cloned() else {
        return Err(StatusError::bad_request("Upgrade request required"));
    };
    let (until_end, kept) = oneshot::channel();
    let peer = hyper::upgrade::on(&mut *answer);
    let mut response = Response::new(ResponseBody::from(Delivery::Upgraded(Some(until_end))));
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let protocol = answer.headers().get(UPGRADE).cloned();
    let mut own = answer.headers().clone();
    headers::clean_response(&mut own);
    if let Some(protocol) = protocol {
        headers::set_upgrade(&mut own, protocol);
    }
    *response.headers_mut() = own;
    tokio::spawn(async move {
        let _permit = permit;
        let _kept = kept;
        tokio::select! {
            () = shutdown.cancelled() => {}
            () = pass(client, peer) => {}
        }
    });
    Ok(response)
}

/// Copies bytes until both sides have finished, or one of them fails.
async fn pass(client: OnUpgrade, peer: OnUpgrade) {
    let upgraded = tokio::time::timeout(UPGRADE_TIMEOUT, async { tokio::try_join!(client, peer) }).await;
    let (client, peer) = match upgraded {
        Ok(Ok(both)) => both,
        Ok(Err(error)) => return tracing::debug!("an upgrade came to nothing: {error}"),
        Err(_) => return tracing::debug!("an upgrade took too long"),
    };
    let mut client = TokioIo::new(client);
    let mut peer = TokioIo::new(peer);
    let passed =
        tokio::io::copy_bidirectional_with_sizes(&mut client, &mut peer, BUFFER_BYTES, BUFFER_BYTES).await;
    if let Err(error) = passed {
        tracing::debug!("a stream ended: {error}");
    }
}
