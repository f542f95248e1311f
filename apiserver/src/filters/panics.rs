//! Handling of panics.

use std::any::Any;

use http::HeaderValue;
use registry_core::api::StatusError;

/// Returns a 500 for a request whose handler panicked, and logs the reason (the panic hook has logged the
/// location).
pub(super) fn recovered(panic: &(dyn Any + Send), audit_id: &HeaderValue) -> StatusError {
    let text = panic.downcast_ref::<&str>().copied().map(str::to_owned);
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    tracing::error!(audit_id = ?audit_id, "a request panicked: {text}");
    StatusError::internal("this request caused apiserver to panic. Look in the logs for details.")
}
