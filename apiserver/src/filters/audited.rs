//! Records a request from its authentication to its response, also if that is a panic.

use std::any::Any;
use std::sync::Arc;

use http::HeaderValue;
use registry_core::api::StatusError;
use registry_core::context::UserInfo;
use responses::Response;

use crate::audit::{Auditor, Origin, Recording};

use super::panics;

/// The response to a request, or the panic of its handler.
type Answered = Result<Result<Response, StatusError>, Box<dyn Any + Send>>;

/// Begins the audit of a request, if requests are audited and the policy says so. Returns the response to a request
/// that must be audited and cannot be.
pub(crate) async fn begin_audit(
    auditor: Option<&Arc<Auditor>>,
    origin: Origin<'_>,
    authenticated: Result<&UserInfo, &StatusError>,
) -> Result<Option<Box<Recording>>, Response> {
    let Some(auditor) = auditor else { return Ok(None) };
    match authenticated {
        Err(_) => Ok(auditor.begin_refused(origin)),
        Ok(user) => auditor.begin(origin, user).await,
    }
}

/// Returns the response to a request, once it is recorded. A panic becomes a 500 of its request.
pub(crate) async fn end_audit(
    recording: Option<Box<Recording>>,
    answered: Answered,
    audit_id: &HeaderValue,
) -> Response {
    match answered {
        Ok(answered) => {
            let response = answered.unwrap_or_else(|failure| {
                if let Some(recording) = &recording {
                    recording.fail(&failure);
                }
                responses::status(&failure)
            });
            match recording {
                Some(recording) => recording.finish(response).await,
                None => response,
            }
        }
        Err(panic) => {
            let failure = panics::recovered(panic.as_ref(), audit_id);
            if let Some(recording) = recording {
                recording.panic(&failure).await;
            }
            responses::status(&failure)
        }
    }
}
