//! `watch`: a stream of events, one JSON frame per line, built from bytes that are encoded once.
//!
//! | module | contents |
//! |---|---|
//! | `websocket` | the frames as messages of a WebSocket |
//! | `body` | the body: the frames of all events that are ready, and the end of the watch |
//! | `frames` | the frame of an event, in JSON, protobuf or CBOR |
//! | `initializing` | what a watch holds until its initial events are written |

use std::time::Duration;

use bytes::{Buf, Bytes};
use http::HeaderValue;
use http::header::CONTENT_TYPE;
use registry_core::api::{Reason, StatusError};
use registry_core::backoff::random_fraction;
use responses::negotiation::{Endpoint, Output};
use responses::{Delivery, Pieces, Response, ResponseBody};

use crate::authentication::is_websocket;

use super::call::Call;
use super::list::selection;
use super::options::ListPurpose;
use super::routing::method_not_allowed;

mod body;
mod frames;
mod initializing;
#[cfg(test)]
mod tests;
mod websocket;

use body::WatchBody;
use frames::Frames;

/// Maximum duration of a watch that a client can request. A longer one would overflow the clock.
const MAX_WATCH_SECONDS: u64 = 366 * 24 * 3600;

/// Maximum number of requirements of a watch: each is matched with each event, as long as the watch lasts.
const MAX_REQUIREMENTS: usize = 1_000;

/// The cause of a watch's refusal whose resource version is still to come.
const VERSION_TOO_LARGE: &str = "ResourceVersionTooLarge";

/// Handles a watch.
pub(super) async fn watch(call: &Call<'_>) -> Result<Response, StatusError> {
    let watcher = call.route.path.capabilities.watcher.as_ref().ok_or_else(method_not_allowed)?;
    let output = call.negotiate(Endpoint::Watch)?;
    let mut options = selection(call, ListPurpose::Watch)?;
    let requirements = options.label_selector.requirements.len() + options.field_selector.requirements.len();
    if requirements > MAX_REQUIREMENTS {
        let message = format!(
            "the selectors of a watch have at most {MAX_REQUIREMENTS} requirements, not {requirements}"
        );
        return Err(StatusError::bad_request(message));
    }
    let frames = Frames::new(call, &output, options.allow_watch_bookmarks)?;
    let timeout = options.timeout_seconds.map_or_else(
        || default_timeout(call.api.config.watches.minimum),
        |seconds| Duration::from_secs(seconds.min(MAX_WATCH_SECONDS)),
    );
    options.timeout_seconds = Some(timeout.as_secs());
    let is_websocket = is_websocket(call.headers);
    let events = match watcher.watch(call.context, &options).await {
        Ok(events) => events,
        Err(failure) if is_about_version(&failure) => {
            let content = ended(&frames, &failure);
            if is_websocket {
                let message = websocket::message(content, output.format);
                return websocket::open(call, futures::stream::iter([message]), output.format);
            }
            return Ok(response(&output, content));
        }
        Err(failure) => return Err(failure),
    };

    let body = WatchBody::new(events, frames, timeout, call.route.ending.clone()).drained(watcher.clone());
    if is_websocket {
        return websocket::open(call, websocket::messages(body, output.format), output.format);
    }
    Ok(response(&output, Delivery::Watch(Box::new(body))))
}

/// Returns whether a watch cannot start because its resource version is too old, or is still to come.
fn is_about_version(failure: &StatusError) -> bool {
    let causes = failure.details.as_ref().map_or(&[][..], |details| &details.causes);
    failure.reason == Reason::Expired || causes.iter().any(|cause| cause.reason == VERSION_TOO_LARGE)
}

/// Returns the frame of a watch that ends with an event of the type `ERROR` before any other event.
///
/// Kubernetes concept: the `errWatcher` of the Cacher.
fn ended(frames: &Frames, failure: &StatusError) -> Bytes {
    let mut pieces = Pieces::default();
    frames.write_failure(&mut pieces, failure);
    pieces.copy_to_bytes(pieces.remaining())
}

/// Returns the response to a watch with this body. Its status is 200, also if the watch ends at once.
fn response(output: &Output, body: impl Into<ResponseBody>) -> Response {
    let mut response = Response::new(body.into());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(output.format.stream_media_type()));
    response
}

/// Returns the duration of a watch without a requested timeout: at least `minimum`. It is up to twice as long, so that
/// clients that connected together do not connect again together.
fn default_timeout(minimum: Duration) -> Duration {
    minimum + minimum.mul_f64(random_fraction())
}
