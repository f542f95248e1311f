//! A request and its whole answer.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use serde_json::Value;

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

/// The reason and message of a refusal.
pub(crate) struct Refusal {
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

/// Reads the body of a refusal, which is a `Status`; `null` if it is not JSON, of which the status code tells enough.
pub(crate) fn status_object(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or_default()
}

// === impl Refusal ===

impl Refusal {
    /// Reads a `Status`. The status code stands for a message that is missing.
    pub(crate) fn new(code: StatusCode, status: &Value) -> Self {
        let text = |field| status.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
        let message = text("message").map_or_else(|| format!("unexpected status {code}"), str::to_owned);
        Self { reason: text("reason").map_or_else(String::new, str::to_owned), message }
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
            let refusal = Refusal::new(StatusCode::CONFLICT, &status_object(body.as_bytes()));
            assert_eq!((refusal.reason.as_str(), refusal.message.as_str()), (reason, message), "{body}");
        }
    }
}
