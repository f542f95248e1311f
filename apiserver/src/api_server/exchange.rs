//! A request and its whole answer.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use serde::Deserialize;

use super::{ApiServer, ApiServerError};

/// The bounds of an exchange.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    /// Maximum time until the answer is whole.
    pub(crate) timeout: Duration,
    /// Maximum size of the answer's body.
    pub(crate) max_bytes: usize,
}

/// An answer, whole.
pub(crate) struct Answer {
    /// Its status code.
    pub(crate) status: StatusCode,
    /// Its body.
    pub(crate) body: Bytes,
}

/// The reason and message in the `Status` of a refusal.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Said {
    /// The reason, for example `AlreadyExists`; may be empty.
    pub(crate) reason: String,
    /// The message.
    pub(crate) message: String,
}

/// Sends a request, and reads its answer whole.
///
/// # Errors
/// Fails if there is no answer within the bounds.
pub(crate) async fn exchange(
    server: &dyn ApiServer,
    request: Request<Full<Bytes>>,
    bounds: Bounds,
) -> Result<Answer, ApiServerError> {
    let answered = async {
        let (head, body) = server.send(request).await?.into_parts();
        let body = Limited::new(body, bounds.max_bytes).collect().await;
        let body = body.map_err(|error| ApiServerError::Body(error.into()))?;
        Ok(Answer { status: head.status, body: body.to_bytes() })
    };
    tokio::time::timeout(bounds.timeout, answered).await.unwrap_or(Err(ApiServerError::Late))
}

// === impl Said ===

impl Said {
    /// Reads what the body of a refusal says. The status code stands for a message that cannot be read.
    pub(crate) fn in_refusal(status: StatusCode, body: &[u8]) -> Self {
        let mut said: Self = serde_json::from_slice(body).unwrap_or_default();
        if said.message.is_empty() {
            said.message = format!("unexpected status {status}");
        }
        said
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_without_a_message_are_told_by_their_status() {
        for (body, reason, message) in [
            (r#"{"kind":"Status","reason":"Conflict","message":"changed"}"#, "Conflict", "changed"),
            (r#"{"kind":"Status","reason":"Conflict"}"#, "Conflict", "unexpected status 409 Conflict"),
            (r#"{"reason":7}"#, "", "unexpected status 409 Conflict"),
            ("<html>", "", "unexpected status 409 Conflict"),
            ("", "", "unexpected status 409 Conflict"),
        ] {
            let said = Said::in_refusal(StatusCode::CONFLICT, body.as_bytes());
            assert_eq!((said.reason.as_str(), said.message.as_str()), (reason, message), "{body}");
        }
    }
}
